"""The weighted two-sided problem that most of the max-margin methods come down to.

    P(w, b) = 1/2|w|^2 + sum_k [ a_k l(z_k) + c_k l(-z_k) ],   z = Phi w + b,

with a_k the weight of label +1 and c_k the weight of label -1 of row k (C is inside the weights).
Both labels of an instance share one row. Its dual, for any split beta = beta+ - beta- with
sum beta = 0 (b is not penalised), is

    D = -1/2|Phi'beta|^2 - sum_k [ a_k l*(-beta+_k / a_k) + c_k l*(-beta-_k / c_k) ],

so P - D bounds the distance from the optimum: the certificate. A row may ask for a margin m_k other
than 1: its losses are then l(+-z_k + 1 - m_k), and D loses sum_k (beta+_k + beta-_k) (1 - m_k).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bagwise.designs import Design, Point

__all__ = ["Problem"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """A design, a loss, and the two weights of every row."""

    design: Design
    positive: Array  # a, (n_rows,)
    negative: Array  # c, (n_rows,)
    loss: Any
    margin: Array | None = None  # (n_rows,), what row k asks for instead of 1

    def on(self, design: Design) -> Problem:
        """Return the same problem on other rows of the same number."""
        return replace(self, design=design)

    def risk(self, z: Array) -> float:
        """Return the weighted sum of losses at the scores z (intercept included)."""
        positive = self.positive @ self.loss.value(self._at(z))
        return float(positive + self.negative @ self.loss.value(self._at(-z)))

    def _at(self, t: Array) -> Array:
        """Return where the loss is read: a margin other than 1 shifts it."""
        return t if self.margin is None else t + (1 - self.margin)

    def objective(self, point: Point) -> float:
        """Return P at a point."""
        norm = self.design.squared_norm(point.coef, point.scores)
        return 0.5 * norm + self.risk(point.scores + point.intercept)

    def quadratic(self, z: Array) -> tuple[Array, Array]:
        """Return curvature and target of each row's quadratic piece at z.

        For the squared hinge: s = 2 (a [z < 1] + c [z > -1]) and
        t = 2 (a [z < 1] - c [z > -1]) / s.
        """
        up, up_centre = self.loss.pieces(self._at(z))
        down, down_centre = self.loss.pieces(self._at(-z))
        up, down = self.positive * up, self.negative * down
        curvature = up + down
        pull = up * up_centre - down * down_centre
        if self.margin is not None:
            pull -= (up - down) * (1 - self.margin)
        return curvature, np.divide(pull, curvature, out=np.zeros_like(z), where=curvature > 0)

    def duals(self, z: Array) -> tuple[Array, Array]:
        """Return beta+ and beta- at z: minus the gradients of the two losses."""
        return (
            -self.positive * self.loss.gradient(self._at(z)),
            -self.negative * self.loss.gradient(self._at(-z)),
        )

    def residual(self, point: Point, dual: Array) -> float:
        """Return max(|w - Phi'beta|, |sum beta|), the KKT residual of beta = beta(z)."""
        gap = point.coef - self.design.T @ dual
        norm = self.design.squared_norm(gap)
        return max(float(np.sqrt(max(norm, 0.0))), abs(float(dual.sum())))

    def residual_at(self, point: Point) -> float:
        """Return the KKT residual of a point with its own duals."""
        up, down = self.duals(point.scores + point.intercept)
        return self.residual(point, up - down)

    def dual_objective(self, up: Array, down: Array) -> float:
        """Return D at a feasible version of beta+ = up, beta- = down."""
        up, down = _balanced(up, down)
        coef = self.design.T @ (up - down)
        norm = self.design.squared_norm(coef)
        conjugates = _conjugate(self.loss, up, self.positive)
        conjugates += _conjugate(self.loss, down, self.negative)
        if self.margin is not None:
            conjugates += float((up + down) @ (1 - self.margin))
        return float(-0.5 * norm - conjugates)


def _balanced(up: Array, down: Array) -> tuple[Array, Array]:
    """Shrink what pushes sum beta the wrong way until it is 0.

    Shrinking keeps every dual inside the domain of l*, which holds 0.
    """
    rise = np.maximum(up, 0).sum() + np.maximum(-down, 0).sum()
    fall = np.maximum(-up, 0).sum() + np.maximum(down, 0).sum()
    least = min(rise, fall)
    less_rise, less_fall = (least / side if side > 0 else 1.0 for side in (rise, fall))
    return (
        np.where(up > 0, less_rise, less_fall) * up,
        np.where(down > 0, less_fall, less_rise) * down,
    )


def _conjugate(loss: Any, dual: Array, weight: Array) -> float:
    """Return sum_k weight_k l*(-dual_k / weight_k); a row without weight has no dual."""
    used = weight > 0
    return float(weight[used] @ loss.conjugate(-dual[used] / weight[used]))
