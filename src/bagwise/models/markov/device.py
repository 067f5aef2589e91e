"""Markov networks on instances that are on a device of PyTorch.

The scores z of a bundle method stay there as one tensor, from products with the rows to sorting
and counting within bags. What crosses to the host has one number per bag and side. Passes over the
rows (`bagwise.models.markov.sweeps`) leave values per instance, sums of rows and the Hessian there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import BestLabelings, CountInference, CountPotential
from bagwise.designs._torch_rules import Segments
from bagwise.designs.torch import TorchDense, products
from bagwise.models.markov.risk import InstanceOperator, MarkovScores
from bagwise.models.markov.soft import BagRows, Look, SoftBags
from bagwise.models.markov.sweeps import NetworkLabels, NetworkSums, no_numbers
from bagwise.rowstores.device import import_torch, send_to

_PADDED_BYTES = 1 << 29  # 512 MiB of bags, filled up to the size of the largest, at a time


@dataclass(frozen=True)
class DeviceOperator(InstanceOperator):
    """Instances on a device, whose scores and duals are tensors there."""

    design: TorchDense

    def __matmul__(self, coef: Array) -> Any:
        """Return the scores of all instances."""
        scores = self.design.scores(self.design.up(self.scale * coef[: self.design.n_coef]))
        return scores + float(coef[-1]) if self.fit_intercept else scores

    def adjoint(self, dual: Any) -> Array:
        """Return the transposed product, on the host."""
        found = self.scale * self.design.sums(dual[None])[0].cpu().numpy()
        return np.append(found, float(dual.sum())) if self.fit_intercept else found

    def join(self, instances: Any, potential: Array, bags: Array) -> Any:
        """Return the parts of z as one tensor."""
        rest = self.design.up(np.concatenate([potential.ravel(), bags.ravel()]))
        return self.design.torch.cat([*instances, rest])

    def split(self, z: Any, n_models: int, n_weights: int) -> MarkovScores:
        """Return the parts of z: instances on the device, the small ones on the host."""
        n = n_models * self.n_rows
        rest = z[n:].cpu().numpy()
        potential, bags = np.split(rest, [n_models * n_weights])
        instances = z[:n].reshape(n_models, -1)
        return MarkovScores(instances, potential.reshape(n_models, -1), bags.reshape(n_models, -1))

    def lift(self, scores: Array) -> Any:
        """Return scores of instances as a tensor on the device."""
        return self.design.up(scores)

    def inference(self, potential: CountPotential, offsets: Array) -> CountInference:
        """Return the inference of bags on the device."""
        return DeviceInference(potential, offsets, self.design.tensor.device)


class DeviceInference(CountInference):
    """Inference over counts by segmented sums and sorts."""

    def __init__(self, potential: CountPotential, offsets: Array, device: Any) -> None:
        super().__init__(potential, offsets)
        self.torch, self.device = import_torch(), device
        self.sizes = self._up(np.diff(self.offsets))
        self.segments = Segments(self.torch, self.sizes)
        if self.closed_form:
            self.needed = self._up(np.asarray(self.least, dtype=np.int64))
        else:
            self._lay_out_counts()

    def _up(self, values: Array) -> Any:
        return send_to(values, self.device)

    def _lay_out_counts(self) -> None:
        """Number the counts 0..m of all bags one after another, with their table entries."""
        torch = self.torch
        self.counts = Segments(torch, self.sizes + 1)
        self.first = self.counts.starts  # where count 0 of every bag is
        self.count = torch.arange(len(self.counts.bag), device=self.device)
        self.count = self.count - self.first[self.counts.bag]
        entry = self._up(self.start)[self.counts.bag] + self.count
        self.tables = self._up(self.table)[:, entry]
        self.bins_of = self._up(self.bins)[:, entry]

    def best(self, scores: Any, weights: Array, out: BestLabelings | None = None) -> BestLabelings:
        """Return the best labelings of all bags: values and counts on the host."""
        found = [self._best_of(row, weight) for row, weight in zip(scores, weights, strict=True)]
        value, count, cut, quota = (self.torch.stack(part) for part in zip(*found, strict=True))
        return BestLabelings(value.cpu().numpy(), count.cpu().numpy(), cut, quota)

    def values(self, scores: Any, weights: Array) -> Array:
        """Return the values of the best labelings alone."""
        if not self.at_least_one:
            return self.best(scores, weights).value
        found = np.empty((len(scores), 2, self.n_bags))
        for row, weight, out in zip(scores, weights, found, strict=True):
            total, top = self.segments.sum(row.clamp(min=0)), self.segments.max(row)
            out[0] = weight[0]
            out[1] = weight[1] + self.torch.where(top > 0, total, top).cpu().numpy()
        return found

    def _best_of(self, scores: Any, weights: Array) -> tuple[Any, Any, Any, Any]:
        """Return value, count, cut and quota of one model, (2, n_bags) each."""
        torch = self.torch
        if self.at_least_one:
            return self._at_least_one(scores, weights)
        falling, running = self._sort(scores)
        if self.closed_form:
            positives = self.segments.sum((scores > 0).double()).long()
            needed = self.needed
            count = torch.stack(
                [torch.minimum(positives, needed - 1), torch.maximum(positives, needed)]
            )
            value = self._up(weights)[:, None] + self._top_sums(running, count)
        else:
            value, count = self._by_table(running, weights)
        edge = falling[(self.segments.starts + count - 1).clamp(min=0)]
        cut = torch.where(count > 0, edge, torch.inf)
        above = torch.stack(
            [self.segments.sum((scores > side[self.segments.bag]).double()) for side in cut]
        )
        return value, count, cut, count - above.long()

    def _at_least_one(self, scores: Any, weights: Array) -> tuple[Any, Any, Any, Any]:
        torch, segments = self.torch, self.segments
        total, top = segments.sum(scores.clamp(min=0)), segments.max(scores)
        positives = segments.sum((scores > 0).double()).long()
        none, nobody = positives == 0, torch.zeros_like(positives)
        value = torch.stack(
            [torch.full_like(total, weights[0]), weights[1] + torch.where(none, top, total)]
        )
        count = torch.stack([nobody, torch.where(none, 1, positives)])
        cut = torch.stack([torch.full_like(total, torch.inf), torch.where(none, top, 0.0)])
        return value, count, cut, torch.stack([nobody, none.long()])

    def _sort(self, scores: Any) -> tuple[Any, Any]:
        """Return the scores, falling within every bag, and their running sums from 0."""
        torch = self.torch
        falling, order = torch.sort(scores, descending=True, stable=True)
        falling = falling[torch.argsort(self.segments.bag[order], stable=True)]
        running = torch.zeros(len(falling) + 1, dtype=falling.dtype, device=self.device)
        torch.cumsum(falling, 0, out=running[1:])
        return falling, running

    def _top_sums(self, running: Any, count: Any) -> Any:
        return running[self.segments.starts + count] - running[self.segments.starts]

    def _by_table(self, running: Any, weights: Array) -> tuple[Any, Any]:
        torch, bag = self.torch, self.counts.bag
        tops = running[self.segments.starts[bag] + self.count]
        learned = self._up(np.append(weights, 0.0))  # bin -1 is no bin
        totals = tops - running[self.segments.starts[bag]] + self.tables + learned[self.bins_of]
        found = []
        for side in totals:
            first = torch.nonzero(self.counts.witnesses(side))[:, 0]
            found.append((side[first], first - self.first))
        value, count = (torch.stack(part) for part in zip(*found, strict=True))
        return value, count

    def positives(self, scores: Any, best: BestLabelings, amount: Array) -> Any:
        """Return the derivative of sum(amount * best.value) in the scores, as a tensor."""
        torch, bag, out = self.torch, self.segments.bag, self.torch.zeros_like(scores)
        shares = self._up(amount)
        for model, row in enumerate(scores):
            for side in range(2):
                cut, quota = best.cut[model, side], best.quota[model, side]
                tied = row == cut[bag]
                rank = torch.cumsum(tied, 0)
                rank = rank - (rank - tied.long())[self.segments.starts][bag]
                chosen = (row > cut[bag]) | (tied & (rank <= quota[bag]))
                out[model] += torch.where(chosen, shares[model, side][bag], 0.0)
        return out


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

    def sweep(self, coef: Array, intercept: float, rule: Look) -> TensorSums:
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
