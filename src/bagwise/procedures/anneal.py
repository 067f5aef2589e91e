"""Deterministic annealing: alternate at a temperature, cool, repeat (Gehler & Chapelle 2007).

Algorithms 1 and 2 with one schedule: T <- T / 1.5 from 10 C. At each temperature a convex problem
in w alternates with the assignment of least expected cost minus T x entropy, until the assignment
converges. The paper stops when the entropy vanishes (labels) or nothing changes (witnesses). Here
either stops it, provided that the lowest temperature would change nothing either. A minimum
temperature always stops it, because penalties and ties can keep the entropy positive forever. After
a temperature at which hardly anything changed, the next step in temperature is larger.

What is annealed are vectors in memory (`bagwise.models.annealed`), or `Views` of rows that are only
ever passed over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.soft import UNCHANGED, Hardened, Softening
from bagwise.procedures.run import Callback, Journal, Run, Steps
from bagwise.rows import Assignment, Newton, Place, View
from bagwise.tolerances import MAX_STEPS

if TYPE_CHECKING:
    from bagwise.models.annealed import Vectors

_IDLE = 0.25  # of ``rest``: after less divergence the next temperature would hardly differ


@dataclass(frozen=True)
class Schedule:
    """Temperatures and stopping rules."""

    hottest: float
    coldest: float
    cooling: float = 1.5  # minimum factor between temperatures
    rest: float = 1e-3  # convergence threshold at one temperature: mean divergence per bag
    entropy: float = 1e-3  # per instance; below it the run ends (also if nothing changes)
    max_inner: int = 100  # maximum number of alternations at one temperature
    max_steps: int = 1000  # factorizations, after which only the coldest is visited; 250 is much


class Softer(NamedTuple):
    """What an assignment step leads to, as a procedure sees it."""

    p: Any
    divergence: float  # from the last assignment, mean per bag
    entropy: float
    share: float  # expected fraction of positives


class Views:
    """Places in passes over rows, and assignments that are functions of them."""

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
    steps = Views(newton, rule, schedule, max_steps)
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


def cool(
    steps: Vectors | Views,
    p: Any,
    schedule: Schedule,
    callback: Callback | None = None,
) -> Steps:
    """Run the annealing; return the last point and assignment, and one record per temperature.

    The steps solve a convex problem (``fit``), change the assignment (``soften``), and then know
    the objective (``energy``) and whether the coldest temperature would change anything.
    ``converged`` is False when ``max_inner`` or ``max_steps`` ended some temperature.
    """
    here: Any = None
    temperature, journal = schedule.hottest, Journal(callback)
    settled, done, stride = True, False, schedule.cooling
    limit, spent = schedule.max_inner, 0
    while not done:
        entered, factorizations, divergence, inner = p, 0, np.inf, 0
        while divergence >= schedule.rest and inner < limit:
            here, taken = yield from steps.fit(p, here)
            softer = yield from steps.soften(here, p, temperature)
            p, divergence = softer.p, softer.divergence
            factorizations, inner = factorizations + taken, inner + 1
            spent += taken
            limit = limit if spent < schedule.max_steps else 1
        settled &= divergence < schedule.rest
        record = journal.add(
            temperature=temperature,
            objective=steps.energy(here, temperature),
            entropy=softer.entropy,
            divergence=divergence,
            p_hat=softer.share,
            alternations=inner,
            factorizations=factorizations,
        )
        decided = record["entropy"] <= schedule.entropy * steps.n_instances
        done = decided or steps.is_at_rest(here, p, entered) or temperature <= schedule.coldest
        idle = inner == 1 and divergence < _IDLE * schedule.rest
        stride = schedule.cooling * stride if idle else schedule.cooling
        temperature = max(temperature / stride, schedule.coldest)
        temperature = temperature if spent < schedule.max_steps else schedule.coldest
    return Run(here, p, journal.records, settled)
