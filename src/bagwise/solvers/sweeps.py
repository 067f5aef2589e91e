"""Primal Newton on rows that are only ever swept: one pass over them per step.

The problem is that of `bagwise.solvers.newton` with the squared hinge, at the assignment that the
rows hold. A pass at a point returns the sums of the next step and the duality gap of this one. A
step that its quadratic promises little of is taken without a look: the next pass, which changes the
assignment anyway, starts from there. As long as alternation converges, the promises shrink, and
what such a step missed is made up for. Where they grow, an assignment tips over to one side or
another, and which one depends on the step: then all but the smallest are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.rules import KEEP, Rule
from bagwise.designs.swept import Summed, Sums
from bagwise.solvers.solution import Solution, overflow

_HALVINGS = 30  # 2^-30 of a step is below the rounding of the objective
_MEMORY = 3  # recent objectives whose maximum bounds a step, as in `bagwise.solvers.newton`
_FAIR_SHARE = 1e-3  # of the promised decrease: any small number stops a cycle of equal objectives
_PROVEN = 1e-9  # relative gap that counts as converged
_STEPS_BEFORE_SHARP = 8  # exact Newton needs about as many: then a coarse Hessian is to blame
_MOST_STEPS = 60
_UNSEEN = 0.1  # of the objective: a step that promises less is taken without a look


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


def swept(rows: Summed, place: Place, rule: Rule = KEEP) -> Place:
    """Sweep the rows at a place, changing the assignment by a rule first."""
    return Place(place.coef, place.intercept, rows.sweep(place.coef, place.intercept, rule))


def origin(rows: Summed) -> Place:
    """Return w = 0, b = 0."""
    return Place(np.zeros(rows.n_coef), 0.0)


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
    it where it gained less than ``slack``, or what it promised up to that.
    """
    place = place if place.sums is not None else swept(rows, place)
    promise, unseen = np.inf, _UNSEEN
    for taken in range(1, limit + 1):
        step, rise, drop = place.sums.step(place.coef, rows.metric)  # type: ignore[union-attr]
        value = place.value(rows.metric)
        if taken == 1:
            promise = drop / abs(value) if value else 0.0
            unseen = slack if last < promise <= _UNSEEN else _UNSEEN
        if drop <= unseen * abs(value) or taken == limit:
            place = Place(place.coef + step, place.intercept + rise)
            break
        place, share = _searched(rows, place, step, rise, drop)
        fall = value - place.value(rows.metric)
        small = slack * abs(value)
        if share == 0 or (share == 1 and (abs(fall) <= small or abs(fall - drop) <= small)):
            break
    return Descent(place, taken, promise)


def _searched(
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
    for _ in range(_HALVINGS):
        trial = swept(rows, Place(place.coef + share * step, place.intercept + share * rise))
        new = trial.value(rows.metric)
        if new <= bound - _FAIR_SHARE * share * drop + rows.rounding * abs(value):
            return trial, share
        share /= 2
    return swept(rows, place), 0.0


def solve_swept(rows: Summed, start: Place, max_iter: int = _MOST_STEPS) -> Solution:
    """Solve the problem of the rows' present assignment, with its certificate.

    ``converged`` is True if the duality gap is as small as the precision of the rows allows. Every
    halving of a step takes a pass. So a step is halved only if the objective would exceed all of
    its last three values, and the next one is tried at no more than twice the share of the last.
    """
    place = start if start.sums is not None else swept(rows, start)
    history: list[dict[str, float]] = []
    best, gap, share = place, _gap(rows, place), 1.0
    values = [place.value(rows.metric)]
    enough = max(_PROVEN, min(1e3 * rows.rounding, 1e-4))
    goal = max(_PROVEN, 0.1 * rows.rounding)  # float32 scores have no more digits
    while len(history) < max_iter and gap > goal * best.value(rows.metric):
        if len(history) == _STEPS_BEFORE_SHARP:
            rows.sharpen()
            place = swept(rows, place)
        step, rise, drop = place.sums.step(place.coef, rows.metric)  # type: ignore[union-attr]
        value = place.value(rows.metric)
        first = min(1.0, 2 * share) or 1.0
        place, share = _searched(rows, place, step, rise, drop, max(values[-_MEMORY:]), first)
        values.append(place.value(rows.metric))
        new = _gap(rows, place)
        history.append({"objective": place.value(rows.metric), "gap": new, "step": share})
        stalled = abs(value - place.value(rows.metric)) <= rows.rounding * abs(value)
        if new < gap:
            best, gap = place, new
        if (share == 0 or stalled) and len(history) > _STEPS_BEFORE_SHARP:
            break
        if stalled and gap <= enough * value:
            break
    return _solution(rows, best, gap, enough, history)


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
