"""Every bag without each of its instances: rows left out, and reductions that are updated.

Functions of values return one row per instance: the reduction of its bag's other rows. Nothing is
subtracted from a total, so that a large value that is left out leaves no rounding behind. The row
of a bag's only instance is the reduction of that instance: there is no empty bag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bagwise._typing import Array
from bagwise.bags.arrays import select_attributes
from bagwise.bags.bags import Bags
from bagwise.bags.segments import bag_index, expand, offsets_of
from bagwise.rowstores.base import count_rows


def score_without_each(score: Callable[[Bags], Array], bags: Bags) -> Array:
    """Score every bag without each of its instances: one row per instance, by brute force."""
    scores: Array | None = None
    for instances, rows, offsets in _leave_out_each(bags.offsets, count_rows(8 * bags.n_features)):
        found = score(_take(bags, instances, rows, offsets))
        if scores is None:
            scores = np.zeros((bags.n_instances, *found.shape[1:]))
        scores[instances] = found
    if scores is None:  # bags of one instance each
        return score(bags)
    return scores


def reduce_without_each(
    reduce: Callable[[Array, Array], Array], values: Array, offsets: Array
) -> Array:
    """Apply ``reduce(values, offsets)`` to every bag without each of its instances."""
    reduced = np.array(values, dtype=np.float64)
    width = max(1, int(np.prod(values.shape[1:])))
    for instances, rows, left in _leave_out_each(offsets, count_rows(8 * width)):
        reduced[instances] = reduce(values[rows], left)
    return reduced


def sum_without_each(values: Array, offsets: Array) -> Array:
    """Return the sum of every bag's other rows."""
    sums = np.array(values, dtype=np.float64)
    for rows in equal_sizes(offsets, values[:1].size):
        if rows.shape[1] > 1:
            sums[rows] = _sum_of_others(values[rows])
    return sums


def max_without_each(values: Array, offsets: Array) -> Array:
    """Return the largest value of every bag's other rows."""
    largest = np.array(values)
    for rows in equal_sizes(offsets, values[:1].size):
        if rows.shape[1] > 1:
            top = np.partition(values[rows], rows.shape[1] - 2, axis=1)[:, -2:]
            is_top = values[rows] >= top[:, 1:]
            largest[rows] = np.where(is_top, top[:, :1], top[:, 1:])
    return largest


def _sum_of_others(block: Array) -> Array:
    """Return the sums over axis 1 of all other entries, from the left and from the right."""
    sums = np.zeros(block.shape)
    np.cumsum(block[:, :-1], axis=1, out=sums[:, 1:])
    sums[:, :-1] += np.cumsum(block[:, :0:-1], axis=1)[:, ::-1]
    return sums


def equal_sizes(offsets: Array, width: int) -> Iterator[Array]:
    """Yield row numbers (n_bags, size) of bags of equal size, about a block at a time."""
    sizes = np.diff(offsets)
    order = np.argsort(sizes, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(sizes[order])) + 1):
        size = int(sizes[members[0]])
        at_once = count_rows(8 * size * width)
        for i in range(0, len(members), at_once):
            yield offsets[members[i : i + at_once]][:, None] + np.arange(size)


def _leave_out_each(offsets: Array, most_rows: int) -> Iterator[tuple[Array, Array, Array]]:
    """Yield instances, and the rows and offsets of their bags without them.

    Bags of one instance are passed over. A block has at most ``most_rows`` rows, or one bag.
    """
    starts, sizes = expand(offsets[:-1], offsets), expand(np.diff(offsets), offsets)
    instances = np.flatnonzero(sizes > 1)
    ends = np.cumsum(sizes[instances] - 1)
    first = 0
    while first < len(instances):
        done = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + most_rows, side="right")))
        chosen = instances[first:last]
        left = offsets_of(sizes[chosen] - 1)
        place = np.arange(left[-1]) - expand(left[:-1], left)
        passed = place >= expand(chosen - starts[chosen], left)
        yield chosen, expand(starts[chosen], left) + place + passed, left
        first = last


def _take(bags: Bags, instances: Array, rows: Array, offsets: Array) -> Bags:
    attributes = select_attributes(bags, bag_index(bags.offsets)[instances], rows)
    return Bags(bags.X[rows], offsets, feature_names=bags.feature_names, **attributes)
