"""Compiled search for the best split of binned features; import this module only where it runs."""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit

_RISE = 1e-10  # relative: a smaller one is the rounding of sums, and must not choose a feature


@njit(cache=True)
def best_split(codes, n_bins, rows, pull, least):
    """Return feature, bin and next bin of the split with the least Gini impurity; -1 without one.

    Row k has the code codes[j, k] of feature j, the class pull_k > 0 and the weight |pull_k|. A
    side of a split weighs at least ``least``. Of splits that are equal up to rounding, the first
    one is taken.
    """
    sums = np.zeros((n_bins.max(), 2))
    total = _total(rows, pull)
    best = (-1, -1, -1, 0.0)
    for j in range(len(n_bins)):
        sums[: n_bins[j]] = 0.0
        for k in rows:
            sums[codes[j, k], int(pull[k] > 0)] += abs(pull[k])
        best = _best_cut(sums, n_bins[j], total, least, j, best)
    return best[0], best[1], best[2]


@njit(cache=True)
def best_sparse_split(codes, indices, indptr, zero_bin, n_bins, rows, pull, least):
    """Do the same with columns of which only the entries other than zero are stored."""
    sums, inside = np.zeros((n_bins.max(), 2)), np.zeros(len(pull), dtype=np.bool_)
    inside[rows] = True
    total = _total(rows, pull)
    best = (-1, -1, -1, 0.0)
    for j in range(len(n_bins)):
        sums[: n_bins[j]] = 0.0
        left, seen = total.copy(), 0
        for t in range(indptr[j], indptr[j + 1]):
            k = indices[t]
            if inside[k]:
                seen += 1
                side, weight = int(pull[k] > 0), abs(pull[k])
                sums[codes[t], side] += weight
                left[side] -= weight
        if seen < len(rows):  # a difference, which rounding may turn negative
            sums[zero_bin[j], 0] += max(left[0], 0.0)
            sums[zero_bin[j], 1] += max(left[1], 0.0)
        best = _best_cut(sums, n_bins[j], total, least, j, best)
    return best[0], best[1], best[2]


@njit(cache=True)
def _total(rows, pull):
    total = np.zeros(2)
    for k in rows:
        total[int(pull[k] > 0)] += abs(pull[k])
    return total


@njit(cache=True)
def _best_cut(sums, n_bins, total, least, feature, best):
    """Compare the cuts of one feature with the best so far; bins without weight do not count."""
    low, high, last = 0.0, 0.0, -1
    for c in range(n_bins):
        weight = sums[c, 0] + sums[c, 1]
        if weight <= 0:
            continue
        left, right = low + high, total[0] + total[1] - low - high
        if last >= 0 and left >= least and right >= least and right > 0:
            other_low, other_high = max(total[0] - low, 0.0), max(total[1] - high, 0.0)
            purity = (low**2 + high**2) / left + (other_low**2 + other_high**2) / right
            if purity > best[3] * (1 + _RISE):
                best = (feature, last, c, purity)
        low += sums[c, 0]
        high += sums[c, 1]
        last = c
    return best
