"""The weighted two-sided problem that most max-margin methods reduce to, and its solution.

    P(w, b) = 1/2|w|^2 + sum_k [ a_k l(z_k) + c_k l(-z_k) ],   z = Phi w + b,

where a_k and c_k are the weights of the labels +1 and -1 of row k (they include C). Both labels of
an instance share one row. For any split beta = beta+ - beta- with sum beta = 0 (b is not
penalized), the dual is

    D = -1/2|Phi'beta|^2 - sum_k [ a_k l*(-beta+_k / a_k) + c_k l*(-beta-_k / c_k) ],

so the duality gap P - D bounds the distance from the optimum: it is the certificate. A row may
require a margin m_k other than 1: its losses are then l(+-z_k + 1 - m_k), and
sum_k (beta+_k + beta-_k) (1 - m_k) is subtracted from D.

Of numbers, a row has a target y_k: z = Phi w + b - y, so that a_k weighs predicting too little and
c_k predicting too much, and beta.y is added to D. With the squared hinge and the margin -epsilon
the losses are max(0, |z_k| - epsilon)^2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from bagwise._typing import Array
from bagwise.designs import Design, Point
from bagwise.errors import SCALE, Message
from bagwise.losses import Loss, PiecewiseQuadratic
from bagwise.tolerances import COARSE, NOTHING, ROUNDING

__all__ = ["Problem", "Solution", "certify", "is_in_doubt", "overflow"]


@dataclass(frozen=True)
class Problem:
    """A design, a loss, and two weights per row."""

    design: Design
    positive: Array  # a, (n_rows,)
    negative: Array  # c, (n_rows,)
    loss: Loss
    margin: Array | None = None  # (n_rows,), required instead of 1
    target: Array | None = None  # y, (n_rows,), taken off the scores

    def on(self, design: Design) -> Problem:
        """Return the same problem on another design with as many rows."""
        return replace(self, design=design)

    def risk(self, z: Array) -> float:
        """Return the weighted sum of losses at the scores z (intercept included)."""
        positive = self.positive @ self.loss.value(self._up(z))
        return float(positive + self.negative @ self.loss.value(self._down(z)))

    def _up(self, z: Array) -> Array:
        """Return the argument of the loss of the label +1: targets and margins shift it."""
        return self._at(z if self.target is None else z - self.target)

    def _down(self, z: Array) -> Array:
        """Return the argument of the loss of the label -1."""
        return self._at(-z if self.target is None else self.target - z)

    def _at(self, t: Array) -> Array:
        return t if self.margin is None else t + (1 - self.margin)

    def _pieces(self, t: Array) -> tuple[Array, Array]:
        # Only Newton's method asks. Checking the protocol would cost as much as the pieces.
        return cast(PiecewiseQuadratic, self.loss).pieces(t)

    def objective(self, point: Point) -> float:
        """Return P at a point."""
        norm = self.design.squared_norm(point.coef, point.scores)
        return 0.5 * norm + self.risk(point.scores + point.intercept)

    def quadratic(self, z: Array) -> tuple[Array, Array]:
        """Return curvature and target of each row's quadratic piece at z.

        For the squared hinge: s = 2 (a [z < 1] + c [z > -1]) and
        t = 2 (a [z < 1] - c [z > -1]) / s.
        """
        up, up_center = self._pieces(self._up(z))
        down, down_center = self._pieces(self._down(z))
        up, down = self.positive * up, self.negative * down
        curvature = up + down
        pull = up * up_center - down * down_center
        if self.margin is not None:
            pull -= (up - down) * (1 - self.margin)
        if self.target is not None:
            pull += curvature * self.target
        return curvature, np.divide(pull, curvature, out=np.zeros_like(z), where=curvature > 0)

    def duals(self, z: Array) -> tuple[Array, Array]:
        """Return beta+ and beta- at z: minus the gradients of the two losses."""
        return (
            -self.positive * self.loss.gradient(self._up(z)),
            -self.negative * self.loss.gradient(self._down(z)),
        )

    def own_duals(self, point: Point) -> tuple[Array, Array]:
        """Return beta+ and beta- whose difference is the coefficients of a point, if feasible.

        For kernel designs, where the coefficients are dual. They are closer to the optimum than
        the duals at the scores, which feel every error of a score. The two sides of a row share
        the difference in proportion to their curvatures.
        """
        z = point.scores + point.intercept
        up, down = self.duals(z)
        missing = point.coef - (up - down)
        rise = self.positive * self._pieces(self._up(z))[0]
        fall = self.negative * self._pieces(self._down(z))[0]
        idle = rise + fall == 0
        rise = np.where(idle, self.positive * (missing > 0), rise)
        fall = np.where(idle, self.negative * (missing < 0), fall)
        per_unit = np.divide(missing, rise + fall, out=np.zeros_like(z), where=rise + fall > 0)
        up, down = up + rise * per_unit, down - fall * per_unit
        if np.isinf(self.loss.conjugate(np.ones(1))[0]):
            return np.maximum(up, 0), np.maximum(down, 0)
        return up, down

    def residual(self, point: Point, dual: Array) -> float:
        """Return the KKT residual max(|w - Phi'beta|, |sum beta|), or an upper bound."""
        norm = self.design.norm_bound(point.coef - self.design.adjoint(dual))
        return max(norm, abs(float(dual.sum())))

    def residual_at(self, point: Point) -> float:
        """Return the KKT residual of a point with the duals at its scores."""
        up, down = self.duals(point.scores + point.intercept)
        return self.residual(point, up - down)

    def dual_objective(self, up: Array, down: Array, near: Point | None = None) -> float:
        """Return D at beta+ = up, beta- = down, after making them feasible.

        With a point of a kernel design near which beta lies, return a lower bound on D that needs
        no product.
        """
        up, down = _balance(up, down)
        dual = self.design.adjoint(up - down)
        if near is None:
            norm = self.design.squared_norm(dual)
        else:
            step = dual - near.coef
            norm = float((near.coef + 2 * step) @ near.scores) + self.design.norm_bound(step) ** 2
        conjugates = _conjugate(self.loss, up, self.positive)
        conjugates += _conjugate(self.loss, down, self.negative)
        if self.margin is not None:
            conjugates += float((up + down) @ (1 - self.margin))
        if self.target is not None:
            conjugates -= float((up - down) @ self.target)
        return float(-0.5 * norm - conjugates)


def _balance(up: Array, down: Array) -> tuple[Array, Array]:
    """Shrink duals until sum beta is 0; the domain of l* contains 0, so they stay inside it."""
    rise = np.maximum(up, 0).sum() + np.maximum(-down, 0).sum()
    fall = np.maximum(-up, 0).sum() + np.maximum(down, 0).sum()
    least = min(rise, fall)
    less_rise, less_fall = (least / side if side > 0 else 1.0 for side in (rise, fall))
    return (
        np.where(up > 0, less_rise, less_fall) * up,
        np.where(down > 0, less_fall, less_rise) * down,
    )


def _conjugate(loss: Loss, dual: Array, weight: Array) -> float:
    """Return sum_k weight_k l*(-dual_k / weight_k); rows without weight have no dual."""
    used = weight > 0
    return float(weight[used] @ loss.conjugate(-dual[used] / weight[used]))


@dataclass(frozen=True)
class Solution:
    """A point with its certificate."""

    coef: Array  # the weight vector in the design's own coordinates
    intercept: float
    scores: Array  # of the training rows, intercept included, (n_rows,)
    dual: Array  # beta = beta+ - beta-, (n_rows,)
    objective: float  # the primal value P
    # Duality gap P - D >= P - P*: a proven bound on the distance from the optimum. Where rounding
    # leaves it without meaning, the bound of `bagwise.solvers.pieces`, which counts rounding but is
    # no interval arithmetic.
    gap: float
    residual: float  # of the KKT conditions: max(|w - Phi'beta|, |sum beta|)
    n_iter: int  # number of solver steps
    converged: bool  # whether the solver met its own tolerance
    history: list[dict[str, float]] = field(default_factory=list, repr=False)  # a record per step
    at_zero: float = 0.0  # the objective of w = 0 and b = 0; 0 where the solver does not say

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
