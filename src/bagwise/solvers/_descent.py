"""Compiled passes of dual coordinate descent; import this module only where they run."""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit
from bagwise.tolerances import TIE, TINY


# Inlined: without it a pass over sparse rows takes 10 % longer.
@njit(inline="always")
def _dot(start, data, indices, begin, end, w):
    for j in range(begin, end):
        start += data[j] * w[indices[j]]
    return start


@njit(inline="always")
def _add(amount, data, indices, begin, end, w):
    for j in range(begin, end):
        w[indices[j]] += amount * data[j]


@njit(inline="always")
def _project(gradient, alpha, upper):
    if alpha <= 0.0:
        return min(gradient, 0.0)
    return max(gradient, 0.0) if alpha >= upper else gradient


@njit(cache=True)
def pass_over_rows(data, indices, indptr, labels, upper, norms, alpha, coef, constant, order):
    """Visit every row once; return the largest projected gradient seen."""
    worst = 0.0
    for i in order:
        begin, end = indptr[i], indptr[i + 1]
        score = _dot(constant * coef[-1], data, indices, begin, end, coef)
        gradient = labels[i] * score - 1.0
        projected = _project(gradient, alpha[i], upper[i])
        worst = max(worst, abs(projected))
        if projected != 0.0:
            updated = min(max(alpha[i] - gradient / norms[i], 0.0), upper[i])
            change = (updated - alpha[i]) * labels[i]
            alpha[i] = updated
            coef[-1] += change * constant
            _add(change, data, indices, begin, end, coef)
    return worst


@njit(cache=True)
def pass_over_gram(Q, upper, alpha, gradient, order):
    """Visit every coordinate once; return the largest projected gradient seen."""
    worst = 0.0
    for i in order:
        slope = gradient[i]
        projected = _project(slope, alpha[i], upper[i])
        worst = max(worst, abs(projected))
        if projected != 0.0:
            updated = min(max(alpha[i] - slope / Q[i, i], 0.0), upper[i])
            change = updated - alpha[i]
            alpha[i] = updated
            for j in range(len(gradient)):
                gradient[j] += change * Q[i, j]
    return worst


@njit(cache=True)
def pass_over_blocks(
    data, indices, indptr, norms, labels, offsets, upper, alpha, w, scratch, violation, order
):
    """Visit the blocks in this order; write each one's violation of optimality."""
    for i in order:
        # 1) Find the instance that gains most from more weight, and the one to take weight from.
        total, best, bad = 0.0, -1, -1
        least, most = np.inf, -np.inf
        for k in range(offsets[i], offsets[i + 1]):
            gradient = labels[k] * _dot(0.0, data, indices, indptr[k], indptr[k + 1], w) - 1.0
            total += alpha[k]
            if gradient < least:
                least, best = gradient, k
            if alpha[k] > 0.0 and gradient > most:
                most, bad = gradient, k
        room = upper[i] - total
        full = room <= TIE * upper[i]
        violation[i] = max(most - min(least, 0.0), 0.0) if full else max(-least, most, 0.0)
        # 2) Add weight, or exchange it.
        if least < 0.0 and not full:
            step = min(-least / max(norms[best], TINY), room)
            alpha[best] += step
            _add(step * labels[best], data, indices, indptr[best], indptr[best + 1], w)
        elif least < 0.0 and bad != best and most > least:
            for j in range(indptr[best], indptr[best + 1]):
                scratch[indices[j]] = data[j]
            across = _dot(0.0, data, indices, indptr[bad], indptr[bad + 1], scratch)
            for j in range(indptr[best], indptr[best + 1]):
                scratch[indices[j]] = 0.0
            distance = norms[best] + norms[bad] - 2.0 * across
            step = min((most - least) / max(distance, TINY), alpha[bad])
            alpha[best] += step
            alpha[bad] -= step
            _add(step * labels[best], data, indices, indptr[best], indptr[best + 1], w)
            _add(-step * labels[bad], data, indices, indptr[bad], indptr[bad + 1], w)
        # 3) Remove weight.
        if bad >= 0 and alpha[bad] > 0.0 and most > 0.0:
            score = _dot(0.0, data, indices, indptr[bad], indptr[bad + 1], w)
            step = min(max(labels[bad] * score - 1.0, 0.0) / max(norms[bad], TINY), alpha[bad])
            alpha[bad] -= step
            _add(-step * labels[bad], data, indices, indptr[bad], indptr[bad + 1], w)
