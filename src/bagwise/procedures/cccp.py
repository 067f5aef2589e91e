"""The concave-convex procedure: replace the concave part by its tangent, solve, repeat.

If every convex problem is an upper bound on the true objective and touches it where it was
linearized, the true objective decreases in every step, up to the gap of the convex solver. A step
that does not decrease it is rejected and ends the loop. A linearization that is not an upper bound
(some papers print such) may increase the objective: ``monotone=False`` continues as printed, and
the record says by how much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from bagwise._typing import Array
from bagwise.problems import Solution
from bagwise.procedures.run import Callback, Journal, Run
from bagwise.tolerances import TIE

_S = TypeVar("_S", bound=Solution)


def cccp(
    linearize: Callable[[Array], Array],
    solve: Callable[[Array, _S | None], _S],
    objective: Callable[[_S], float],
    start: Array,
    *,
    max_iter: int,
    tol: float = 1e-6,
    monotone: bool = True,
    callback: Callback | None = None,
) -> Run:
    """Run the procedure from the scores ``start``; the assignment it returns is the last tangent.

    ``linearize(scores)`` returns what fixes the tangent at a point (such as the witnesses),
    ``solve(tangent, last_solution)`` the convex problem's `Solution`, and ``objective(solution)``
    the true objective. The loop stops when that decreases by less than ``tol`` of itself;
    ``monotone`` rejects a step that increases it. ``rise`` in the records is the increase of the
    objective. ``converged`` is False only when ``max_iter`` ended the loop.
    """
    tangent, journal = linearize(start), Journal(callback)
    kept, value, kept_tangent, converged = None, np.inf, tangent, False
    while not converged and len(journal.records) < max_iter:
        # 1) Solve with the tangent.
        solution = solve(tangent, kept)
        reached = objective(solution)
        # 2) Check whether the true objective rose by more than the solver's gap.
        allowed = solution.gap + TIE * abs(reached)
        rise = 0.0 if kept is None else max(reached - value - allowed, 0.0)
        refused = monotone and reached > value
        proposal = linearize(solution.scores)
        changed = int(np.count_nonzero(proposal != tangent))
        journal.add(
            objective=reached,
            convex_objective=solution.objective,
            gap=solution.gap,
            rise=rise,
            solver_steps=solution.n_iter,
            changed=changed,
        )
        # 3) Stop if nothing was gained, or if the next problem would be the same.
        gained = value - reached if monotone else abs(value - reached)
        converged = refused or changed == 0 or gained <= tol * abs(reached)
        if not refused:
            kept, value, kept_tangent = solution, reached, tangent
        tangent = proposal
    assert kept is not None  # max_iter >= 1
    kept = replace(kept, objective=float(value))
    return Run(kept, kept_tangent, journal.records, converged)
