"""One inverse for many ridge problems, corrected where their curvature differs.

For curvature s0 on all rows, P = (I + S0^1/2 K S0^1/2)^-1 is computed once. A problem with
curvature s = share s0, share <= 1, is then solved with a factor of the size of R = {share < 1},
without reading K. Gehler & Chapelle's annealing visits hundreds of such problems, most of which
differ from s0 in few rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isqrt
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import get_blas_funcs
from scipy.linalg.lapack import get_lapack_funcs

from bagwise._typing import Array
from bagwise.designs.ridge import factor_in_place, solve_factored
from bagwise.rowstores.blocks import CACHE_BYTES

_BLOCK = isqrt(CACHE_BYTES // 64)  # rows and columns: a few blocks of float64 fit into a cache


@dataclass
class PreparedInverse:
    """P on the rows that may have curvature."""

    rows: Array  # of the design, those with s0 > 0
    root: Array  # S0^1/2 on these rows
    inverse: Array  # P
    rooted: Array = field(init=False)  # P S0^1/2 1

    def __post_init__(self) -> None:
        self.rooted = self.inverse @ self.root

    def astype(self, dtype: Any) -> PreparedInverse:
        """Return the same inverse in another precision."""
        return PreparedInverse(self.rows, self.root.astype(dtype), self.inverse.astype(dtype))

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

    def ridge(self, share: Array, target: Array, changed: Array) -> tuple[Array, float, Array]:
        """Solve the ridge problem with curvature share x s0; return beta, b and the scores K beta.

        With q = share S0^1/2 t and e = 1 - share on the changed rows R, the solution is
        beta = S0^1/2 P y, y = q + g, where g is zero outside R and solves
        (I - e^1/2 (I - P_RR) e^1/2) e^-1/2 g = e^1/2 (q - P q)_R. The same with t = 1 gives the
        column of the intercept, and sum beta = 0 the intercept.
        """
        q, ones = share * self.root * target, share * self.root
        if len(changed):
            g, g_ones = self._corrections(share, q, changed)
            near = self.rooted[changed]
            intercept = float((self.rooted @ q + near @ g) / (self.rooted @ ones + near @ g_ones))
            y = q - intercept * ones
            pull = y.copy()
            y[changed] += g - intercept * g_ones
        else:
            intercept = float((self.rooted @ q) / (self.rooted @ ones))
            y = pull = q - intercept * ones
        fitted = y - self.inverse @ y.astype(self.inverse.dtype)
        # P y = pull - share fitted; this form is exactly zero where the share is zero.
        dual = self.root * (pull - share * fitted)
        return dual.astype(np.float64), intercept, (fitted / self.root).astype(np.float64)

    def _corrections(self, share: Array, q: Array, changed: Array) -> tuple[Array, Array]:
        """Return g for the targets and for the intercept's column of ones."""
        rows = self.inverse.take(changed, axis=0)
        block = rows.take(changed, axis=1)
        e = 1 - share[changed]
        # (P q)_R and, for q = share root, (P q)_R = (P root)_R - P_RR (e root)_R.
        far = rows @ q.astype(block.dtype)
        lost = e * self.root[changed]
        far_ones = self.rooted[changed] - block @ lost.astype(block.dtype)
        near_ones = share[changed] * self.root[changed]
        half = np.sqrt(e).astype(block.dtype)
        right = np.stack([half * (q[changed] - far), half * (near_ones - far_ones)]).T
        block *= half
        block *= half[:, None]
        block.flat[:: len(changed) + 1] += share[changed]
        factor = factor_in_place(block.T)
        solved = solve_factored(factor, right)
        return half * solved[:, 0], half * solved[:, 1]


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
