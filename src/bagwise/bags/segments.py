"""Reductions within bags: a flat array of values and the offsets that cut it into bags.

Every function takes ``values`` of shape (n,) or (n, k) and ``offsets`` of shape (n_bags + 1,),
and reduces (or sorts) the rows ``offsets[i]:offsets[i + 1]`` of every bag, column by column.
No bag may be empty: `Bags` refuses empty bags. Ties go to the lowest index. `Segments` does what
rules and passes need on arrays of PyTorch, too: the one class that knows both.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from bagwise._typing import Array


def offsets_of(sizes: Any) -> Array:
    """Return where each bag starts and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def bag_index(offsets: Array) -> Array:
    """Return the bag number of every row: (0, 0, 1, ...)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def bag_of_row(row: int, offsets: Array) -> int:
    """Return the number of the bag that contains a row."""
    return int(np.searchsorted(offsets, row, side="right") - 1)


def cut_bags(offsets: Array, n_rows: int) -> list[int]:
    """Return where ranges of whole bags begin and end: at most so many rows, or one bag."""
    cuts = [0]
    while cuts[-1] < len(offsets) - 1:
        cuts.append(max(cuts[-1] + 1, bag_of_row(offsets[cuts[-1]] + n_rows, offsets)))
    return cuts


def expand(per_bag: Array, offsets: Array) -> Array:
    """Repeat one value (or row) per bag over the bag's instances."""
    return np.repeat(per_bag, np.diff(offsets), axis=0)


def segment_max(values: Array, offsets: Array) -> Array:
    """Return the largest value of every bag."""
    return np.maximum.reduceat(values, offsets[:-1], axis=0)


def segment_sum(values: Array, offsets: Array) -> Array:
    """Return the sum of every bag."""
    return np.add.reduceat(values, offsets[:-1], axis=0)


def segment_mean(values: Array, offsets: Array) -> Array:
    """Return the mean of every bag."""
    return segment_sum(values, offsets) / _column(np.diff(offsets), values)


def segment_argmax(values: Array, offsets: Array) -> Array:
    """Return the position *within the bag* of its largest value (NaN counts as largest)."""
    top = expand(segment_max(values, offsets), offsets)
    is_top = (values == top) | np.isnan(values)
    rows = np.where(is_top, _column(np.arange(len(values)), values), len(values))
    first = np.minimum.reduceat(rows, offsets[:-1], axis=0)
    return first - _column(offsets[:-1], values)


def segment_softmax(values: Array, offsets: Array) -> Array:
    """Return exp(value) normalized within every bag, without overflow.

    Equal largest values share equally, even where they are infinite.
    """
    weights = np.exp(_below_top(values, expand(segment_max(values, offsets), offsets)))
    return weights / expand(segment_sum(weights, offsets), offsets)


def segment_logsumexp(values: Array, offsets: Array) -> Array:
    """Return log(sum(exp(value))) of every bag, without overflow; -inf if all values are."""
    top = segment_max(values, offsets)
    return top + np.log(segment_sum(np.exp(_below_top(values, expand(top, offsets))), offsets))


def segment_rank(values: Array, offsets: Array) -> Array:
    """Return the rank of every value within its bag, 0 for the largest (stable, NaN last)."""
    bags, position = bag_index(offsets), np.arange(len(values)) - expand(offsets[:-1], offsets)
    falling = -values.astype(np.int64) if values.dtype.kind in "bu" else -values
    columns = [np.lexsort((column, bags)) for column in np.atleast_2d(falling.T)]
    order = np.stack(columns, axis=-1).reshape(values.shape)
    rank = np.empty(values.shape, dtype=np.int64)
    np.put_along_axis(rank, order, _column(position, values), axis=0)
    return rank


def _column(per_row: Array, values: Array) -> Array:
    """Give a 1-D array the number of dimensions of the values."""
    return per_row.reshape((-1,) + (1,) * (values.ndim - 1))


def _below_top(values: Array, top: Array) -> Array:
    # The largest values get exactly 0, because inf - inf is not a number.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(values == top, 0.0, values - top)


class Segments:
    """Bags of a vector: where each begins, and sums, maxima and first maxima within them.

    No bag is empty. ``xp`` is the namespace of the vectors, `numpy` or `torch`.
    """

    def __init__(self, xp: Any, sizes: Any) -> None:
        self.xp, self.sizes, self.starts = xp, sizes, xp.cumsum(sizes, 0) - sizes
        repeat = np.repeat if xp is np else xp.repeat_interleave
        self.bag = repeat(xp.arange(len(sizes), **self._place), sizes)

    @classmethod
    def of_offsets(cls, offsets: Array) -> Segments:
        """Return the bags of NumPy vectors with these offsets."""
        return cls(np, np.diff(offsets))

    @cached_property
    def _one(self) -> Any:
        return self.xp.ones(1, dtype=self.xp.float64, **self._place)

    @cached_property
    def counts(self) -> Any:
        """Sizes as floats."""
        return self.sizes * self._one

    @cached_property
    def has_singles(self) -> bool:
        """Whether a bag has one row only."""
        return bool((self.sizes == 1).any())

    @property
    def _place(self) -> dict[str, Any]:
        return {} if self.xp is np else {"device": self.sizes.device}

    def expand(self, bags: Any) -> Any:
        """Return one value per row from one per bag."""
        return bags[self.bag]

    def sum(self, values: Any) -> Any:
        """Return the sum of every bag."""
        return self._reduce(values, np.add, "sum")

    def max(self, values: Any) -> Any:
        """Return the largest value of every bag."""
        return self._reduce(values, np.maximum, "max")

    def _reduce(self, values: Any, ufunc: Any, name: str) -> Any:
        if self.xp is np:
            return ufunc.reduceat(values, self.starts) if len(self.starts) else values[:0]
        # No atomics, so that bits repeat; its own look at the lengths would wait for the device.
        return self.xp.segment_reduce(values, name, lengths=self.sizes, unsafe=True)

    def first_max(self, values: Any) -> Any:
        """Return a mask of the first of the largest values of every bag."""
        before = -self.xp.arange(len(values), dtype=self.xp.float64, **self._place)
        tops = self.xp.where(values == self.expand(self.max(values)), before, -np.inf)
        return tops == self.expand(self.max(tops))

    def indicate(self, mask: Any) -> Any:
        """Return 1.0 where a mask holds and 0.0 elsewhere."""
        return mask * self._one

    def select(self, bags: Any) -> tuple[Segments, Any]:
        """Return the segments of some bags (a mask), and the mask of their rows."""
        return Segments(self.xp, self.sizes[bags]), self.expand(bags)


def positive_part(values: Any) -> Any:
    """Return max(0, value), in either namespace."""
    return values * (values > 0)
