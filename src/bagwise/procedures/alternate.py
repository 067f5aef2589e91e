"""Alternate between a convex problem and the assignment that is cheapest at its solution.

Neither step can raise the objective, and there are finitely many assignments, so the loop ends. It
ends when the assignment repeats, or when a new one does not lower the objective (because of ties or
rounding) and is rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.procedures.run import Callback, Journal, Run, Steps, as_steps, finish
from bagwise.solvers.solution import Solution
from bagwise.tolerances import TIE


def _count_differences(new: Array, old: Array) -> int:
    return int(np.count_nonzero(new != old))


def alternate(
    solve: Callable[[Any, Solution | None], Solution],
    assign: Callable[[Array], Any],
    start: Any,
    *,
    max_iter: int,
    callback: Callback | None = None,
) -> Run:
    """Run the alternation on vectors in memory; ``assign`` sees the scores of all instances."""
    steps = as_steps(solve), as_steps(lambda solution: assign(solution.scores))
    run = alternate_steps(*steps, start, _count_differences, max_iter=max_iter, callback=callback)
    return finish(run)


def alternate_steps(
    solve: Callable[[Any, Any], Steps],
    assign: Callable[[Any], Steps],
    start: Any,
    differences: Callable[[Any, Any], int],
    *,
    max_iter: int,
    callback: Callback | None = None,
) -> Steps:
    """Run the alternation from a first assignment, over at most ``max_iter`` convex problems.

    ``solve(assignment, last_solution)`` returns the convex problem's solution, and
    ``assign(solution)`` the cheapest assignment there. ``differences(new, old)`` counts the
    instances that two assignments treat differently. ``converged`` is False only when ``max_iter``
    ended it.
    """
    journal = Journal(callback)
    assignment, solution, converged = start, (yield from solve(start, None)), False
    while not converged:
        proposal = yield from assign(solution)
        record = journal.add(
            objective=solution.objective,
            gap=solution.gap,
            residual=solution.residual,
            solver_steps=solution.n_iter,
            changed=differences(proposal, assignment),
        )
        converged = record["changed"] == 0
        if converged or len(journal.records) == max_iter:
            break
        candidate = yield from solve(proposal, solution)
        tie = TIE * abs(solution.objective)
        converged = not candidate.objective < solution.objective - tie
        if not converged:
            assignment, solution = proposal, candidate
    return Run(solution, assignment, journal.records, converged)
