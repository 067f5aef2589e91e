"""Kernels by landmarks (Nystroem): rows of few features, whose products are nearly the kernel's.

With Z the landmarks, m of the rows, k(x, y) is replaced by k(x, Z) K_ZZ^+ k(Z, y), the inner
product of the features W' k(Z, x), W W' = K_ZZ^+. What is left out of the kernel matrix is positive
semi-definite, so its trace measures it: ``error`` is this trace relative to that of the kernel
matrix, 0 for an exact kernel. A
weight vector w is sum_j (W w)_j k(z_j, .), a combination of landmarks: models keep the landmarks as
their support vectors.

Landmarks are chosen by randomly pivoted Cholesky (`bagwise.designs.lowrank`: rows drawn in
proportion to what the landmarks so far leave of them, their leverage as the ridge goes to 0), of a
sample of the rows where there are many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from bagwise._typing import Array
from bagwise.designs.linear import Dense
from bagwise.designs.lowrank import LowRank
from bagwise.errors import Parameter
from bagwise.kernels import (
    Kernel,
    check_kernel_matrix,
    check_kernel_values,
    check_matrix,
    in_double,
)
from bagwise.kernels.instance import NOT_SEMIDEFINITE
from bagwise.rowstores.base import row_blocks
from bagwise.tolerances import in_threads, rounding_of

SAMPLE = 20_000  # rows that landmarks or words are learned from: more of a data set repeat them
_DOUBLE_BYTES = 1 << 30  # of features in float64; more of them are kept in float32
_RANK = 10.0  # roundings of the largest eigenvalue of K_ZZ: below, an eigenvalue is rounding only


class Pairs:
    """The kernel between rows of a matrix: what the approximation may ask of a kernel."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel, self.X, self.n_rows = kernel, X, X.shape[0]

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Array) -> Array:
        """Return rows of the kernel matrix."""
        return self.between(slice(None), rows).T

    def between(self, rows: Any, columns: Array) -> Array:
        """Return the kernel values between some rows and some others, in float64."""
        return self.kernel(in_double(self.X[rows]), in_double(self.X[columns]))

    def diagonal(self, rows: Any = slice(None)) -> Array:
        """Return the kernel value of rows with themselves."""
        return self.kernel.diagonal(self.X[rows])


def choose_landmarks(
    pairs: Pairs, candidates: Array, n_components: int, rng: np.random.RandomState
) -> Array:
    """Return the row numbers of landmarks, sorted: all candidates if there are no more of them."""
    if len(candidates) <= n_components:
        return candidates
    size = max(SAMPLE, 2 * n_components)
    if len(candidates) > size:
        candidates = np.sort(rng.choice(candidates, size, replace=False))
    seed = int(rng.randint(np.iinfo(np.int32).max))
    sample = Pairs(pairs.kernel, pairs.X[candidates])
    return candidates[_by_pivots(sample, n_components, seed)]


def _by_pivots(pairs: Pairs, n_components: int, seed: int) -> Array:
    low = LowRank(pairs, np.float64, n_components, seed)
    try:
        low.rank_for(0.0, n_components)
    except np.linalg.LinAlgError as error:  # of a block: only a user's function can cause it
        raise ValueError(NOT_SEMIDEFINITE) from error
    return np.sort(low.pivots) if len(low.pivots) else np.zeros(1, dtype=int)  # a kernel of zeros


class Nystroem(Dense):
    """Rows as features of landmarks; solutions are given as coefficients of the landmarks' rows."""

    def __init__(self, features: Array, landmarks: Array, whitener: Array, error: float) -> None:
        super().__init__(features)
        # Features in float32 are a kernel as good as the one in float64; proofs need their digits.
        self.precision, self.rounding = np.float64, rounding_of(np.float64)
        self.landmarks, self.whitener, self.error = landmarks, whitener, error

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return one coefficient per row, 0 for all but the landmarks."""
        dual = np.zeros(self.n_rows)
        dual[self.landmarks] = self.whitener @ coef
        return dual, intercept

    def values(self) -> Nystroem:
        """Return the kernel values with the landmarks as the features."""
        values = self.X @ self.X[self.landmarks].T
        return Nystroem(values, self.landmarks, np.eye(len(self.landmarks)), self.error)


def nystroem_design(
    pairs: Pairs,
    weights: Array,
    n_components: int,
    random_state: np.random.RandomState,
    *,
    n_jobs: int | None = None,
) -> Nystroem:
    """Approximate a kernel by landmarks among the rows that have weight.

    Rows without weight become no landmarks and do not count in ``error``. A kernel with negative
    eigenvalues is refused.
    Features that would take more than a gigabyte in float64 are in float32: the kernel is then that
    of the rounded features, and products are exact for it.
    """
    used = np.flatnonzero(weights > 0)
    chosen = choose_landmarks(pairs, used, n_components, random_state)
    W = _inverse_root(pairs.between(chosen, chosen))
    precision = np.float64 if 8 * pairs.n_rows * W.shape[1] <= _DOUBLE_BYTES else np.float32
    shape = pairs.n_rows, W.shape[1]
    lower = "Lower ", Parameter("n_components", ""), "."
    check_matrix("The matrix of features", *shape, np.dtype(precision).itemsize, *lower)
    features = np.empty(shape, precision)

    def fill(block: slice) -> tuple[float, float]:
        """Write the features of some rows; return what their diagonal was and what it lost."""
        values = pairs.between(block, chosen) @ W
        counts, diagonal = weights[block] > 0, pairs.diagonal(block)
        lost = np.abs(diagonal - np.einsum("ij,ij->i", values, values))
        features[block] = values
        return float(diagonal[counts].sum()), float(lost[counts].sum())

    blocks = row_blocks(pairs.n_rows, 8 * len(chosen))
    whole, left = np.sum(in_threads(fill, blocks, n_jobs), axis=0)
    error = float(left / whole) if whole > 0 else 0.0
    return Nystroem(check_kernel_values(features), chosen, W, error)


def _inverse_root(K: Array) -> Array:
    """Return W with W W' = K^+, without what is rounding."""
    K = check_kernel_matrix(K)
    values, vectors = eigh((K + K.T) / 2, check_finite=False)
    kept = values > _RANK * len(K) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    return vectors[:, kept] / np.sqrt(values[kept]) if kept.any() else np.zeros((len(K), 1))
