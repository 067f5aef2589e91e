"""A low-rank approximation of a kernel matrix that costs a few of its rows.

Randomly pivoted Cholesky (Chen, Epperly, Tropp & Webber 2024) in blocks: rows of K are drawn with
probabilities proportional to the diagonal of what L L' leaves of K, and eliminated. Kernels whose
eigenvalues fall fast need few of them; rows drawn uniformly would miss small clusters.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from bagwise._typing import Array
from bagwise.designs.linear import Dense
from bagwise.tolerances import LARGEST_DENSE, SINGLE, rounding_of

_BLOCK = 64  # rows eliminated at a time: enough for BLAS, few enough to draw the next ones well
_REPEATED = 4.0  # x what was added to the diagonal: below, a row repeats others of its block


class LowRank:
    """K ~ L L', extended on demand.

    The pivots are drawn from a fixed seed, so the columns asked for first are the same whatever is
    asked for later: all problems on one kernel matrix share it.
    """

    def __init__(self, K: Any, dtype: type, largest: int = LARGEST_DENSE, seed: int = 0) -> None:
        self.K = K  # a matrix, or what gives its rows and its diagonal
        n_rows = len(K)
        self.L: Array = np.empty((n_rows, min(n_rows, largest)), dtype)
        self.pivots = np.empty(0, dtype=np.intp)
        self.left = np.maximum(K.diagonal(), 0).astype(np.float64)  # diagonal of K - L L'
        self.noise = 2 * rounding_of(dtype) * self.left
        self.traces = [(0, float(self.left.sum()))]  # (rank, trace of K - L L'), block by block
        self._rng, self._lock = np.random.default_rng(seed), threading.Lock()

    def rank_for(self, trace: float, most: int = LARGEST_DENSE) -> int:
        """Return the rank at which the trace of K - L L' is at most this, or the largest rank.

        At least one block, as it also starts problems, and about ``most`` columns.
        """
        with self._lock:
            while self._lacks(trace) and self.traces[-1][0] < most:
                self._extend()
        found = (rank for rank, left in self.traces[1:] if left <= trace or rank >= most)
        return next(found, self.traces[-1][0])

    def _lacks(self, trace: float) -> bool:
        rank, left = self.traces[-1]
        return left > (trace if rank else 0.0) and rank < self.L.shape[1]

    def _extend(self) -> None:
        rank = self.traces[-1][0]
        size = min(_BLOCK, self.L.shape[1] - rank)
        drawn = np.unique(self._rng.choice(len(self.K), size, p=self.left / self.left.sum()))
        known = self.L[:, :rank]
        columns = self.K[drawn].T.astype(self.L.dtype) - known @ known[drawn].T
        corner = columns[drawn].astype(np.float64)
        lift = 10 * SINGLE * np.trace(corner) / len(drawn) + self.noise[drawn].max()
        new = _independent(corner, lift)
        self.left[drawn] = 0  # those that repeat others of their block are done with as well
        drawn, columns, corner = drawn[new], columns[:, new], corner[np.ix_(new, new)]
        factor = _factor(corner, lift).astype(self.L.dtype)
        added = solve_triangular(factor, columns.T, lower=True, check_finite=False).T
        self.L[:, rank : rank + len(drawn)] = added
        self.pivots = np.concatenate([self.pivots, drawn])
        self.left -= np.einsum("ij,ij->i", added, added, dtype=np.float64)
        self.left[self.left < self.noise] = 0
        self.traces.append((rank + len(drawn), float(self.left.sum())))


def _factor(corner: Array, lift: float) -> Array:
    """Return the Cholesky factor of a block, whose rows may nearly repeat."""
    return cholesky((corner + corner.T) / 2 + lift * np.eye(len(corner)), lower=True)


def _independent(corner: Array, lift: float) -> Array:
    """Return the rows of a block that are not combinations of earlier ones up to rounding.

    The others would give the start of a problem huge coefficients of either sign.
    """
    return np.flatnonzero(np.diag(_factor(corner, lift)) ** 2 > _REPEATED * lift)


class Sketch(Dense):
    """The rows of L as features, K ~ L L', with all products in the precision of L.

    It starts and preconditions problems whose solution is checked otherwise.
    """

    def __init__(self, low: LowRank, rank: int) -> None:
        super().__init__(low.L[:, :rank])
        self.low = low

    def weighted_gram(self, weights: Array) -> Array:
        """Return L'SL."""
        total = np.zeros((self.n_coef, self.n_coef), self.precision)
        for sign in (1, -1):
            used = np.flatnonzero(sign * weights > 0)
            if len(used):
                roots = np.sqrt(np.abs(weights[used])).astype(self.precision)
                rows = self.X[used] * roots[:, None]
                total += sign * (rows.T @ rows)
        return total

    def weighted_sum(self, weights: Array) -> Array:
        """Return L' weights."""
        return self.adjoint(weights)

    def dual(self, coef: Array) -> Array:
        """Return dual coefficients, on the pivots, of the weight vector that ``coef`` stands for.

        L = K[:, pivots] L[pivots]^-T, up to what was added to the diagonals of blocks.
        """
        pivots, dual = self.low.pivots[: self.n_coef], np.zeros(self.n_rows)
        corner = np.asarray(self.X[pivots], dtype=np.float64)
        dual[pivots] = solve_triangular(corner.T, coef, lower=False, check_finite=False)
        return dual
