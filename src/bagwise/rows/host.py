"""Rows in this process: an array, a memory map, or several files, visited block by block.

A shard is a range of whole bags, a block a part of it that the cache holds. Their bounds depend on
nothing but the shape of the rows and the bags, and the sums of shards are added by a fixed tree:
wherever and by whomever shards are visited, the bits are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.segments import Segments, cut_bags
from bagwise.designs.conditioned import Shift, needs_conditioning
from bagwise.designs.linear import LARGEST_SYSTEM
from bagwise.errors import SCALE, Message
from bagwise.losses import Loss, SquaredHinge
from bagwise.rows.looks import Known, Labels, Look, Memo, Place, Sums
from bagwise.rowstores.base import read_ahead
from bagwise.tolerances import rounding_of

BLOCK_BYTES = 1 << 22  # 4 MiB: few calls per row, and a block is read from memory once
_FEWEST_ROWS = 64  # rows per feature in a shard: its H is then small beside its rows
_MOST_SHARDS = 32  # each has its own Hessian
_ROWS_AT_ONCE = 4  # per feature, in a product X'X: few at a time would cost as much as many


class Range(NamedTuple):
    """Some bags, from one to before another."""

    bag: int
    end: int


class HostBlock:
    """Some rows of whole bags as an array."""

    xp: Any = np

    def __init__(self, rows: Array, sizes: Array) -> None:
        self.rows, self.sizes, self.memo = rows, sizes, Memo()
        self._merged: tuple[Known, HostBlock, Known] | None = None

    def exact(self) -> HostBlock:
        """Return the block with products in float64."""
        if self.rows.dtype == np.float64:
            return self
        return HostBlock(self.rows.astype(np.float64), self.sizes)

    def scores(self, place: Place) -> Array:
        """Return the scores of all rows at a place."""
        scores = self.rows @ place.coef.astype(self.rows.dtype)
        return scores.astype(np.float64, copy=False) + place.intercept

    def sums(self, weights: list[Array]) -> Array:
        """Return the weighted sums of rows, of few rows where few have a weight."""
        return np.array([self._sum(each) for each in weights], dtype=np.float64)

    def _sum(self, weights: Array) -> Array:
        used, rows = weights.nonzero()[0], self.rows
        if 4 * len(used) < len(rows):  # most rows of a trained model pull nowhere
            weights, rows = weights[used], rows[used]
        return weights.astype(rows.dtype) @ rows

    def squares(self, weights: Array, total: HostTotal) -> None:
        """Add X'SX to a total."""
        for sign, some in ((1, weights > 0), (-1, weights < 0)):
            used = some.nonzero()[0]
            if len(used):
                rows = self.rows if len(used) == len(self.rows) else self.rows[used]
                root = np.sqrt(sign * weights[used]).astype(rows.dtype)
                total.square(sign, rows * root[:, None])

    def bag_sums(self, weights: Array, bags: Segments, used: Array) -> Array:
        """Return the weighted sums of the rows of some of all bags (a mask)."""
        index = np.flatnonzero(bags.expand(used) & (weights != 0))
        ends = np.searchsorted(index, np.append(bags.starts[used], len(self.rows)))
        parts = weights[index].astype(self.rows.dtype), index, ends
        sums = sp.csr_array(parts, shape=(len(ends) - 1, len(self.rows))) @ self.rows
        return sums.astype(np.float64, copy=False)

    def merge(self, known: Known) -> tuple[HostBlock, Known]:
        """Return the block in which every positive bag is its mean."""
        bags, inside = known.bags, known.inside
        if not len(inside):
            return self, known
        if self._merged is not None and self._merged[0] is known:
            return self._merged[1:]
        means = np.add.reduceat(self.rows[inside], bags.starts, axis=0, dtype=np.float64)
        means /= bags.sizes[:, None]
        others = np.setdiff1d(np.arange(len(self.rows)), inside, assume_unique=True)
        rows = np.concatenate([means.astype(self.rows.dtype), self.rows[others]])
        merged = HostBlock(rows, np.ones(len(rows), dtype=np.int64))
        self._merged = known, merged, known.merge(others, np.concatenate)
        return self._merged[1:]


class HostTotal:
    """The sums of a shard while it is visited."""

    def __init__(self, d: int, n_numbers: int, n_maxima: int, n_vectors: int) -> None:
        self.numbers, self.maxima = np.zeros(n_numbers), np.zeros(n_maxima)
        self.vectors, self.matrix = np.zeros((n_vectors, d)), np.zeros((d, d))
        self.answers: list[Array] = []
        self._kept: dict[int, list[Array]] = {1: [], -1: []}

    def count(self, numbers: list[Any]) -> None:
        """Add numbers, the first ones of all."""
        self.numbers[: len(numbers)] += numbers

    def raise_maxima(self, maxima: list[Any]) -> None:
        """Raise the maxima."""
        self.maxima = np.maximum(self.maxima, maxima)

    def answer(self, values: Array) -> None:
        """Keep one value per row."""
        self.answers.append(values)

    def square(self, sign: int, rows: Array) -> None:
        """Add or subtract the squares of rows, many at a time."""
        kept = self._kept[sign]
        kept.append(rows)
        if sum(map(len, kept)) >= _ROWS_AT_ONCE * rows.shape[1]:
            self._multiply(sign)

    def _multiply(self, sign: int) -> None:
        kept, self._kept[sign] = self._kept[sign], []
        if kept:
            rows = kept[0] if len(kept) == 1 else np.concatenate(kept)
            self.matrix += sign * (rows.T @ rows)

    def finish(self) -> Sums:
        """Return the sums."""
        for sign in self._kept:
            self._multiply(sign)
        return Sums(self.numbers, self.maxima, self.vectors, self.matrix, self.answers)


class Tree:
    """Sums that are added up as neighbors, so that the bits do not depend on who adds them.

    Few of them are kept: two neighbors are added as soon as both are there.
    """

    def __init__(self) -> None:
        self._nodes: list[tuple[int, Any]] = []  # levels fall from left to right

    def add(self, sums: Any) -> None:
        """Add the sums of the next part."""
        level = 0
        while self._nodes and self._nodes[-1][0] == level:
            _, left = self._nodes.pop()
            left.add(sums)
            level, sums = level + 1, left
        self._nodes.append((level, sums))

    def finish(self) -> Any:
        """Return the sum of all parts."""
        _, total = self._nodes.pop()
        while self._nodes:
            _, left = self._nodes.pop()
            left.add(total)
            total = left
        return total


def add_up(parts: Iterable[Any]) -> Any:
    """Return the sum of neighboring parts."""
    tree = Tree()
    for part in parts:
        tree.add(part)
    return tree.finish()


def _invert_squares(scale: Array) -> Array:
    with np.errstate(over="ignore", divide="ignore"):
        metric = scale**-2.0
    bad = np.flatnonzero(~((metric >= np.finfo(float).tiny) & np.isfinite(metric)))
    if len(bad):
        what = f"Feature {bad[0]} has the scale {scale[bad[0]]:.2g}, whose square is no float64. "
        raise FloatingPointError(Message(what, "Scale the features with ", SCALE, "."))
    return metric


class Rows:
    """Rows that are passed over, and whose bags they are.

    Coefficients are those of the rows in some ``coordinates``, in which |w|^2 is the sum of
    ``metric`` times their squares (`bagwise.designs.conditioned`).
    """

    xp: Any = np
    coarse = False  # whether products have fewer digits than the rows
    passed = True  # rather than multiplied with vectors of their length, as a `Design` is

    def __init__(
        self,
        X: Any,
        offsets: Array,
        coordinates: Shift | None = None,
        block_bytes: int | None = None,
    ) -> None:
        self.X, self.offsets, self.coordinates = X, offsets, coordinates
        self.block_bytes = block_bytes or BLOCK_BYTES
        self.sizes, self.n_rows = np.diff(offsets), int(offsets[-1])
        self.precision = np.float32 if X.dtype == np.float16 else X.dtype.type
        self.metric: Any = 1.0
        self.n_coef = X.shape[1]
        if coordinates is not None:
            self.precision, self.metric = np.float64, _invert_squares(coordinates.scale)
        self.rounding = rounding_of(self.precision)
        self.passes = 0
        self._known: WeakKeyDictionary[Labels, dict[int, Known]] = WeakKeyDictionary()
        self._kept: HostBlock | None = None
        self.shards = self._cut()

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in vars(self) if name not in ("_known", "_kept")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _known=WeakKeyDictionary(), _kept=None)

    def part(self, shards: list[list[Range]]) -> Rows:
        """Return the rows of some neighboring shards, which stay as they are."""
        first, end = shards[0][0].bag, shards[-1][-1].end
        offsets = self.offsets[first : end + 1]
        part = Rows(self.X[slice(*offsets[[0, -1]].tolist())], offsets - offsets[0])
        part.coordinates, part.precision = self.coordinates, self.precision
        part.metric, part.rounding = self.metric, self.rounding
        part.shards = [
            [Range(each.bag - first, each.end - first) for each in shard] for shard in shards
        ]
        return part

    def _cut(self) -> list[list[Range]]:
        """Return the blocks of every shard; they depend on nothing but the data's shape."""
        d = max(1, self.n_coef)
        rows = max(_FEWEST_ROWS * d, -(-self.n_rows // _MOST_SHARDS))
        at_once = max(1, self.block_bytes // (d * np.dtype(self.precision).itemsize))
        shards = []
        for a, b in pairwise(cut_bags(self.offsets, rows)):
            cuts = a + np.array(cut_bags(self.offsets[a : b + 1], at_once))
            shards.append([Range(*pair) for pair in pairwise(cuts.tolist())])
        return shards

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the rows as they were given."""
        if self.coordinates is None:
            return coef, intercept
        return self.coordinates.as_given(coef, intercept)

    def twin(self) -> Rows:
        """Return the rows themselves: a fit leaves nothing with them."""
        return self

    def run_pass(self, looks: list[Look]) -> list[Any]:
        """Return the sums of all rows for every look: one reading."""
        self.passes += 1
        trees = [Tree() for _ in looks]
        with read_ahead(self.X) as advance:
            for shard in self.shards:
                for tree, sums in zip(trees, self._visit(shard, looks, advance), strict=True):
                    tree.add(sums)
        return [tree.finish() for tree in trees]

    def _visit(self, shard: list[Range], looks: list[Look], advance: Any) -> list[Any]:
        totals = [look.begin(self) for look in looks]
        for each in shard:
            first, stop = self.offsets[[each.bag, each.end]].tolist()
            block = self._block(each, slice(first, stop))
            for look, total in zip(looks, totals, strict=True):
                look.add(block, self._know(look.labels, each, slice(first, stop)), total)
            advance(stop)
        return [total.finish() for total in totals]

    def _block(self, each: Range, rows: slice) -> HostBlock:
        """Return a block; the only one stays with what was computed of it."""
        if self._kept is not None:
            return self._kept
        block = HostBlock(self._read(rows), self.sizes[each.bag : each.end])
        self._kept = block if len(block.sizes) == len(self.sizes) else None
        return block

    def _read(self, rows: slice) -> Array:
        if self.coordinates is None:
            return np.asarray(self.X[rows], dtype=self.precision)
        return self.coordinates.columns(np.asarray(self.X[rows], dtype=np.float64))

    def _know(self, labels: Labels, each: Range, rows: slice) -> Known:
        of_blocks = self._known.setdefault(labels, {})
        if each.bag not in of_blocks:
            bags = slice(each.bag, each.end)
            part, sizes = labels.part(bags, rows), self.sizes[bags]
            of_blocks[each.bag] = part.know(self.xp, sizes, self._bring)
        return of_blocks[each.bag]

    def _bring(self, values: Array) -> Any:
        """Return values of bags or rows where the rows are."""
        return values

    def begin(self, n_numbers: int, n_maxima: int, n_vectors: int, width: int | None = None) -> Any:
        """Return the sums of no rows, or of vectors with another width."""
        return HostTotal(width or self.n_coef, n_numbers, n_maxima, n_vectors)


class WideRows(Rows):
    """Fewer rows than features, in coordinates of the space that they span around their mean.

    X - mean = L Q' with orthonormal columns of Q: rows L have the scores and |w| = |u| of rows X
    with w = Q u, and no weight outside of that space can lower the objective.
    """

    def __init__(self, X: Any, offsets: Array) -> None:
        rows = np.asarray(X, dtype=np.float64)
        self.center = rows.mean(axis=0)
        self.basis, triangle = np.linalg.qr((rows - self.center).T)
        super().__init__(np.ascontiguousarray(triangle.T), offsets)

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the rows as they were given."""
        w = self.basis @ coef
        return w, intercept - float(self.center @ w)


def can_pass(X: Any, loss: Loss) -> bool:
    """Return whether problems on these rows are solved by passes: dense rows, squared hinge."""
    if sp.issparse(X) or not isinstance(loss, SquaredHinge):
        return False
    return min(X.shape) <= LARGEST_SYSTEM or getattr(X, "home", "here") != "here"


def make_rows(
    X: Any, offsets: Array, *, conditioned: bool = True, block_bytes: int | None = None
) -> Rows:
    """Return the rows of bags, conditioned where that saves digits unless they are not to be."""
    home = getattr(X, "home", "here")
    if home == "device":
        from bagwise.designs.torch import TorchDense
        from bagwise.rows.device import RowsOnDevice

        shift: Any = TorchDense(X).condition().coordinates if conditioned else None
        return RowsOnDevice(X, offsets, shift)
    if home == "cluster":
        from bagwise.rows.cluster import RowsOnCluster

        return RowsOnCluster(X, offsets, block_bytes, conditioned=conditioned)
    if not conditioned:
        return Rows(X, offsets, None, block_bytes)
    if X.shape[0] < X.shape[1]:
        return WideRows(X, offsets)
    needed, center, scale = needs_conditioning(X)
    return Rows(X, offsets, Shift(center, scale) if needed else None, block_bytes)
