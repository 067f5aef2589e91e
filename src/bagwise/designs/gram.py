"""Rows given by their kernel matrix: coefficients are dual, w = sum_k coef_k phi(x_k).

One inverse serves many ridge problems. For curvature s0 on all rows, P = (I + S0^1/2 K S0^1/2)^-1
is computed once. A problem with curvature s = share s0, share <= 1, is then solved with a factor of
the size of R = {share < 1}, without reading K. Gehler & Chapelle's annealing visits hundreds of
such problems, most of which differ from s0 in few rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from bagwise._typing import Array
from bagwise.designs.base import Design, Point, factor_in_place, solve_dual, solve_factored
from bagwise.kernels import MANY_ROWS
from bagwise.rowstores.base import CACHE_BYTES
from bagwise.tolerances import LARGEST_DENSE, rounding_of

_BLOCK = isqrt(CACHE_BYTES // 64)  # rows and columns: a few blocks of float64 fit into a cache


class Correction(NamedTuple):
    """What the ridge problems of one curvature, share x s0, have in common."""

    share: Array
    changed: Array  # rows with share < 1
    half: Array  # (1 - share)^1/2 on them
    ones: Array  # right side of the intercept's column
    factor: Array  # of the system that was factored
    solve: Callable[[Array], Array]


@dataclass
class PreparedInverse:
    """P on the rows that may have curvature."""

    rows: Array  # of the design, those with s0 > 0
    root: Array  # S0^1/2 on these rows
    inverse: Array  # P
    rooted: Array = field(init=False)  # P S0^1/2 1

    def __post_init__(self) -> None:
        self.rooted = self.inverse @ self.root

    @classmethod
    def of(cls, K: Array, curvature: Array) -> PreparedInverse:
        """Invert the ridge system with this curvature."""
        rows = np.flatnonzero(curvature)
        root = np.sqrt(curvature[rows]).astype(K.dtype)
        system = (K if len(rows) == len(K) else block_of(K, rows, rows)) * root
        system *= root[:, None]
        system.flat[:: len(rows) + 1] += 1
        return cls(rows, root, _invert(system))

    def subset(self, rows: Array) -> PreparedInverse:
        """Return P for some rows of the design (sorted), by a Schur complement.

        (I + K_AA)^-1 = P_AA - P_AB P_BB^-1 P_BA.
        """
        is_kept = np.isin(self.rows, rows)
        keep, dropped = np.flatnonzero(is_kept), np.flatnonzero(~is_kept)
        kept = block_of(self.inverse, keep, keep)
        if len(dropped):
            border = self.inverse.take(dropped, axis=0)
            factor, _ = factor_in_place(border.take(dropped, axis=1).T)
            across = border.take(keep, axis=1)
            half = solve_triangular(factor, across, lower=True, check_finite=False)
            (syrk,) = get_blas_funcs(("syrk",), (half,))
            kept = _mirror(syrk(-1.0, half, beta=1.0, c=kept.T, trans=1, lower=1, overwrite_c=1))
        return PreparedInverse(np.searchsorted(rows, self.rows[keep]), self.root[keep], kept)

    def correct(self, share: Array, changed: Array) -> Correction:
        """Factor the system of the changed rows R = {share < 1}, e = 1 - share:

        (I - e^1/2 (I - P_RR) e^1/2) e^-1/2 g = e^1/2 (q - P q)_R.
        """
        block = block_of(self.inverse, changed, changed)
        e = 1 - share[changed]
        # For q = share root, (P q)_R = (P root)_R - P_RR (e root)_R.
        far = self.rooted[changed] - block @ (e * self.root[changed]).astype(block.dtype)
        half = np.sqrt(e).astype(block.dtype)
        ones = half * (share[changed] * self.root[changed] - far)
        block *= half
        block *= half[:, None]
        block.flat[:: len(changed) + 1] += share[changed]
        # LAPACK does not take empty matrices.
        factor = factor_in_place(block.T) if len(changed) else (block, True)
        solve = partial(solve_factored, factor) if len(changed) else np.asarray
        return Correction(share, changed, half, ones, factor[0], solve)

    def border(self, known: Correction, share: Array, changed: Array) -> Correction:
        """Return the correction for other rows without curvature, with the factor of the known one.

        All shares are 0 or 1, so that P_RR g = (q - P q)_R. Rows that enter R border P_RR; those
        that leave it border it as constraints g = 0. What is left is a system of their number.
        """
        was, now = known.share == 0, share == 0
        enter, stay, new = np.flatnonzero(now & ~was), now[known.changed], ~was[changed]
        n_enter, left = len(enter), np.flatnonzero(~stay)
        across = np.zeros((n_enter + len(left), len(stay)), self.inverse.dtype).T
        rows = self.inverse.take(enter, axis=0)
        across[:, :n_enter] = rows.take(known.changed, axis=1).T
        across[left, n_enter + np.arange(len(left))] = 1
        forward = partial(solve_triangular, known.factor, lower=True, check_finite=False)
        across = forward(across)
        small = -across.T @ across
        small[:n_enter, :n_enter] += rows.take(enter, axis=1)

        def solve(right: Array) -> Array:
            top, beside = np.zeros((2, len(stay)), right.dtype).T, np.zeros((len(small), 2))
            top[stay], beside[:n_enter] = right[~new], right[new]
            top = forward(top)
            beside = np.linalg.solve(small, beside - across.T @ top)
            top = forward(top - across @ beside, trans=1)
            right[~new], right[new] = top[stay], beside[:n_enter]
            return right

        ones = (self._times(np.where(now, self.root, 0.0)) - self.rooted)[changed]
        return Correction(share, changed, np.ones(len(changed)), ones, known.factor, solve)

    def ridge(self, part: Correction, target: Array) -> tuple[Array, float, Array]:
        """Solve the ridge problem with curvature share x s0; return beta, b and the scores K beta.

        With q = share S0^1/2 t the solution is beta = S0^1/2 P y, y = q + g, where g is zero
        outside R. The same with t = 1 gives the column of the intercept, and sum beta = 0 the
        intercept.
        """
        share, changed = part.share, part.changed
        q, ones = share * self.root * target, share * self.root
        far = self._times(q)[changed]
        right = np.stack([part.half * (q[changed] - far), part.ones]).T
        g, g_ones = (part.half[:, None] * part.solve(right)).T
        near = self.rooted[changed]
        intercept = float((self.rooted @ q + near @ g) / (self.rooted @ ones + near @ g_ones))
        y = q - intercept * ones
        pull = y.copy()
        y[changed] += g - intercept * g_ones
        fitted = y - self._times(y)
        # P y = pull - share fitted; this form is exactly zero where the share is zero.
        dual = self.root * (pull - share * fitted)
        return dual.astype(np.float64), intercept, (fitted / self.root).astype(np.float64)

    def _times(self, y: Array) -> Array:
        """Return P y, reading one triangle of P only."""
        (symv,) = get_blas_funcs(("symv",), (self.inverse,))
        return symv(1.0, self.inverse.T, y)


def block_of(matrix: Array, rows: Array, columns: Array) -> Array:
    """Return some rows and columns; twice as fast as one two-dimensional index."""
    return matrix.take(rows, axis=0).take(columns, axis=1)


def double_block(matrix: Array, rows: Array, columns: Array, out: Array | None = None) -> Array:
    """Return some rows and columns in float64, without a copy of whole rows."""
    from bagwise.designs._products import gather_block

    out = np.empty((len(rows), len(columns))) if out is None else out
    gather_block(matrix, rows, columns, out)
    return out


def _invert(system: Array) -> Array:
    """Invert a positive definite matrix in place (potrf + potri)."""
    factor, lower = factor_in_place(system.T)
    (potri,) = get_lapack_funcs(("potri",), (factor,))
    inverse, info = potri(factor, lower=lower, overwrite_c=True)
    if info != 0:
        raise np.linalg.LinAlgError(f"potri failed with info = {info}.")
    return _mirror(inverse)


def _mirror(matrix: Array) -> Array:
    """Copy the lower triangle to the upper one, block by block; return it C-contiguous."""
    for i in range(0, len(matrix), _BLOCK):
        j = i + _BLOCK
        matrix[i:j, j:] = matrix[j:, i:j].T
        corner = matrix[i:j, i:j]
        corner[:] = np.tril(corner) + np.tril(corner, -1).T
    return matrix.T  # symmetric: the same matrix


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
        self._known: Correction | None = None
        self._bordered = 0.0  # operations spent on bordering it

    def products(self, rows: Array | None = None) -> Array:
        """Return K, or its block of some rows."""
        return self.K if rows is None else self.K[np.ix_(rows, rows)]

    def __matmul__(self, coef: Array) -> Array:
        """Return K coef."""
        used = np.flatnonzero(coef)
        if self.n_rows > LARGEST_DENSE and self.K.flags.c_contiguous:
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
            part = self._correction(prepared, share, changed) if within else None
            if part is not None:
                beta, intercept, scores = prepared.ridge(part, target[prepared.rows])
                if len(beta) == self.n_rows:
                    return Point(beta, intercept, scores)
                coef = np.zeros(self.n_coef)
                coef[prepared.rows] = beta
                return Point(coef, intercept, self @ coef)
        sub = self.K if len(active) == self.n_rows else block_of(self.K, active, active)
        beta, intercept = solve_dual(sub, curvature[active], target[active])
        coef = np.zeros(self.n_coef)
        coef[active] = beta
        return Point(coef, intercept, self @ coef)

    def _correction(
        self, prepared: PreparedInverse, share: Array, changed: Array
    ) -> Correction | None:
        """Return a correction that costs less than a factor of the active rows, if there is one.

        The last factor is bordered until that has cost as much as another factor.
        """
        known, active = self._known, int(np.count_nonzero(share))
        direct = min(len(changed), active) ** 3 / 3
        hard = not share[changed].any()
        if known is not None and hard:
            size = len(known.changed)
            moved = np.count_nonzero((share == 0) != (known.share == 0))
            cost = size**2 * moved + size * moved**2 + 2 * moved**3 / 3
            if cost < direct and (self._bordered + cost <= direct or len(changed) > active):
                self._bordered += cost
                return prepared.border(known, share, changed) if moved else known
        if len(changed) > active:
            return None
        known = self._known = None  # first: its memory is used again
        self._bordered = 0.0
        part = prepared.correct(share, changed)
        self._known = part if hard else None
        return part

    def prepare(self, curvature: Array) -> None:
        """Invert the system with this curvature."""
        self._keep(PreparedInverse.of(self.K, curvature))

    def _keep(self, inverse: PreparedInverse) -> Gram:
        self._inverse, self._known, self.prepared = inverse, None, True
        return self

    def twin(self) -> Gram:
        """Return the same kernel matrix, sharing the prepared inverse."""
        twin = Gram(self.K)
        return twin if self._inverse is None else twin._keep(self._inverse)

    def subset(self, rows: Array) -> Gram:
        """Return the design of some rows (sorted); a prepared inverse is restricted to them."""
        part = Gram(block_of(self.K, rows, rows))
        return part if self._inverse is None else part._keep(self._inverse.subset(rows))

    def aggregate(self, weights: Any) -> Design:
        """Return the kernel between combinations of rows."""
        return Gram(weights @ (weights @ self.K).T)

    def fresh(self) -> Gram:
        """Return the same kernel matrix without the prepared inverse."""
        return Gram(self.K)


def kernel_design(K: Array) -> Gram:
    """Return the design of a kernel matrix: by factors up to `MANY_ROWS`, iterative above."""
    from bagwise.designs.iterative import Iterative

    return Iterative(K) if len(K) > MANY_ROWS else Gram(K)
