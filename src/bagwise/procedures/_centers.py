"""Compiled loops over bags with open witnesses; import this module only where it runs."""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit

_STEPS = 20  # towards the center: more change a slack by less than a tenth


@njit(cache=True)
def centers(K, rows, offsets, open_, scores, radius, share, slack):
    """Find a reference mu = sum_k share_k phi_k of every bag with open candidates.

    In the ball of this radius around the point with these scores, no candidate exceeds the score
    of mu by more than ``slack``. The steps of Badoiu & Clarkson towards the smallest enclosing
    ball, with scores as heights, make the sum of both small. Candidates that cannot reach the
    highest one in the ball are no longer open.
    """
    for bag in range(len(offsets) - 1):
        first, end = offsets[bag], offsets[bag + 1]
        top = -1
        for k in range(first, end):
            share[k] = 0.0
            if open_[k] and (top < 0 or scores[rows[k]] > scores[rows[top]]):
                top = k
        slack[bag] = np.inf
        if top < 0:
            continue
        for k in range(first, end):
            if open_[k] and k != top:
                behind = scores[rows[top]] - scores[rows[k]]
                open_[k] = behind <= radius * _distance(K, rows[k], rows[top])
        _center(K, rows[first:end], open_[first:end], scores, radius, share[first:end], top - first)
        slack[bag] = _highest(
            K, rows[first:end], open_[first:end], scores, radius, share[first:end]
        )[1]


@njit(cache=True)
def _distance(K, i, j):
    return np.sqrt(max(K[i, i] + K[j, j] - 2 * K[i, j], 0.0)) * (1 + 1e-9)  # rounded up


@njit(cache=True)
def _center(K, rows, open_, scores, radius, share, top):
    share[top] = 1.0
    best, least = share.copy(), np.inf
    for step in range(_STEPS):
        k, slack = _highest(K, rows, open_, scores, radius, share)
        above = slack
        for j in range(len(rows)):
            above += share[j] * scores[rows[j]]
        if above < least:
            least = above
            best[:] = share
        share *= 1 - 1 / (step + 2)
        share[k] += 1 / (step + 2)
    share[:] = best


@njit(cache=True)
def _highest(K, rows, open_, scores, radius, share):
    """Return who may exceed the reference most, and by how much."""
    own, norm = 0.0, 0.0
    cross = np.zeros(len(rows))
    for i in range(len(rows)):
        for j in range(len(rows)):
            if share[j] > 0:
                cross[i] += K[rows[i], rows[j]] * share[j]
    for i in range(len(rows)):
        own += share[i] * scores[rows[i]]
        norm += share[i] * cross[i]
    best, most = 0, -np.inf
    for k in range(len(rows)):
        if open_[k]:
            square = max(K[rows[k], rows[k]] - 2 * cross[k] + norm, 0.0)
            excess = scores[rows[k]] - own + radius * (np.sqrt(square) * (1 + 1e-9) + 1e-9)
            if excess > most:
                best, most = k, excess
    return best, most
