"""Rows known by their kernel values only: coefficients are dual, w = sum_k coef_k phi(x_k)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve
from scipy.linalg.lapack import get_lapack_funcs

from bagwise.designs.base import Design, Point, rounding_of
from bagwise.designs.ridge import factor_in_place, solve_dual

Array = NDArray[Any]


class Base(NamedTuple):
    """P = (I + S0^1/2 K S0^1/2)^-1 on the rows that may ever carry curvature."""

    rows: Array
    root: Array  # S0^1/2
    inverse: Array  # P


class Gram(Design):
    """A symmetric positive semi-definite kernel matrix.

    A ridge problem factors the rows that carry curvature. After `prepare(s0)` the problem with
    curvature s0 everywhere is inverted once; a problem that differs from it in few rows R then
    costs one factor of size |R|. Whichever is smaller is taken.
    """

    def __init__(self, K: Array) -> None:
        self.K = K
        self.n_rows = self.n_coef = K.shape[0]
        self.rounding = rounding_of(K.dtype)
        self._base: Base | None = None

    def __matmul__(self, coef: Array) -> Array:
        """Return K coef."""
        used = np.flatnonzero(coef)
        if 2 * len(used) < len(coef):
            # Symmetric: rows are contiguous where columns are not.
            product = coef[used].astype(self.K.dtype) @ self.K[used]
        else:
            product = self.K @ coef.astype(self.K.dtype)
        return product.astype(np.float64)

    def adjoint(self, dual: Array) -> Array:
        """Return dual: it is its own representation."""
        return dual

    def squared_norm(self, coef: Array, scores: Array | None = None) -> float:
        """Return coef' K coef."""
        return float(coef @ (self @ coef if scores is None else scores))

    def weighted_ridge(
        self, curvature: Array, target: Array, current: Point, atol: float
    ) -> tuple[Array, float]:
        """Factor the active rows, or correct the prepared inverse."""
        active = np.flatnonzero(curvature)
        if len(active) == 0:
            return np.zeros(self.n_coef), current.intercept
        coef = np.zeros(self.n_coef)
        base = self._base
        if base is not None:
            share = curvature[base.rows] / base.root**2
            changed = np.flatnonzero(np.abs(1 - share) > 1e-14)
            if len(changed) < 0.8 * len(active):
                beta, intercept = _corrected(base, share, target[base.rows], changed)
                coef[base.rows] = beta
                return coef, intercept
        sub = self.K if len(active) == self.n_rows else self.K[np.ix_(active, active)]
        beta, intercept = solve_dual(sub, curvature[active], target[active])
        coef[active] = beta
        return coef, intercept

    def prepare(self, curvature: Array) -> None:
        """Invert the problem that has this curvature on every row."""
        rows = np.flatnonzero(curvature)
        root = np.sqrt(curvature[rows]).astype(self.K.dtype)
        system = (self.K if len(rows) == self.n_rows else self.K[np.ix_(rows, rows)]) * root
        system *= root[:, None]
        system.flat[:: len(rows) + 1] += 1
        self._base = Base(rows, root, _inverse(system))
        self.prepared = True

    def aggregate(self, weights: Any) -> Design:
        """Return the kernel between combinations of rows."""
        return Gram(weights @ (weights @ self.K).T)

    def lift(self, weights: Any, coef: Array) -> Array:
        """Spread the coefficients of combinations over their rows."""
        return weights.T @ coef

    def fresh(self) -> Design:
        """Return the same kernel matrix without the prepared inverse."""
        return Gram(self.K)


def _inverse(system: Array) -> Array:
    """Invert a positive definite matrix in place (potrf + potri)."""
    factor, lower = factor_in_place(system.T)
    (potri,) = get_lapack_funcs(("potri",), (factor,))
    inverse, info = potri(factor, lower=lower, overwrite_c=True)
    if info != 0:
        raise np.linalg.LinAlgError(f"potri failed with info = {info}.")
    strict = np.tri(len(inverse), k=-1, dtype=bool)
    return np.where(strict, inverse, inverse.T)


def _corrected(base: Base, share: Array, target: Array, changed: Array) -> tuple[Array, float]:
    """Solve the ridge problem whose curvature is ``share`` of the base's (share <= 1).

    With q = share S0^1/2 t, e = 1 - share on the changed rows R, y = q + g where g lives on R and
    (I - e^1/2 (I - P_RR) e^1/2) e^-1/2 g = e^1/2 (q - P q)_R; then beta = S0^1/2 P y. The same
    with t = 1 gives the intercept's column.
    """
    root, inverse = base.root, base.inverse
    q = np.column_stack([share * root * target, share * root])
    y = q.copy()
    if len(changed):
        e = np.sqrt(np.maximum(1 - share[changed], 0.0))
        small = inverse[np.ix_(changed, changed)] * e
        small *= e[:, None]
        small.flat[:: len(changed) + 1] += share[changed]
        factor = factor_in_place(small)
        right = e[:, None] * (q - inverse @ q)[changed]
        y[changed] += e[:, None] * cho_solve(factor, right, check_finite=False)
    # P y = q - share (y - P y); the right-hand form is exactly zero where the share is.
    duals = root[:, None] * (q - share[:, None] * (y - inverse @ y))
    intercept = float(duals[:, 0].sum() / duals[:, 1].sum())  # sum beta = 0
    return np.asarray(duals[:, 0] - intercept * duals[:, 1], dtype=np.float64), intercept
