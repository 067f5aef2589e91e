"""Rows given by their kernel matrix: coefficients are dual, w = sum_k coef_k phi(x_k)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.designs.base import Design, Point, rounding_of
from bagwise.designs.inverse import PreparedInverse, block_of
from bagwise.designs.ridge import solve_dual

_MANY_ROWS = 1000  # below, numba takes longer to load than its products save


class DualRows(Design):
    """Rows whose coefficients are dual: w = sum_k coef_k phi(x_k)."""

    cost_is_cubic = True

    def adjoint(self, dual: Array) -> Array:
        """Return dual: it is its own representation."""
        return dual

    def squared_norm(self, coef: Array, scores: Array | None = None) -> float:
        """Return coef' K coef."""
        return float(coef @ (self @ coef if scores is None else scores))

    def inner(self, many: Array, coef: Array) -> Array:
        """Return many K coef."""
        return many @ (self @ coef)

    def lift(self, weights: Any, coef: Array) -> Array:
        """Spread the coefficients of combinations over their rows."""
        return weights.T @ coef


class Gram(DualRows):
    """A symmetric positive semi-definite kernel matrix.

    A ridge problem factors the rows with curvature. `prepare(s0)` inverts the system with curvature
    s0 on all rows once; a problem that differs from it in few rows R then costs one factor of size
    |R|. The smaller of the two factors is computed.
    """

    def __init__(self, K: Array) -> None:
        self.K = K
        self.n_rows = self.n_coef = K.shape[0]
        self.rounding = rounding_of(K.dtype)
        self._inverse: PreparedInverse | None = None

    def products(self, rows: Array | None = None) -> Array:
        """Return K, or its block of some rows."""
        return self.K if rows is None else self.K[np.ix_(rows, rows)]

    def __matmul__(self, coef: Array) -> Array:
        """Return K coef."""
        used = np.flatnonzero(coef)
        if self.n_rows > _MANY_ROWS and self.K.flags.c_contiguous:
            return self._plus_rows(np.zeros(self.n_rows), used, coef[used])
        if 2 * len(used) < len(coef):
            # Symmetric: rows are contiguous, columns are not.
            return coef[used] @ self.K[used]
        return self.K @ coef  # summed in float64 whatever K is: large C would show its rounding

    def _plus_rows(self, scores: Array, rows: Array, factors: Array) -> Array:
        """Add combined rows of K to scores, in place; without a copy of the rows."""
        from bagwise.designs._products import add_rows

        add_rows(self.K, rows, factors, scores)
        return scores

    def norm_bound(self, coef: Array) -> float:
        """Return sum_k |coef_k| |phi_k| >= |w|, without a product."""
        return float(np.abs(coef) @ self.root_diagonal)

    @cached_property
    def root_diagonal(self) -> Array:
        """The norms |phi_k| of the rows."""
        return np.sqrt(np.maximum(self.K.diagonal(), 0).astype(np.float64))

    def weighted_ridge(self, curvature: Array, target: Array, current: Point, atol: float) -> Point:
        """Factor the active rows, or correct the prepared inverse."""
        active = np.flatnonzero(curvature)
        if len(active) == 0:
            return Point(np.zeros(self.n_coef), current.intercept, np.zeros(self.n_rows))
        prepared = self._inverse
        if prepared is not None:
            share = curvature[prepared.rows] / prepared.root**2
            changed = np.flatnonzero(np.abs(1 - share) > 4 * self.rounding)
            # More curvature than was prepared cannot be corrected.
            within = np.count_nonzero(share) == len(active) and share.max() <= 1 + 4 * self.rounding
            if within and len(changed) <= len(active):
                return self._correct(prepared, share, target, changed)
        sub = self.K if len(active) == self.n_rows else block_of(self.K, active, active)
        beta, intercept = solve_dual(sub, curvature[active], target[active])
        coef = np.zeros(self.n_coef)
        coef[active] = beta
        return Point(coef, intercept, self @ coef)

    def _correct(
        self, prepared: PreparedInverse, share: Array, target: Array, changed: Array
    ) -> Point:
        beta, intercept, scores = prepared.ridge(share, target[prepared.rows], changed)
        if len(beta) == self.n_rows:
            return Point(beta, intercept, scores)
        coef = np.zeros(self.n_coef)
        coef[prepared.rows] = beta
        return Point(coef, intercept, self @ coef)

    def prepare(self, curvature: Array) -> None:
        """Invert the system with this curvature."""
        self._keep(PreparedInverse.of(self.K, curvature))

    def _keep(self, inverse: PreparedInverse) -> Gram:
        self._inverse, self.prepared = inverse, True
        return self

    def twin(self) -> Gram:
        """Return the same kernel matrix, sharing the prepared inverse."""
        twin = Gram(self.K)
        return twin if self._inverse is None else twin._keep(self._inverse)

    def astype(self, dtype: Any) -> Gram:
        """Return the same kernel matrix, and what was prepared, in another precision."""
        other = Gram(self.K.astype(dtype, copy=False))
        return other if self._inverse is None else other._keep(self._inverse.astype(dtype))

    def subset(self, rows: Array) -> Gram:
        """Return the design of some rows (sorted); a prepared inverse is restricted to them."""
        part = Gram(block_of(self.K, rows, rows))
        return part if self._inverse is None else part._keep(self._inverse.subset(rows))

    def aggregate(self, weights: Any) -> Design:
        """Return the kernel between combinations of rows."""
        return Gram(weights @ (weights @ self.K).T)

    def fresh(self) -> Design:
        """Return the same kernel matrix without the prepared inverse."""
        return Gram(self.K)
