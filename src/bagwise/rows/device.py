"""Rows on a device of PyTorch: the passes of `bagwise.rows.host`, with products there.

Blocks are as large as the device has room for, and what is known of their bags stays with them.
Numbers, vectors and H are added up on the device, and leave it, but for H, once per pass. Blocks
that do not stay there pass through it. Their bounds do not depend on what stays, nor does the order
of the sums: the bits are the same.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import Segments
from bagwise.designs.base import solve_primal
from bagwise.designs.conditioned import Shift
from bagwise.designs.torch import TorchDense
from bagwise.rows.host import Range, Rows
from bagwise.rows.looks import Known, Look, Memo, Place, Sums
from bagwise.rowstores.device import BLOCK_ROWS, DeviceRows, import_torch


class DeviceBlock:
    """Some rows of whole bags as a tensor."""

    def __init__(self, design: TorchDense, rows: Any, sizes: Array, *, exact: bool = False) -> None:
        self.design, self.rows, self.sizes, self._exact = design, rows, sizes, exact
        self.xp, self.memo = design.torch, Memo()

    def exact(self) -> DeviceBlock:
        """Return the block with products in float64."""
        return DeviceBlock(self.design, self.rows, self.sizes, exact=True)

    def scores(self, place: Place) -> Any:
        """Return the scores of all rows at a place."""
        coef = self.design.up(place.coef)
        return self.design.scores_of(self.rows, coef, exact=self._exact) + place.intercept

    def sums(self, weights: list[Any]) -> Any:
        """Return the weighted sums of rows."""
        return self.design.sums_of(self.rows, self.xp.stack(weights), exact=self._exact)

    def squares(self, weights: Any, total: DeviceTotal) -> None:
        """Add X'SX to a total."""
        for sign in (1, -1):
            some = (sign * weights).clamp(min=0)
            total.matrix += sign * self.design.gram_of(self.rows, some, exact=self._exact)

    def bag_sums(self, weights: Any, bags: Segments, used: Any) -> Any:
        """Return the weighted sums of the rows of some of all bags (a mask)."""
        part, mask = bags.select(used)
        index, found, first = self.xp.nonzero(mask)[:, 0], [], 0
        for sizes in part.sizes.split(max(1, BLOCK_ROWS * len(part.sizes) // len(index))):
            some = index[first : first + int(sizes.sum())]
            rows = self.design.transform(self.rows[some]).double() * weights[some, None]
            found.append(self.xp.segment_reduce(rows, "sum", lengths=sizes))
            first += len(some)
        return self.xp.cat(found)

    def merge(self, known: Known) -> tuple[DeviceBlock, Known]:
        """Return the block in which every positive bag is its mean."""
        if not len(known.inside):
            return self, known
        torch, sizes, means, first = self.xp, known.bags.sizes, [], 0
        ends = torch.cumsum(sizes, 0)
        for part in sizes.split(max(1, BLOCK_ROWS * len(sizes) // int(ends[-1]))):
            rows = self.rows[known.inside[first : first + int(part.sum())]].double()
            means.append(torch.segment_reduce(rows, "mean", lengths=part).to(self.rows.dtype))
            first += len(rows)
        rest = torch.ones(len(self.rows), dtype=torch.bool, device=self.rows.device)
        rest[known.inside] = False
        others = torch.nonzero(rest)[:, 0]
        rows = torch.cat([*means, self.rows[others]])
        block = DeviceBlock(self.design, rows, np.ones(len(rows), dtype=np.int64))
        return block, known.merge(others, torch.cat)


class DeviceTotal:
    """The sums of all rows while they are visited, on their device."""

    def __init__(self, like: Any, d: int, n_numbers: int, n_maxima: int, n_vectors: int) -> None:
        self.torch = torch = import_torch()
        place = {"dtype": torch.float64, "device": like.device}
        self.numbers, self.maxima = torch.zeros(n_numbers, **place), torch.zeros(n_maxima, **place)
        self.vectors = torch.zeros((n_vectors, d), **place)
        self.matrix = torch.zeros((d, d), **place)
        self.answers: list[Any] = []

    def count(self, numbers: list[Any]) -> None:
        """Add numbers, the first ones of all."""
        self.numbers[: len(numbers)] += self.torch.stack(numbers)

    def raise_maxima(self, maxima: list[Any]) -> None:
        """Raise the maxima."""
        self.maxima = self.torch.maximum(self.maxima, self.torch.stack(maxima))

    def answer(self, values: Any) -> None:
        """Keep one value per row."""
        self.answers.append(values.cpu().numpy())

    def square(self, sign: int, rows: Any) -> None:
        """Add or subtract the squares of rows."""
        self.matrix += sign * (rows.T @ rows)

    def finish(self) -> Sums:
        """Return the sums; the matrix stays where it is."""
        numbers, maxima = self.numbers.cpu().numpy(), self.maxima.cpu().numpy()
        return Sums(numbers, maxima, self.vectors.cpu().numpy(), self.matrix, self.answers)


class RowsOnDevice(Rows):
    """Rows of which some or all are on a device."""

    X: DeviceRows

    def __init__(self, X: DeviceRows, offsets: Array, shift: Shift | None = None) -> None:
        self.design, self.xp = TorchDense(X), import_torch()
        if shift is not None:
            self.design.place(shift)
        super().__init__(X, offsets, shift)
        self.rounding = self.design.rounding
        self.coarse = X.tensor.dtype != self.xp.float64

    def _cut(self) -> list[list[Range]]:
        cuts = self.X.cuts(self.offsets).tolist()
        return [[Range(*pair) for pair in pairwise(cuts)]]

    def run_pass(self, looks: list[Look]) -> list[Any]:
        """Return the sums of all rows for every look: one reading."""
        self.passes += 1
        totals, (ranges,) = [look.begin(self) for look in looks], self.shards
        cuts = self.offsets[[ranges[0].bag, *(each.end for each in ranges)]]
        for each, (rows, tensor) in zip(ranges, self.X.blocks(cuts), strict=True):
            block = DeviceBlock(self.design, tensor, self.sizes[each.bag : each.end])
            for look, total in zip(looks, totals, strict=True):
                look.add(block, self._know(look.labels, each, rows), total)
        return [total.finish() for total in totals]

    def _bring(self, values: Array) -> Any:
        return self.design.up(values)

    def begin(
        self, n_numbers: int, n_maxima: int, n_vectors: int, width: int | None = None
    ) -> DeviceTotal:
        """Return the sums of no rows, or of vectors with another width."""
        return DeviceTotal(self.X.tensor, width or self.n_coef, n_numbers, n_maxima, n_vectors)


def solve_on_device(
    matrix: Any, metric: Any, mean: Array, mass: float, residual: Array, shift: float
) -> tuple[Array, float]:
    """Return the Newton step in w and b (`bagwise.designs.base.solve_primal`), solved there."""
    torch = import_torch()
    at, right = (matrix.new_tensor(v) for v in (mean, residual - shift * mean))
    system = matrix - torch.outer(mass * at, at)
    system.diagonal().add_(matrix.new_tensor(np.broadcast_to(metric, mean.shape)))
    factor, failed = torch.linalg.cholesky_ex(system)
    if int(failed):
        return solve_primal(matrix.cpu().numpy(), metric, mean, mass, residual, shift)
    step = torch.cholesky_solve(right[:, None], factor)[:, 0].cpu().numpy()
    return step, float(shift / mass - mean @ step)
