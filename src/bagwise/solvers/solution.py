"""What every solver returns: a point, its dual variables, and a bound on its suboptimality."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from bagwise._typing import Array
from bagwise.designs import Point
from bagwise.errors import SCALE, Message
from bagwise.problems import Problem
from bagwise.tolerances import COARSE, NOTHING, ROUNDING


@dataclass(frozen=True)
class Solution:
    """A point with its certificate.

    Attributes
    ----------
    coef, intercept : ndarray, float
        The weight vector in the design's own coordinates, and the intercept.
    scores : ndarray of shape (n_rows,)
        Scores of the training rows, intercept included.
    dual : ndarray of shape (n_rows,)
        beta = beta+ - beta-.
    objective : float
        The primal value P.
    gap : float
        Duality gap P - D >= P - P*: a proven bound on the distance from the optimum. Where rounding
        leaves it without meaning, the bound of `bagwise.solvers.pieces`, which counts rounding but
        is no interval arithmetic.
    residual : float
        KKT residual max(|w - Phi'beta|, |sum beta|).
    n_iter : int
        Number of solver steps.
    converged : bool
        Whether the solver met its own tolerance.
    history : list of dict
        One record per step.
    at_zero : float
        The objective of w = 0 and b = 0; 0 where the solver does not say.
    """

    coef: Array
    intercept: float
    scores: Array
    dual: Array
    objective: float
    gap: float
    residual: float
    n_iter: int
    converged: bool
    history: list[dict[str, float]] = field(default_factory=list, repr=False)
    at_zero: float = 0.0

    @property
    def point(self) -> Point:
        """The solution as a starting point."""
        return Point(self.coef, self.intercept, self.scores - self.intercept)

    def add_constant(self, constant: float) -> Solution:
        """Return the solution with a constant added to the objective."""
        return replace(self, objective=self.objective + constant)


def is_in_doubt(
    objective: float,
    gap: float,
    *,
    converged: bool,
    stopped: bool = False,
    tol: float = NOTHING,
    at_zero: float = 0.0,
) -> bool:
    """Return whether a result deserves a ``ConvergenceWarning``: the one place that decides.

    It does if a limit ``stopped`` the loop around the solver, or if the gap is not a small part of
    the objective. A solver that met its own tolerance knows what the precision of the rows allows,
    which excuses a gap of ``tol`` and no more: one as large as the objective proves nothing,
    whatever the weights and the precision.

    The exception is a gap that is rounding beside both the objective of w = 0, ``at_zero``, and 1:
    all margins are met to the last digit, as in separable rows of large features, and no double
    can tell more. Small weights lower this floor with ``at_zero``, and large ones do not raise it.
    """
    part = tol if converged else min(tol, COARSE)
    return stopped or not gap <= max(part * abs(objective), ROUNDING * min(at_zero, 1.0))


def overflow(objective: float, gap: float) -> FloatingPointError:
    """Return the error about values that left the range of numbers."""
    what = f"The solver overflowed: objective {objective}, duality gap {gap}. "
    remedies = ("Scale the features with ", SCALE, ", lower C, or use float64.")
    return FloatingPointError(Message(what, *remedies))


def certify(
    problem: Problem, point: Point, up: Array, down: Array, *, n_iter: int, converged: bool
) -> Solution:
    """Measure a point and its duals, and return them as a `Solution`."""
    objective = problem.objective(point)
    near = point if problem.design.proves_itself else None
    with np.errstate(over="ignore"):
        gap = objective - problem.dual_objective(up, down, near)
    if not np.isfinite(objective) or np.isnan(gap):
        raise overflow(objective, gap)
    return Solution(
        coef=point.coef,
        intercept=point.intercept,
        scores=point.scores + point.intercept,
        dual=up - down,
        objective=objective,
        gap=float(np.clip(gap, 0.0, objective)),  # losses and norms are not negative: P* >= 0
        residual=problem.residual(point, up - down),
        n_iter=n_iter,
        converged=converged,
        at_zero=problem.risk(np.zeros_like(point.scores)),
    )
