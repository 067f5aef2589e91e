"""Dense rows, centered and scaled on the fly, for problems with a free intercept.

Features whose offset is large beside their spread, or whose spreads differ by many orders of
magnitude, cost the digits that a certificate is made of. Here row x becomes (x - c) / s, with s
powers of two, and the coefficients u = s w: scores change by c.w, which a free intercept takes up,
and |w|^2 becomes sum_j u_j^2 / s_j^2, the diagonal `metric` that the ridge systems carry. The
problem solved stays the stated one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.base import rounding_of
from bagwise.designs.dense import Dense
from bagwise.designs.linear import matrix_design

_OFFSET = 30.0  # mean, in units of the spread, from which on centering saves three digits
_UNEVEN = 1e3  # ratio of spreads, or distance of a spread from 1, beyond which rows are scaled


class Conditioned(Dense):
    """Rows (X - center) / scale; coefficients are scale x w."""

    def __init__(self, X: Array, center: Array, scale: Array) -> None:
        super().__init__(X)
        self.center, self.scale = center, scale
        self.metric = scale**-2.0
        self.precision = np.float64
        self.rounding = rounding_of(np.float64)

    def _rows(self, key: Any) -> Array:
        return (np.asarray(self.X[key], dtype=np.float64) - self.center) / self.scale

    def _exact(self, key: Any) -> Array:
        return self._rows(key)

    def adjoint(self, dual: Array) -> Array:
        """Return scale^2 X' r over the centered, scaled rows."""
        return super().adjoint(dual) / self.metric

    def matrix(self, rows: Array) -> Any:
        """Return some rows, centered only: their products are those of the problem."""
        return self._rows(rows) * self.scale

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the rows as they were given."""
        w = coef / self.scale
        return w, intercept - float(self.center @ w)

    def subset(self, rows: Array) -> Conditioned:
        """Return the design of some rows, in the same coordinates."""
        return Conditioned(self.X[rows], self.center, self.scale)


def conditioned_design(X: Any) -> Any:
    """Return the design of rows whose intercept is free: conditioned where that saves digits."""
    if not isinstance(X, np.ndarray):
        return matrix_design(X)
    center, spread = _moments(X)
    scale = np.exp2(np.round(np.log2(np.where(spread > 0, spread, 1.0))))
    uneven = scale.max() > _UNEVEN * scale.min() or not 1 / _UNEVEN <= scale.max() <= _UNEVEN
    if uneven or np.any(np.abs(center) > _OFFSET * spread):
        return Conditioned(X, center, scale)
    return matrix_design(X)


def _moments(X: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of the features, in units that cannot overflow."""
    plain = Dense(X)
    unit = np.zeros(X.shape[1])
    for block in plain._blocks():
        unit = np.maximum(unit, np.abs(X[block]).max(axis=0))
    unit = np.where(unit > 0, np.exp2(np.floor(np.log2(np.where(unit > 0, unit, 1.0)))), 1.0)
    mean = sum(
        (np.asarray(X[block], dtype=np.float64) / unit).sum(axis=0) for block in plain._blocks()
    ) / len(X)
    square = sum(
        ((np.asarray(X[block], dtype=np.float64) / unit - mean) ** 2).sum(axis=0)
        for block in plain._blocks()
    ) / len(X)
    return mean * unit, np.sqrt(square) * unit
