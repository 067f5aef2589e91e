"""The concave-convex procedure: replace what is concave by its tangent, solve, repeat.

Where every convex problem bounds the true objective from above and touches it at the point it was
made at, the true objective falls from step to step, up to the gap of the convex solver. A step
that does not fall is refused and ends the loop. A linearisation that is no upper bound (some papers
print such) may climb: ``monotone=False`` goes on as printed, and the record says how far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bagwise.solvers.solution import Solution

__all__ = ["Descent", "cccp"]

Array = NDArray[Any]
_ROUNDING = 1e-12
_S = TypeVar("_S", bound=Solution)


@dataclass(frozen=True)
class Descent:
    """Where the procedure ended, and every step on the way."""

    solution: Any
    tangent: Array
    objective: float
    history: list[dict[str, Any]]
    converged: bool

    @property
    def rise(self) -> float:
        """The largest climb of the true objective beyond the convex solver's gap, or 0."""
        return max((record["rise"] for record in self.history), default=0.0)


def cccp(
    linearise: Callable[[Array], Array],
    solve: Callable[[Array, _S | None], _S],
    objective: Callable[[_S], float],
    start: Array,
    *,
    max_iter: int,
    tol: float = 1e-6,
    monotone: bool = True,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> Descent:
    """Run the procedure.

    Parameters
    ----------
    linearise : callable
        ``linearise(scores)`` returns what fixes the tangent at a point (such as the witnesses).
    solve : callable
        ``solve(tangent, last_solution)`` returns the convex problem's `Solution`.
    objective : callable
        ``objective(solution)`` returns the true objective.
    start : ndarray
        Scores at which to linearise first.
    max_iter : int
        Most convex problems.
    tol : float, default=1e-6
        End when the true objective falls by less than this share of itself.
    monotone : bool, default=True
        Refuse a step that climbs.
    callback : callable, default=None
        Called with each history record.

    Returns
    -------
    Descent
        ``converged`` is False only when ``max_iter`` ended it.
    """
    tangent, history = linearise(start), list[dict[str, Any]]()
    kept, value, kept_tangent, began = None, np.inf, tangent, perf_counter()
    converged = False
    while not converged and len(history) < max_iter:
        # 1) Solve with the tangent.
        solution = solve(tangent, kept)
        reached = objective(solution)
        # 2) Did the true objective climb, by more than the solver left open?
        allowed = solution.gap + _ROUNDING * abs(reached)
        rise = 0.0 if kept is None else max(reached - value - allowed, 0.0)
        refused = monotone and reached > value
        proposal = linearise(solution.scores)
        changed = int(np.count_nonzero(proposal != tangent))
        record = _record(solution, reached, rise, changed, perf_counter() - began)
        history.append(record)
        if callback is not None:
            callback(record)
        # 3) Stop where nothing is gained, or the next problem would be the same.
        gained = value - reached if monotone else abs(value - reached)
        converged = refused or changed == 0 or gained <= tol * abs(reached)
        if not refused:
            kept, value, kept_tangent = solution, reached, tangent
        tangent = proposal
    return Descent(kept, kept_tangent, float(value), history, converged)


def _record(
    solution: Solution, objective: float, rise: float, changed: int, seconds: float
) -> dict[str, Any]:
    return {
        "objective": objective,
        "convex_objective": solution.objective,
        "gap": solution.gap,
        "rise": rise,
        "solver_steps": solution.n_iter,
        "changed": changed,
        "seconds": seconds,
    }
