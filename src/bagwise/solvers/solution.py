"""What every solver returns: the point, its dual, and the proof of how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.designs import Point
from bagwise.problems import Problem

__all__ = ["Solution", "certify"]

Array = NDArray[Any]


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
        P - D >= P - P*: a proven bound on the distance from the optimum.
    residual : float
        KKT residual max(|w - Phi'beta|, |sum beta|).
    n_iter : int
        Steps of the solver.
    converged : bool
        Whether the solver met its own tolerance.
    history : list of dict
        One record a step.
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

    @property
    def point(self) -> Point:
        """The solution as a starting point."""
        return Point(self.coef, self.intercept, self.scores - self.intercept)

    def shifted(self, constant: float) -> Solution:
        """Return the solution of the problem with a constant added to its objective."""
        return replace(self, objective=self.objective + constant)


def certify(
    problem: Problem,
    point: Point,
    up: Array,
    down: Array,
    *,
    n_iter: int,
    converged: bool,
    history: list[dict[str, float]] | None = None,
) -> Solution:
    """Measure a point and its duals, and return them as a `Solution`."""
    objective = problem.objective(point)
    gap = objective - problem.dual_objective(up, down)
    if not (np.isfinite(objective) and np.isfinite(gap)):
        raise FloatingPointError(
            f"The solver left the range of numbers: objective {objective}, duality gap {gap}. "
            "Scale the features, lower C, or use float64."
        )
    return Solution(
        coef=point.coef,
        intercept=point.intercept,
        scores=point.scores + point.intercept,
        dual=up - down,
        objective=objective,
        gap=float(np.maximum(gap, 0.0)),
        residual=problem.residual(point, up - down),
        n_iter=n_iter,
        converged=converged,
        history=history or [],
    )
