"""The outer loops on rows that are only ever passed over.

Alternation and annealing are those of `bagwise.procedures`. What they do to vectors of the rows'
length happens here within the passes: an assignment is a rule and the place at which it decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import Everything, Means, Rule
from bagwise.assumptions.soft import UNCHANGED, Hardened, Softening
from bagwise.procedures.alternate import alternate_steps
from bagwise.procedures.anneal import Schedule, Softer, cool
from bagwise.procedures.run import Callback, Run, Steps
from bagwise.rows import Assignment, Newton, Place, View
from bagwise.solvers.solution import Solution
from bagwise.tolerances import MAX_STEPS


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


class _Annealing:
    """What is annealed: places, and assignments that are functions of them."""

    def __init__(
        self, newton: Newton, rule: Softening, schedule: Schedule, max_steps: int | None
    ) -> None:
        self.newton, self.rule, self.max_steps = newton, rule, max_steps
        self.C, self.n_instances = newton.labels.C, newton.n_rows
        newton.coldest = schedule.coldest / self.C
        self.view: View | None = None  # where the assignment decided last
        self.seen: View  # where the last Newton step began
        self.before: Assignment | None = None
        self.temperature = self.promise = np.inf
        self.careful, self.repeated = False, 0

    def fit(self, p: Assignment, last: Place | None) -> Steps:
        """Take Newton steps from the place of the last pass."""
        if self.view is None:
            self.view = yield from self.newton.look(p.anchor or self.newton.origin, p)
        # The first problem has no point to start from: one step would leave it half solved.
        limit = MAX_STEPS if self.max_steps is None or last is None else self.max_steps
        promise, repeated = 0.0 if self.careful else self.promise, self.repeated
        found = yield from self.newton.descend(self.view, limit, promise)
        self.seen, place, taken, self.promise = found
        self.repeated = 0
        return place, taken + repeated

    def soften(self, here: Place, p: Assignment, temperature: float) -> Steps:
        """Change the assignment in one pass, which also begins the next Newton step."""
        if temperature != self.temperature:  # promises of two temperatures do not compare
            self.temperature, self.promise = temperature, np.inf
        view = yield from self._decide(here, p)
        # Both halves of an alternation lower the energy: where it rose, a step that was not looked
        # at went too far. It is taken back, and from now on all but the smallest are looked at.
        if self._rises(view):
            self.careful = True
            found = yield from self.newton.descend(self.seen, MAX_STEPS, 0.0)
            self.seen, here, self.repeated, _ = found
            view = yield from self._decide(here, p)
        self.view, self.before, seen = view, p, view.numbers
        share = seen["positives"] / self.newton.n_rows
        return Softer(view.p, seen["divergence"] / self.newton.n_bags, seen["entropy"], share)

    def _decide(self, here: Place, p: Assignment) -> Steps:
        new = Assignment(self.rule, here, self.temperature / self.C)
        return (yield from self.newton.look(here, new, before=p))

    def _rises(self, view: View) -> bool:
        """Return whether a view has more energy than the last step began with."""
        if self.view is None or self.before is None:  # the first assignment's entropy is not known
            return False
        old = self.energy_of(self.view, self.temperature) - self.view.value + self.seen.value
        new = self.energy_of(view, self.temperature)
        return new > old + self.newton.rounding * abs(old)

    def energy_of(self, view: View, temperature: float) -> float:
        """Return the objective of a view and its assignment at a temperature."""
        seen = view.numbers
        return view.value + self.C * seen["penalty"] - temperature * seen["entropy"]

    def energy(self, here: Place, temperature: float) -> float:
        """Return the objective at a temperature."""
        assert self.view is not None
        return self.energy_of(self.view, temperature)

    def is_at_rest(self, here: Place, p: Assignment, entered: Assignment) -> bool:
        """Return whether nothing changed, and the coldest temperature would not change it."""
        assert self.view is not None
        seen = self.view.numbers
        return self.before is entered and max(seen["moved"], seen["undecided"]) <= UNCHANGED


def anneal_passes(
    newton: Newton,
    rule: Softening,
    start: Assignment,
    schedule: Schedule,
    max_steps: int | None,
    callback: Callback | None,
) -> Steps:
    """Anneal from a first assignment; the run's solution is a place."""
    steps = _Annealing(newton, rule, schedule, max_steps)
    run = yield from cool(steps, start, schedule, callback)
    return replace(run, solution=run.assignment.anchor)


def fit_annealed(
    newton: Newton,
    rule: Softening,
    start: Assignment,
    schedule: Schedule,
    max_steps: int | None,
    callback: Callback | None,
) -> Steps:
    """Anneal, and solve the problem of what counts at the end; one value per row."""
    run = yield from anneal_passes(newton, rule, start, schedule, max_steps, callback)
    last: Any = run.assignment
    final = Assignment(Hardened(rule), last.anchor, last.temperature)
    before = newton.n_looks
    view = yield from newton.solve((yield from newton.look(run.solution, final)))
    view = yield from newton.refine(view)
    solution = view.solution(newton.rounding, newton.n_looks - before, newton.at_zero)
    p: Array = yield from newton.answer(view)
    return Run(solution, p, run.history, run.converged)
