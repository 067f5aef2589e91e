"""Primal Newton on rows that are only ever swept: one pass over them per step.

The problem is that of `bagwise.solvers.newton` with the squared hinge, at the assignment that the
rows hold. A pass at a point returns the sums of the next step and the duality gap of this one. A
step that its quadratic promises little of is taken without a look: the next pass, which changes the
assignment anyway, starts from there. As long as alternation converges, the promises shrink, and
what such a step missed is made up for. Where they grow, an assignment tips over to one side or
another, and which one depends on the step: then all but the smallest are looked at.

Where C is large and the bags are separable, few rows are active at the solution, and a step that
sees only those runs far into the others. Then the weight of |w|^2 falls from almost infinity in
stages, each of which starts at the solution of the last one (`bagwise.solvers.newton` does that,
too). Single-precision products are too coarse for some of these: they are then made in double.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import KEEP, Rule
from bagwise.designs.swept import Summed, Sums
from bagwise.solvers.solution import Solution, overflow
from bagwise.tolerances import (
    INNER,
    MEMORY,
    PATIENCE,
    PROVEN,
    SMALL_GAIN,
    SUFFICIENT,
    provable_gap,
)

_STEPS_BEFORE_SHARP = 8  # or halvings: easy problems need no more, a coarse Hessian is to blame
_LIGHTER = 10**0.5  # factor from one weight of |w|^2 to the next; ten takes more passes


@dataclass(frozen=True)
class Place:
    """A point, and the sums there under the assignment of the rows; None if not swept yet."""

    coef: Array
    intercept: float
    sums: Sums | None = None

    def value(self, metric: Any) -> float:
        """Return the objective."""
        assert self.sums is not None
        return 0.5 * float((metric * self.coef) @ self.coef) + self.sums.risk


def sweep_at(rows: Summed, place: Place, rule: Rule = KEEP) -> Place:
    """Sweep the rows at a place, changing the assignment by a rule first."""
    return Place(place.coef, place.intercept, rows.sweep(place.coef, place.intercept, rule))


def origin(rows: Summed) -> Place:
    """Return w = 0, b = 0."""
    return Place(np.zeros(rows.n_coef), 0.0)


class Joined:
    """Rows in several places under one problem: their sums are added."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts, first = parts, parts[0]
        self.metric, self.rounding, self.n_coef = first.metric, first.rounding, first.n_coef

    def sweep(self, coef: Array, intercept: float, rule: Rule = KEEP) -> Sums:
        """Return the sums of all parts."""
        total = self.parts[0].sweep(coef, intercept, rule)
        for part in self.parts[1:]:
            total.add(part.sweep(coef, intercept, rule))
        return total

    def sharpen(self) -> None:
        """Keep H exact and in float64 from now on."""
        for part in self.parts:
            part.sharpen()

    def refine(self) -> bool:
        """Make all products in float64 from now on; return whether that is news."""
        news = [part.refine() for part in self.parts]
        self.rounding = self.parts[0].rounding
        return any(news)


class Descent(NamedTuple):
    """Where some Newton steps led, their number, and what the first promised of the objective."""

    place: Place
    taken: int
    promise: float


def descend(rows: Summed, place: Place, slack: float, limit: int, last: float = np.inf) -> Descent:
    """Take Newton steps until the next one promises little: a tenth of the objective, or ``slack``.

    The tenth, unless the first step promises more than ``last``, the promise one alternation ago:
    then an assignment tips over (until the promise itself is above a tenth: it has). The last step
    is not looked at (its place has no sums): whoever asks for an approximate solution changes the
    assignment next, which takes a pass, and goes on from there. A step that was looked at also ends
    it where it gained less than ``slack``, or what it promised up to that. Steps are shortened as
    in `solve_swept`.
    """
    place = place if place.sums is not None else sweep_at(rows, place)
    promise, unseen, share = np.inf, INNER, 1.0
    values = list[float]()
    for taken in range(1, limit + 1):
        step, rise, drop = place.sums.step(place.coef, rows.metric)  # type: ignore[union-attr]
        value = place.value(rows.metric)
        values.append(value)
        if taken == 1:
            promise = drop / abs(value) if value else 0.0
            unseen = slack if last < promise <= INNER else INNER
        if drop <= unseen * abs(value) or taken == limit:
            place = Place(place.coef + step, place.intercept + rise)
            break
        first, bound = min(1.0, 2 * share), max(values[-MEMORY:])
        place, share = _search(rows, place, step, rise, drop, bound, first)
        fall = value - place.value(rows.metric)
        small = slack * abs(value)
        if share == 0 or (share == 1 and (abs(fall) <= small or abs(fall - drop) <= small)):
            break
    return Descent(place, taken, promise)


def _search(
    rows: Summed,
    place: Place,
    step: Array,
    rise: float,
    drop: float,
    bound: float = -np.inf,
    share: float = 1.0,
) -> tuple[Place, float]:
    """Halve a step until the objective falls by a share of its promise; 0 if it never does.

    It falls below the objective here, or below a higher ``bound``. ``share`` is tried first.
    """
    value = place.value(rows.metric)
    bound = max(bound, value)
    for _ in range(PATIENCE):
        trial = sweep_at(rows, Place(place.coef + share * step, place.intercept + share * rise))
        new = trial.value(rows.metric)
        if new <= bound - SUFFICIENT * share * drop + rows.rounding * abs(value):
            return trial, share
        share /= 2
    return sweep_at(rows, place), 0.0


def solve_swept(rows: Summed, start: Place, max_iter: int = 2 * PATIENCE) -> Solution:
    """Solve the problem of the rows' present assignment, with its certificate.

    ``converged`` is True if the duality gap is as small as the precision of the rows allows. Where
    steps have to be shortened often, or lead nowhere, products are made in float64, and where that
    does not help, the steps go along a path of easier problems.
    """
    steps = _Steps(rows)
    best, gap = steps.take(start, max_iter, _STEPS_BEFORE_SHARP)
    if not steps.is_proven(best, gap) and rows.refine():
        best, gap = steps.take(Place(best.coef, best.intercept), max_iter, _STEPS_BEFORE_SHARP)
    if not steps.is_proven(best, gap):
        found = steps.take(steps.follow_path(), max_iter)
        best, gap = min((best, gap), found, key=itemgetter(1))
    return _solution(rows, best, gap, steps.enough, steps.history)


class _Heavier:
    """Rows under a problem whose |w|^2 weighs more."""

    def __init__(self, rows: Summed, weight: float) -> None:
        self.metric, self.sweep, self.rounding = weight * rows.metric, rows.sweep, rows.rounding


class _Steps:
    """Newton steps on some rows, with one history."""

    def __init__(self, rows: Summed) -> None:
        self.rows, self.history = rows, list[dict[str, float]]()

    @property
    def enough(self) -> float:
        """The relative gap that the precision of the rows allows."""
        return provable_gap(self.rows.rounding)

    def is_proven(self, place: Place, gap: float) -> bool:
        """Return whether a gap is small enough, or not a number (which no step would change)."""
        return not gap > self.enough * place.value(self.rows.metric)

    def take(self, place: Place, limit: int, waste: float = np.inf) -> tuple[Place, float]:
        """Take steps until the gap is small; return the place with the smallest one, and it.

        Every halving of a step wastes a pass. So a step is halved only if the objective would
        exceed all of its last three values, and the next one is tried at no more than twice the
        share of the last. After too much waste nothing more is tried.
        """
        rows = self.rows
        place = place if place.sums is not None else sweep_at(rows, place)
        best, gap, share = place, _gap(rows, place), 1.0
        values = [place.value(rows.metric)]
        goal = max(PROVEN, INNER * rows.rounding)  # float32 scores have no more digits
        for taken in range(limit):
            if not gap > goal * best.value(rows.metric) or waste < 0:
                break
            if taken == _STEPS_BEFORE_SHARP:
                rows.sharpen()
                place = sweep_at(rows, place)
            first = min(1.0, 2 * share) or 1.0
            place, share = self._step(rows, place, max(values[-MEMORY:]), first)
            waste -= np.log2(first / share) if share else PATIENCE
            values.append(place.value(rows.metric))
            new = self.history[-1]["gap"]
            stalled = abs(values[-2] - values[-1]) <= rows.rounding * abs(values[-2])
            if new < gap:
                best, gap = place, new
            if (share == 0 or stalled) and taken >= _STEPS_BEFORE_SHARP:
                break
            if stalled and gap <= self.enough * values[-2]:
                break
        return best, gap

    def follow_path(self) -> Place:
        """Go from w = 0 along the solutions of problems whose |w|^2 weighs less and less.

        Where few rows are active (large C, separable bags), a Newton step knows nothing of those
        that it will meet. From the solution of a slightly heavier problem it meets few. The sums
        of a pass are those of any weight.
        """
        rows = self.rows
        rows.sharpen()
        place = sweep_at(rows, origin(rows))
        assert place.sums is not None
        total = np.broadcast_to(rows.metric, place.coef.shape).sum()
        weight = float(place.sums.hessian.diagonal().sum() / total)
        while weight > 1:
            place, weight = self._near(_Heavier(rows, weight), place), weight / _LIGHTER
        return place

    def _near(self, rows: Any, place: Place) -> Place:
        """Take steps until the next one promises little."""
        values, share = list[float](), 1.0
        for _ in range(_STEPS_BEFORE_SHARP):
            values.append(place.value(rows.metric))
            _, _, drop = place.sums.step(place.coef, rows.metric)  # type: ignore[union-attr]
            if drop <= SMALL_GAIN * values[-1] or share == 0:
                break
            place, share = self._step(rows, place, max(values[-MEMORY:]), min(1.0, 2 * share))
        return place

    def _step(self, rows: Any, place: Place, bound: float, first: float) -> tuple[Place, float]:
        """Take one step, and record it."""
        assert place.sums is not None
        step = place.sums.step(place.coef, rows.metric)
        place, share = _search(rows, place, *step, bound, first)
        objective, gap = place.value(self.rows.metric), _gap(self.rows, place)
        self.history.append({"objective": objective, "gap": gap, "step": share})
        return place, share


def _gap(rows: Summed, place: Place) -> float:
    assert place.sums is not None
    return place.value(rows.metric) - place.sums.dual_objective(rows.metric)


def _solution(
    rows: Summed, place: Place, gap: float, enough: float, history: list[dict[str, float]]
) -> Solution:
    objective = place.value(rows.metric)
    if not (np.isfinite(objective) and np.isfinite(gap)):
        raise overflow(objective, gap)
    sums = place.sums
    assert sums is not None
    missing = (sums.rise - sums.fall) / rows.metric - place.coef
    return Solution(
        coef=place.coef,
        intercept=place.intercept,
        scores=np.empty(0),
        dual=np.empty(0),
        objective=objective,
        gap=max(gap, 0.0),
        residual=max(
            float(np.sqrt((rows.metric * missing) @ missing)), abs(sums.rises - sums.falls)
        ),
        n_iter=len(history),
        converged=bool(gap <= enough * (objective + rows.rounding)),
        history=history,
    )
