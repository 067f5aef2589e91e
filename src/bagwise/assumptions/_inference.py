"""Compiled loops over bags; import this module only where they run (it loads numba).

Scores are (n_models, n_instances), one row per model. Results are (n_models, 2, n_bags): side 0 for
a negative bag, side 1 for a positive one. A labeling is described by ``cut`` and ``quota``: an
instance is positive if its score exceeds the cut, or equals it and is among the first ``quota``
that do. In ``rising``, bags of more than `INSERTION` instances are already sorted; smaller bags are
sorted here, in place.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit

INSERTION = 24  # instances: NumPy's vectorized sort is faster for larger bags


@njit(cache=True)
def at_least_one(scores, offsets, weights, value, count, cut, quota):
    """MIMN, without sorting. Negative: all labels 0. Positive: scores > 0, or the highest one."""
    for model in range(scores.shape[0]):
        row = scores[model]
        for bag in range(len(offsets) - 1):
            total, positives, top = _sum_positive(row[offsets[bag] : offsets[bag + 1]])
            value[model, 0, bag] = weights[model, 0]
            count[model, 0, bag] = 0
            cut[model, 0, bag] = np.inf
            quota[model, 0, bag] = 0
            none = positives == 0
            value[model, 1, bag] = weights[model, 1] + (top if none else total)
            count[model, 1, bag] = 1 if none else positives
            cut[model, 1, bag] = top if none else 0.0
            quota[model, 1, bag] = 1 if none else 0


@njit(cache=True, fastmath={"nsz", "contract", "reassoc", "nnan"})
def _sum_positive(row):
    """Return the sum and number of positive scores and the highest score."""
    total, positives, top = 0.0, 0, row[0]
    for i in range(len(row)):
        score = row[i]
        total += max(score, 0.0)
        positives += 1 if score > 0.0 else 0
        top = max(top, score)
    return total, positives, top


@njit(cache=True)
def by_table(rising, offsets, start, table, bins, weights, value, count, cut, quota):
    """Any potential: the best count, from running sums of the sorted scores (Eq. 21).

    ``start`` has one row per model, or one for all models.
    """
    for model in range(rising.shape[0]):
        own = start[min(model, len(start) - 1)]
        for bag in range(len(offsets) - 1):
            sorted_ = _sort_small(rising[model, offsets[bag] : offsets[bag + 1]])
            for side in range(2):
                best, chosen, running = -np.inf, 0, 0.0
                for k in range(len(sorted_) + 1):
                    if k > 0:
                        running += sorted_[len(sorted_) - k]
                    entry = own[bag] + k
                    total = running + table[side, entry]
                    if bins[side, entry] >= 0:
                        total += weights[model, bins[side, entry]]
                    if total > best:
                        best, chosen = total, k
                value[model, side, bag] = best
                count[model, side, bag] = chosen
                cut[model, side, bag], quota[model, side, bag] = _cut(sorted_, chosen)


@njit(cache=True)
def mark(scores, offsets, cut, quota, amount, out):
    """Add ``amount[model, side, bag]`` to the positives of the labeling of each side."""
    for model in range(scores.shape[0]):
        for side in range(2):
            for bag in range(len(offsets) - 1):
                added = amount[model, side, bag]
                if added == 0.0:
                    continue
                edge, left = cut[model, side, bag], quota[model, side, bag]
                for i in range(offsets[bag], offsets[bag + 1]):
                    score = scores[model, i]
                    if score > edge:
                        out[model, i] += added
                    elif score == edge and left > 0:
                        out[model, i] += added
                        left -= 1


@njit(cache=True)
def _sort_small(part):
    """Sort a small bag by insertion; larger ones are sorted already."""
    if len(part) > INSERTION:
        return part
    for i in range(1, len(part)):
        score, j = part[i], i - 1
        while j >= 0 and part[j] > score:
            part[j + 1] = part[j]
            j -= 1
        part[j + 1] = score
    return part


@njit(cache=True)
def _cut(sorted_, k):
    """Return the lowest score among the top k, and how many of the scores equal to it belong."""
    if k == 0:
        return np.inf, 0
    size = len(sorted_)
    edge, i = sorted_[size - k], size - k
    while i < size and sorted_[i] == edge:
        i += 1
    return edge, i - (size - k)
