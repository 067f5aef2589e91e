"""Compiled spanning trees; import this module only where it runs."""

from __future__ import annotations

import numpy as np

from bagwise._jit import njit


@njit(cache=True)
def spanning_tree(points):
    """Return the parents of a minimum spanning tree with root 0 (Prim 1957), of ties the first.

    All pairs are looked at, and O(m) numbers kept.
    """
    m = len(points)
    parents, nearest = np.full(m, -1), np.full(m, np.inf)
    waiting = np.ones(m, dtype=np.bool_)
    new = 0
    for _ in range(m - 1):
        waiting[new], following = False, -1
        for i in range(m):
            if not waiting[i]:
                continue
            squared = 0.0
            for j in range(points.shape[1]):
                squared += (points[i, j] - points[new, j]) ** 2
            if squared < nearest[i] or parents[i] < 0:
                nearest[i], parents[i] = squared, new
            if following < 0 or nearest[i] < nearest[following]:
                following = i
        new = following
    return parents
