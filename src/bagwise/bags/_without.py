"""Compiled statistics of bags without each instance; imported only when bags are occluded.

Row k of ``out`` belongs to row ``first + k`` of X. Nothing is subtracted from a total: what is
left of an instance and what is right of it are put together.
"""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit


@njit(cache=True)
def moments_of_others(X, offsets, first, mean, std, out):
    """Set the columns from ``mean`` and ``std`` on, where they are not negative.

    Means and sums of squared deviations of both sides are merged (Chan, Golub & LeVeque 1983): the
    variance loses no digits, and is exactly 0 where the others are all equal.
    """
    d, last = X.shape[1], first + len(out)
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        if stop <= first or start >= last:
            continue
        n = stop - start
        means, squares = np.zeros((n + 1, d)), np.zeros((n + 1, d))  # of the rows before
        for k in range(n):
            _with_one_more(X[start + k], k + 1, means[k], squares[k], means[k + 1], squares[k + 1])
        right_mean, right_square = np.zeros(d), np.zeros(d)
        for k in range(n - 1, -1, -1):
            after = n - 1 - k
            if first <= start + k < last:
                row, share = out[start + k - first], after / max(1, n - 1)
                for j in range(d):
                    apart = right_mean[j] - means[k, j]
                    if mean >= 0:
                        row[mean + j] = means[k, j] + share * apart if n > 1 else X[start, j]
                    if std >= 0:
                        both = squares[k, j] + right_square[j] + share * k * apart**2
                        row[std + j] = np.sqrt(both / max(1, n - 1))
            _with_one_more(
                X[start + k], after + 1, right_mean, right_square, right_mean, right_square
            )


@njit(cache=True)
def _with_one_more(row, n, mean, square, new_mean, new_square):
    """Update mean and sum of squared deviations by the n-th row."""
    share = 1.0 / n
    for j in range(len(row)):
        apart = row[j] - mean[j]
        added = apart * share
        new_square[j] = square[j] + apart * (apart - added)
        new_mean[j] = mean[j] + added


@njit(cache=True)
def least_of_others(X, offsets, first, sign, column, out):
    """Set the columns from ``column`` on to the minima, with sign -1 to the maxima."""
    d, last = X.shape[1], first + len(out)
    for i in range(len(offsets) - 1):
        start, stop = max(offsets[i], first), min(offsets[i + 1], last)
        if start >= stop:
            continue
        least, second = np.full(d, np.inf), np.full(d, np.inf)
        for k in range(offsets[i], offsets[i + 1]):
            for j in range(d):
                x = sign * X[k, j]
                second[j] = min(second[j], max(least[j], x))
                least[j] = min(least[j], x)
        if offsets[i + 1] - offsets[i] == 1:
            second[:] = least
        for k in range(start, stop):
            row = out[k - first]
            for j in range(d):
                others = second[j] if sign * X[k, j] == least[j] else least[j]
                row[column + j] = sign * others


@njit(cache=True)
def quantiles_of_others(X, offsets, first, ordered, levels, columns, out):
    """Set the columns from ``columns[s]`` on to the quantiles at ``levels[s]``.

    ``ordered`` are the rows with every column in order within its bag.
    """
    d, last = X.shape[1], first + len(out)
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        if stop <= first or start >= last:
            continue
        in_order, n_others = ordered[start:stop], max(1, stop - start - 1)
        for s in range(len(levels)):
            place = levels[s] * (n_others - 1)
            low = int(place)
            high, share = min(low + 1, n_others - 1), place - low
            # Where the row is before a place, the next entry is there among the others.
            after_low = min(low + 1, stop - start - 1)
            after_high = min(high + 1, stop - start - 1)
            for k in range(max(start, first), min(stop, last)):
                row = out[k - first, columns[s] : columns[s] + d]
                for j in range(d):
                    x, below, above = X[k, j], in_order[low, j], in_order[high, j]
                    value = in_order[after_low, j] if x <= below else below
                    upper = in_order[after_high, j] if x <= above else above
                    row[j] = (1 - share) * value + share * upper
