"""Small quadratic programs by piqp, and the master problem of bundle and cutting-plane methods.

    max_alpha  b.alpha - 1/2 alpha'G alpha,   alpha >= 0,  sum_{j in g} alpha_j <= limit_g,

is the dual of a regularized maximum of planes a_j.w + b_j, with G their scaled inner products. Any
feasible alpha gives a lower bound on the minimum: an inexact one is less tight, never wrong.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.errors import SCALE, Message
from bagwise.tolerances import TINY, UNEVEN

TOLERANCES = ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel")  # of piqp
UNBOUNDED = 1e30  # what piqp takes for infinity, and says so on stderr


class Program(NamedTuple):
    """What piqp found: x, multipliers of ``equal`` and of both sides of ``between``, its status."""

    x: Array
    equal: Array
    low: Array
    high: Array
    status: str


def quadratic_program(
    P: Array, c: Array, lower: Array, *, equal: Any = (), between: Any = (), **settings: float
) -> Program:
    """Minimize 1/2 x'Px + c.x with x >= lower; all is NaN where piqp found no point at all.

    ``equal`` is (A, b) for Ax = b, ``between`` is (G, low, high) for low <= Gx <= high.
    """
    import piqp

    solver = piqp.DenseSolver()
    for name, value in settings.items():
        setattr(solver.settings, name, value)
    constraints = *(equal or (None, None)), *(between or (None, None, None))
    solver.setup(P, c, *constraints, lower, np.full(len(c), np.inf))
    status, result = solver.solve(), solver.result
    # Where the first factorization fails, piqp returns memory that it never wrote to.
    written = status == piqp.PIQP_SOLVED or result.info.iter > 0
    x, y, low, high = (
        np.array(part) if written else np.full(len(part), np.nan)
        for part in (result.x, result.y, result.z_l, result.z_u)
    )
    return Program(x, y, low, high, str(status))


def plane_shares(
    products: Array, heights: Array, group: Array, limits: Array, remedy: str, **settings: float
) -> tuple[Array, Array]:
    """Solve the master problem; return alpha / limit and the matrix that sums it by group.

    The sums exceed 1 by no more than piqp's tolerance. ``remedy`` ends the message of a failure.
    """
    sums = np.zeros((len(limits), len(group)))
    sums[group, np.arange(len(group))] = 1.0
    if not heights.any():  # then nothing is gained, and there is no scale to measure by
        return np.zeros(len(group)), sums
    # As shares of the limits and scaled to order one: piqp's tolerances are absolute. Where the
    # quadratic dwarfs the heights, alpha is a small part of its limit and measured by that part.
    share = limits[group]
    pull = max(float(np.max(np.abs(heights * share))), TINY)
    bend = float(np.max(np.diag(products) * share**2))
    part = max(pull / bend, TINY) if bend > UNEVEN * pull else 1.0
    share = part * share
    quadratic, linear = products * share * share[:, None], heights * share
    unit = max(part * pull, float(np.max(np.diag(quadratic))))
    between: Any = ()
    if 1 / part < UNBOUNDED:
        between = (sums, np.full(len(limits), -np.inf), np.full(len(limits), 1 / part))
    nothing = np.zeros(len(group))
    program = quadratic_program(
        quadratic / unit, -linear / unit, nothing, between=between, max_iter=100, **settings
    )
    if not np.all(np.isfinite(program.x)):
        what = f"The master problem over {len(group)} planes failed ({program.status}): scale the "
        raise FloatingPointError(Message(what, "features with ", SCALE, remedy))
    return part * np.maximum(program.x, 0.0), sums


def simplex_qp(gram: Array, heights: Array) -> tuple[Array, float]:
    """Solve the master problem with one sum of at most 1; return alpha and its dual value."""
    one = np.zeros(len(heights), dtype=int)
    settings = {"eps_abs": 1e-10, "eps_rel": 1e-11}
    alpha, _ = plane_shares(gram, heights, one, np.ones(1), ", or raise alpha.", **settings)
    alpha /= max(1.0, alpha.sum())
    return alpha, float(heights @ alpha - 0.5 * alpha @ gram @ alpha)
