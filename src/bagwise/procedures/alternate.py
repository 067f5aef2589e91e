"""Alternate between a convex problem and the assignment that is cheapest at its solution.

Neither step can raise the objective, and there are finitely many assignments, so the loop ends:
when the assignment repeats, or when a new one does not lower the objective (ties, or a solver at
the end of its digits); that one is not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.solvers.solution import Solution

__all__ = ["Alternation", "alternate"]

Array = NDArray[Any]

_TIE = 1e-12


@dataclass(frozen=True)
class Alternation:
    """Where an alternation ended, and every step on the way."""

    solution: Solution
    assignment: Array
    history: list[dict[str, Any]]
    converged: bool


def alternate(
    solve: Callable[[Array, Solution | None], Solution],
    assign: Callable[[Array], Array],
    start: Array,
    *,
    max_iter: int,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> Alternation:
    """Run the alternation.

    Parameters
    ----------
    solve : callable
        ``solve(assignment, last_solution)`` returns the convex problem's `Solution`.
    assign : callable
        ``assign(scores)`` returns the cheapest assignment at these scores.
    start : ndarray
        The first assignment.
    max_iter : int
        Most convex problems.
    callback : callable, default=None
        Called with each history record.

    Returns
    -------
    Alternation
        ``converged`` is False only when ``max_iter`` ended it.
    """
    began, history = perf_counter(), list[dict[str, Any]]()
    assignment, solution, converged = start, solve(start, None), False
    while not converged:
        proposal = assign(solution.scores)
        record = _record(solution, assignment, proposal, perf_counter() - began)
        history.append(record)
        if callback is not None:
            callback(record)
        converged = record["changed"] == 0
        if converged or len(history) == max_iter:
            break
        candidate = solve(proposal, solution)
        converged = not _lower(candidate.objective, solution.objective)
        if not converged:
            assignment, solution = proposal, candidate
    return Alternation(solution, assignment, history, converged)


def _lower(new: float, old: float) -> bool:
    return new < old - _TIE * abs(old)


def _record(
    solution: Solution, assignment: Array, proposal: Array, seconds: float
) -> dict[str, Any]:
    return {
        "objective": solution.objective,
        "gap": solution.gap,
        "residual": solution.residual,
        "solver_steps": solution.n_iter,
        "changed": int(np.count_nonzero(proposal != assignment)),
        "seconds": seconds,
    }
