"""Alternate between a convex problem and the assignment that is cheapest at its solution.

Neither step can raise the objective, and there are finitely many assignments, so the loop ends. It
ends when the assignment repeats, or when a new one does not lower the objective (because of ties or
rounding) and is rejected.

On rows that are only ever passed over (`bagwise.rows`), an assignment is a rule and the place at
which it decides, and nothing has the rows' length before the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import Everything, Means, Rule
from bagwise.problems import Solution
from bagwise.procedures.run import Callback, Journal, Run, Steps, as_steps, finish
from bagwise.rows import Assignment, Newton, View
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


# Rows that are passed over ---------------------------------------------------------------------


def solve_rule(newton: Newton, rule: Rule) -> Steps:
    """Return the solution under a rule that does not look at scores, as a view."""
    return (yield from newton.solve((yield from newton.start(rule))))


def fit_bag_labels(newton: Newton, callback: Callback | None) -> Steps:
    """Let every instance have the label of its bag: one convex problem."""
    view = yield from newton.refine((yield from solve_rule(newton, Everything())))
    solution = view.solution(newton.rounding, newton.n_looks, newton.at_zero)
    record = {"objective": solution.objective, "gap": solution.gap}
    if callback is not None:
        callback(record)
    p = yield from newton.answer(view)
    return Run(solution, p, [record], True)


def start_from(newton: Newton, rule: Rule, means: bool) -> Steps:
    """Return a rule's choice at the classifier of bags' means, or of all instances."""
    view = yield from solve_rule(newton, Means() if means else Everything())
    return Assignment(rule, view.at)


class _Alternation:
    """The two halves of an alternation; assignments are views of what is proposed."""

    def __init__(self, newton: Newton, rule: Rule) -> None:
        self.newton, self.rule = newton, rule
        self.view: View

    def solve(self, proposed: View, last: Solution | None) -> Steps:
        """Solve the problem of an assignment, from where it was proposed."""
        before = self.newton.n_looks
        self.view = yield from self.newton.solve(proposed)
        return self.view.solution(
            self.newton.rounding, self.newton.n_looks - before, self.newton.at_zero
        )

    def assign(self, solution: Solution) -> Steps:
        """Return the view of the solution under the assignment that is cheapest there."""
        at = self.view.at
        p = Assignment(self.rule, at)
        return (yield from self.newton.look(at, p, before=self.view.p))


def fit_alternating(
    newton: Newton, rule: Rule, first: Assignment, max_iter: int, callback: Callback | None
) -> Steps:
    """Alternate from a first assignment; the run's assignment has one value per row."""
    steps = _Alternation(newton, rule)
    run = yield from alternate_steps(
        steps.solve,
        steps.assign,
        (yield from newton.look(first.anchor or newton.origin, first)),
        lambda new, old: int(new.numbers["changed"]),
        max_iter=max_iter,
        callback=callback,
    )
    p = yield from newton.answer(run.assignment)
    return Run(run.solution, p, run.history, run.converged)
