"""Reductions within bags: a flat array of values and the offsets that cut it into bags.

Every function takes ``values`` of shape (n,) or (n, k) and ``offsets`` of shape (n_bags + 1,),
and reduces (or sorts) the rows ``offsets[i]:offsets[i + 1]`` of every bag, column by column.
No bag may be empty: `Bags` refuses them at the door. Ties go to the lowest index.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "bag_index",
    "expand",
    "segment_argmax",
    "segment_cumsum",
    "segment_logsumexp",
    "segment_max",
    "segment_mean",
    "segment_order",
    "segment_rank",
    "segment_softmax",
    "segment_sum",
]

Array = NDArray[Any]


def bag_index(offsets: Array) -> Array:
    """Return the bag number of every row: (0, 0, 1, ...)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def expand(per_bag: Array, offsets: Array) -> Array:
    """Repeat one value (or row) a bag over the bag's instances."""
    return np.repeat(per_bag, np.diff(offsets), axis=0)


def segment_max(values: Array, offsets: Array) -> Array:
    """Return the largest value of every bag."""
    return np.maximum.reduceat(values, offsets[:-1], axis=0)


def segment_sum(values: Array, offsets: Array) -> Array:
    """Return the sum of every bag."""
    return np.add.reduceat(values, offsets[:-1], axis=0)


def segment_mean(values: Array, offsets: Array) -> Array:
    """Return the mean of every bag."""
    sizes = np.diff(offsets).reshape((-1,) + (1,) * (values.ndim - 1))
    return segment_sum(values, offsets) / sizes


def segment_argmax(values: Array, offsets: Array) -> Array:
    """Return the position *within the bag* of its largest value (NaN counts as largest)."""
    top = expand(segment_max(values, offsets), offsets)
    is_top = (values == top) | np.isnan(values)
    rows = np.arange(len(values)).reshape((-1,) + (1,) * (values.ndim - 1))
    first = np.minimum.reduceat(np.where(is_top, rows, len(values)), offsets[:-1], axis=0)
    return first - offsets[:-1].reshape((-1,) + (1,) * (values.ndim - 1))


def segment_softmax(values: Array, offsets: Array) -> Array:
    """Return exp(value) normalised within every bag, safe against overflow.

    Equal largest values share equally, also where they are infinite.
    """
    weights = np.exp(_below_top(values, expand(segment_max(values, offsets), offsets)))
    return weights / expand(segment_sum(weights, offsets), offsets)


def segment_logsumexp(values: Array, offsets: Array) -> Array:
    """Return log(sum(exp(value))) of every bag, safe against overflow; -inf if all values are."""
    top = segment_max(values, offsets)
    return top + np.log(segment_sum(np.exp(_below_top(values, expand(top, offsets))), offsets))


def _below_top(values: Array, top: Array) -> Array:
    # The largest values get exactly 0: the difference of two infinities has no value.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(values == top, 0.0, values - top)


def segment_order(values: Array, offsets: Array) -> Array:
    """Return the row numbers that sort every bag by decreasing value (stable, NaN last)."""
    bags = bag_index(offsets)
    falling = -values.astype(np.int64) if values.dtype.kind in "bu" else -values
    if values.ndim == 1:
        return np.lexsort((falling, bags))
    return np.stack([np.lexsort((column, bags)) for column in falling.T], axis=1)


def segment_rank(values: Array, offsets: Array) -> Array:
    """Return the rank of every value within its bag, 0 for the largest."""
    position = np.arange(len(values)) - expand(offsets[:-1], offsets)
    rank = np.empty(values.shape, dtype=np.int64)
    if values.ndim == 1:
        rank[segment_order(values, offsets)] = position
    else:
        np.put_along_axis(rank, segment_order(values, offsets), position[:, None], axis=0)
    return rank


def segment_cumsum(values: Array, offsets: Array) -> Array:
    """Return the running sum within every bag.

    Each bag is summed on its own scale: the total of the bags before it never enters.
    """
    sizes = np.diff(offsets)
    running = np.empty(values.shape, dtype=np.result_type(values, np.float64))
    for size in np.unique(sizes):
        rows = offsets[:-1][sizes == size, None] + np.arange(size)  # (bags of this size, size)
        running[rows] = np.cumsum(values[rows], axis=1, dtype=running.dtype)
    return running
