"""Passes over the rows of a network on a device of PyTorch, as in `bagwise.models.markov.sweeps`.

Values per instance, sums of rows and the Hessian stay on the device, values per bag on the host.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs._torch_rules import Segments
from bagwise.designs.torch import TorchDense, products
from bagwise.models.markov.device import DeviceInference
from bagwise.models.markov.soft import BagRows, Look, SoftBags
from bagwise.models.markov.sweeps import NetworkLabels, NetworkSums, no_numbers
from bagwise.rowstores.device import import_torch, send_to

_PADDED_BYTES = 1 << 29  # 512 MiB of bags, filled up to the size of the largest, at a time


class TensorRows:
    """Sums and maxima within bags of tensors; what is per bag is on the host."""

    def __init__(self, sizes: Array, device: Any) -> None:
        self.torch, self.sizes, self.device = import_torch(), sizes, device
        self.segments = Segments(self.torch, self.up(sizes))

    def up(self, values: Array) -> Any:
        """Return a host vector on the device."""
        return send_to(values, self.device)

    def sum(self, values: Any) -> Array:
        """Return the sum of every bag."""
        return self.segments.sum(values.double()).cpu().numpy()

    def max(self, values: Any) -> Array:
        """Return the largest value of every bag."""
        return self.segments.max(values).cpu().numpy()

    def spread(self, bags: Array) -> Any:
        """Return the value of its bag for every row."""
        return self.up(bags)[self.segments.bag]

    def of(self, bags: Array) -> tuple[TensorRows, Any]:
        """Return the rows of some bags (a mask), and their mask."""
        return TensorRows(self.sizes[bags], self.device), self.spread(bags)


class TensorSums(NetworkSums):
    """Sums whose matrices are tensors."""

    def here(self) -> NetworkSums:
        """Return the sums on the host."""
        matrices = {name: getattr(self, name).cpu().numpy() for name in ("hessian", "concave")}
        return NetworkSums(**{**vars(self), **matrices})

    def system(self, share: float, units: Array) -> Any:
        """Return the Hessian with a share of its concave part."""
        scale = self.hessian.new_tensor(units)
        return (self.hessian - share * self.concave) * scale[:, None] * scale

    def solve(self, system: Any, ridge: float, right: Array) -> Array | None:
        """Solve (system + ridge I) x = right, if that is positive definite."""
        torch, system = import_torch(), system.clone()
        system.diagonal().add_(ridge)
        factor, failed = torch.linalg.cholesky_ex(system)
        if int(failed):
            return None
        return torch.cholesky_solve(system.new_tensor(right)[:, None], factor)[:, 0].cpu().numpy()


class DeviceNetwork:
    """The rows of a network on a device; nothing is kept per row from pass to pass."""

    def __init__(self, rows: TorchDense, labels: NetworkLabels) -> None:
        self.rows, self.labels, self.passes, device = rows, labels, 0, rows.tensor.device
        of_rows: Any = rows.X
        bags = of_rows.cuts(labels.offsets)
        self.cuts, self.parts = labels.offsets[bags], list[tuple[slice, SoftBags]]()
        n_ranges = labels.ranges().lo.shape[1]
        for a, b in pairwise(bags.tolist()):
            part = labels.part(slice(a, b))
            ranges, sizes = part.ranges(n_ranges), np.diff(part.offsets)
            inference = DeviceInference(part.potential, part.offsets, device)
            tensors = TensorRows(sizes, device)
            self.parts.append((slice(a, b), SoftBags(tensors, ranges, inference, part)))

    def sweep(self, coef: Array, intercept: float, rule: Any) -> TensorSums:
        """Return the sums at a point."""
        self.passes += 1
        rows, look, torch = self.rows, rule, self.rows.torch
        total, parts = self._zero(look), iter(self.parts)
        w = rows.up(coef)

        def visit(_: slice, block: Any) -> None:
            bags, part = next(parts)
            z = rows.scores_of(block, w) + intercept
            found = part.soften(z, look.part(bags), self._frozen_scores(block, look))
            total.count(found)
            many = torch.stack([found.pull, found.bend, found.sag])
            sums, masses = rows.sums_of(block, many), many.sum(1).tolist()
            total.gradient[: rows.n_coef] += sums[0].cpu().numpy()
            total.gradient[rows.n_coef] += masses[0]
            for matrix, weights, mean, mass in (
                (total.hessian, found.bend, sums[1], masses[1]),
                (total.concave, found.sag, sums[2], masses[2]),
            ):
                self._add_rows(matrix, block, weights, mean, mass)
            for each in found.squares:
                self._add_squares(total, each, block, part.rows)

        rows.each(visit, self.cuts)
        return total

    def _zero(self, look: Look) -> TensorSums:
        n_own = self.labels.potential.n_weights + self.labels.columns.shape[1]
        size = self.rows.n_coef + 1 + n_own
        torch, device = self.rows.torch, self.rows.tensor.device
        hessian, concave = torch.zeros((2, size, size), dtype=torch.float64, device=device)
        return TensorSums(hessian, concave, *no_numbers(size, len(look.centers) - 1))

    def _frozen_scores(self, block: Any, look: Look) -> Any:
        frozen = look.frozen
        if frozen is None or frozen.features is None:
            return None
        return self.rows.scores_of(block, self.rows.up(frozen.features)) + frozen.constant

    def _add_rows(self, matrix: Any, block: Any, weights: Any, mean: Any, mass: float) -> None:
        d = self.rows.n_coef
        if mass:
            matrix[:d, :d] += self.rows.gram_of(block, weights, exact=False)
            matrix[:d, d] += mean
            matrix[d, :d] += mean
            matrix[d, d] += mass

    def _add_squares(self, total: TensorSums, each: BagRows, block: Any, rows: TensorRows) -> None:
        used, torch = np.flatnonzero(each.factor), self.rows.torch
        if len(used) == 0:
            return
        beside = np.hstack([rows.sum(each.weights)[used, None], each.own[used]])
        sums = torch.cat([self._bag_sums(each.weights, block, rows, used), rows.up(beside)], 1)
        matrix = total.concave if each.concave else total.hessian
        matrix += (sums * rows.up(each.factor[used])[:, None]).T @ sums

    def _bag_sums(self, weights: Any, block: Any, rows: TensorRows, used: Array) -> Any:
        """Return the weighted sums of the rows of some bags, padded to the same size."""
        torch, found = self.rows.torch, []
        longest = int(rows.sizes[used].max())
        at_once = max(1, _PADDED_BYTES // (longest * block.shape[1] * block.element_size()))
        place = torch.arange(longest, device=block.device)
        weights = weights.to(block.dtype)
        for i in range(0, len(used), at_once):
            some = rows.up(used[i : i + at_once])
            inside = place < rows.segments.sizes[some][:, None]
            index = torch.where(inside, rows.segments.starts[some][:, None] + place, 0)
            left = torch.where(inside, weights[index], 0.0).to(block.dtype)
            padded = self.rows.transform(block[index])
            found.append(products(torch, left[:, None], padded)[:, 0].double())
        return torch.cat(found)
