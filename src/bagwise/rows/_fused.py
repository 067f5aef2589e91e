"""`weigh_rows` and `scout_rows` of `bagwise.rows.margins` as compiled loops, for NumPy's rows.

The numbers are the same up to rounding, without a temporary vector per operation. The loops know no
rule: assignments are given.
"""

from __future__ import annotations

import math

import numpy as np

from bagwise._jit import njit
from bagwise._typing import Array
from bagwise.rows.looks import Assignment
from bagwise.rows.margins import GRID, HALVINGS, Margins, Scout, Seen
from bagwise.tolerances import DECIDED

_NO_ROWS = np.empty(0)


def weigh(seen: Seen, look: Margins) -> tuple[Array, list[float]]:
    """Return duals and curvatures (or their change) of all rows, and the first of the totals."""
    known, old = seen.known, (_NO_ROWS, _NO_ROWS, _NO_ROWS, False)
    if look.since is not None:
        old = seen.scores(look.since[0]), *_of(seen, look.since[1], look.exact)
    new = seen.scores(look.at), *_of(seen, look.p, look.exact)
    vectors, totals = _weigh(known.weight, known.inside, *new, *old, look.since is not None)
    return vectors, totals[: 8 if look.since is None else 6].tolist()


def scout(seen: Seen, look: Scout) -> list[float]:
    """Return the risks all, half, a quarter, ... of the way."""
    start, (p, rest, _) = seen.scores(look.start), _of(seen, look.p, look.exact)
    step = seen.scores(look.at) - start
    return _scout(seen.known.weight, seen.known.inside, start, step, p, rest).tolist()


def _of(seen: Seen, p: Assignment, exact: bool) -> tuple[Array, Array, bool]:
    """Return an assignment, how negative its rest is, and whether curvatures have a grid."""
    count, rest = len(seen.known.inside), seen.known.facts.rest(p.rule.rest_is_negative)
    given = np.asarray(seen.assign(p), dtype=np.float64) if count else _NO_ROWS
    return given, np.full(count, rest, dtype=np.float64), p.rule.is_soft and not exact


@njit(inline="always")
def _curve(a, c, z, unit, is_soft):
    """Return the curvature of a row, on the grid where it is soft."""
    found = 0.0
    if z < 1:
        found += a
    if z > -1:
        found += c
    found *= 2
    if is_soft and found > 0.0 and found != unit:
        found = unit * 2.0 ** (np.rint(GRID * math.log2(found / unit)) / GRID)
    return found


@njit(inline="always")
def _share(p, weight, rest):
    """Return the weights of an instance as a positive and as a negative."""
    if p < DECIDED:
        p = 0.0
    elif p > 1 - DECIDED:
        p = 1.0
    return weight * p, weight * (1 - p) * rest


@njit(cache=True)
def _weigh(weight, inside, z, p, rest, is_soft, old_z, old_p, old_rest, old_soft, has_old):
    """Return duals and change of curvature of every row, and their totals."""
    n, k = len(z), 0
    vectors, totals = np.empty((3, n)), np.zeros(8)
    for i in range(n):
        # 1) Weights of the two labels.
        is_inside = k < len(inside) and inside[k] == i
        a, c, old_a, old_c = 0.0, weight[i], 0.0, weight[i]
        if is_inside:
            a, c = _share(p[k], weight[i], rest[k])
            if has_old:
                old_a, old_c = _share(old_p[k], weight[i], old_rest[k])
            k += 1
        # 2) Risks and duals.
        above, below = max(0.0, 1 - z[i]), max(0.0, 1 + z[i])
        rise, fall = 2 * a * above, 2 * c * below
        vectors[0, i], vectors[1, i] = rise, fall
        totals[0] += rise
        totals[1] += fall
        totals[2] += a * above * above
        totals[3] += c * below * below
        # 3) Curvature, or how it changed.
        unit = 2 * weight[i]
        curvature = change = _curve(a, c, z[i], unit, is_soft and is_inside)
        if has_old:
            change -= _curve(old_a, old_c, old_z[i], unit, old_soft and is_inside)
        else:
            totals[6] += curvature * (1 + abs(z[i])) ** 2
            totals[7] += a + c
        vectors[2, i] = change
        totals[4] += change
        totals[5] += abs(change)
    return vectors, totals


@njit(cache=True)
def _scout(weight, inside, start, step, p, rest):
    """Return the risks on the way."""
    found, k = np.zeros(HALVINGS + 1), 0
    for i in range(len(start)):
        a, c = 0.0, weight[i]
        if k < len(inside) and inside[k] == i:
            a, c = _share(p[k], weight[i], rest[k])
            k += 1
        for j in range(HALVINGS + 1):
            z = start[i] + step[i] * 0.5**j
            above, below = max(0.0, 1 - z), max(0.0, 1 + z)
            found[j] += a * above * above + c * below * below
    return found
