"""Compiled updates of extremes and of kernel values; imported only when bags are occluded."""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit


@njit(cache=True)
def extreme_changes(X, offsets):
    """Return the (min, max) vectors of bags, and what leaving out each instance changes of them.

    The changes are those of a CSR matrix with one row per instance: where each row starts, columns
    and values. Only the single holder of an extreme changes it, to the next value of the bag.
    """
    n_bags, d = len(offsets) - 1, X.shape[1]
    ends, following = np.empty((n_bags, 2 * d)), np.empty((n_bags, 2 * d))
    who = np.zeros((n_bags, 2 * d), dtype=np.int64)
    for i in range(n_bags):
        ends[i, :d], following[i, :d] = np.inf, np.inf
        ends[i, d:], following[i, d:] = -np.inf, -np.inf
        for k in range(offsets[i], offsets[i + 1]):
            for j in range(d):
                x = X[k, j]
                if x < ends[i, j]:
                    following[i, j], ends[i, j], who[i, j] = ends[i, j], x, k
                elif x < following[i, j]:
                    following[i, j] = x
                if x > ends[i, d + j]:
                    following[i, d + j], ends[i, d + j], who[i, d + j] = ends[i, d + j], x, k
                elif x > following[i, d + j]:
                    following[i, d + j] = x
        if offsets[i + 1] - offsets[i] == 1:
            following[i] = ends[i]
    starts = np.zeros(len(X) + 1, dtype=np.int64)
    for i in range(n_bags):
        for j in range(2 * d):
            starts[who[i, j] + 1] += following[i, j] != ends[i, j]
    starts = np.cumsum(starts)
    filled = starts.copy()
    columns, changes = np.empty(starts[-1], dtype=np.int64), np.empty(starts[-1])
    for i in range(n_bags):
        for j in range(2 * d):
            if following[i, j] != ends[i, j]:
                place = filled[who[i, j]]
                columns[place], changes[place] = j, following[i, j] - ends[i, j]
                filled[who[i, j]] += 1
    return ends, starts, columns, changes


@njit(cache=True)
def apply_changes(base, owner, starts, columns, changes, rows, vectors, squared, out):
    """Set out_k to what the changes k make of row i = ``owner[k]`` of ``base``.

    ``base`` has inner products x_i . z with all vectors z or, with ``squared``, squared distances
    |x_i - z|^2; ``vectors`` has one column per z.
    """
    for k in range(len(owner)):
        i, added = owner[k], 0.0
        out[k] = base[i]
        for place in range(starts[k], starts[k + 1]):
            j, change = columns[place], changes[place]
            factor = -2.0 * change if squared else change
            added += change * (change + 2.0 * rows[i, j])
            for z in range(out.shape[1]):
                out[k, z] += factor * vectors[j, z]
        if squared:
            out[k] += added
