"""Kernels between instances, the choice of gamma, and Gram matrices.

``gamma="median"`` is 1 / (2 m^2), where m is the median distance between different training
instances. Each pair counts with the product of its weights, so repeating a bag and doubling its
weight are equivalent. Above 2,000 instances a seeded sample of 2,000 is used. ``gamma="scale"`` is
scikit-learn's 1 / (n_features x variance).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky

from bagwise._typing import Array
from bagwise.errors import SCALE, Argument, Message, Parameter
from bagwise.rowstores.base import CACHE_BYTES, memory_limit, row_blocks

MANY_ROWS = 3000  # above, kernel problems are solved iteratively (`bagwise.designs.Iterative`)
_SINGLE_WEIGHT = 1000.0  # of a loss: below, it times the rounding of K is small against |w|^2
NOT_SEMIDEFINITE = (
    "The kernel matrix is not positive semi-definite, so the problem may not be convex. "
    "Set its negative eigenvalues to 0, or use another kernel."
)
_TILE = isqrt(CACHE_BYTES // 16)  # rows and columns of float64 that fill half of a cache
MEDIAN_SAMPLE = 2000  # instances that stand for all: two million distances take 0.1 s


@dataclass(frozen=True)
class Kernel:
    """A kernel function with its parameters.

    ``name`` is "linear", "rbf", "poly" or a callable ``k(A, B) -> (len(A), len(B)) array``.
    """

    name: str | Callable[[Any, Any], Array]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __call__(self, A: Any, B: Any) -> Array:
        """Return the matrix of kernel values between the rows of A and of B."""
        if callable(self.name):
            return _as_kernel_values(self.name(A, B), (A.shape[0], B.shape[0]))
        return self.apply(squared_distances(A, B) if self.name == "rbf" else _products(A, B))

    def apply(self, values: Array) -> Array:
        """Return kernel values of squared distances (rbf) or inner products, which may change."""
        if self.name == "rbf":
            values *= -self.gamma
            return np.exp(values, out=values)
        return (
            values if self.name == "linear" else (self.gamma * values + self.coef0) ** self.degree
        )

    def diagonal(self, X: Any) -> Array:
        """Return k(x, x) of every row, in float64."""
        if self.name == "rbf":
            return np.ones(X.shape[0])
        if callable(self.name):
            tiles = (X[i : i + _TILE] for i in range(0, X.shape[0], _TILE))
            return np.concatenate([self(tile, tile).diagonal() for tile in tiles])
        return self.apply(squared_norms(in_double(X)))

    def gram(self, X: Any, dtype: Any = None) -> Array:
        """Return the symmetric matrix of kernel values between the rows of X.

        With a dtype, values are computed in float64 and kept in it, a tile at a time.
        """
        if dtype is not None and not callable(self.name):
            return self._in_tiles(X, dtype)
        return self.apply(squared_distances(X)) if self.name == "rbf" else self(X, X)

    def _in_tiles(self, X: Any, dtype: Any) -> Array:
        """Compute tiles on and below the diagonal; each is mirrored while the cache holds it."""
        left, right = self._factors(X)
        tiles = [slice(i, i + _TILE) for i in range(0, X.shape[0], _TILE)]
        K = np.empty((X.shape[0], X.shape[0]), dtype)
        for k, rows in enumerate(tiles):
            for columns in tiles[: k + 1]:
                tile = _products(left[rows], right[columns])
                if self.name == "rbf":
                    np.exp(np.minimum(tile, 0, out=tile), out=tile)
                elif self.name == "poly":
                    tile = (tile + self.coef0) ** self.degree
                if rows is columns:
                    tile = np.tril(tile) + np.tril(tile, -1).T
                K[rows, columns] = tile
                K[columns, rows] = tile.T
        if self.name == "rbf":
            np.fill_diagonal(K, 1)
        return K

    def _factors(self, X: Any) -> tuple[Any, Any]:
        """Return factors of the products that the kernel is a function of, in float64.

        -gamma |x - y|^2 = (x, -gamma |x|^2, 1).(2 gamma y, 1, -gamma |y|^2) is one product, too.
        """
        sparse, X = sp.issparse(X), in_double(X)
        if self.name != "rbf":
            return X, (X if self.name == "linear" else self.gamma * X)
        X = X if sparse else X - X.mean(axis=0)
        norms, ones = -self.gamma * squared_norms(X)[:, None], np.ones((X.shape[0], 1))
        stack = partial(sp.hstack, format="csr") if sparse else np.hstack
        return stack([X, norms, ones]), stack([2 * self.gamma * X, ones, norms])


def rbf_slopes(kernel: Kernel, X: Any, Z: Any, coef: Array) -> Array:
    """Return the gradients of sum_z coef_z exp(-gamma |x - z|^2) at the rows of X."""
    weights = kernel(X, Z) * coef
    pulls = weights @ Z if not sp.issparse(Z) else (Z.T @ weights.T).T
    X = X.toarray() if sp.issparse(X) else X
    return 2 * kernel.gamma * (np.asarray(pulls) - weights.sum(axis=1)[:, None] * X)


def gram_matrix(
    X: Any,
    kernel: str | Callable[[Any, Any], Array],
    *,
    gamma: str | float,
    degree: int,
    coef0: float,
    weights: Array,
    random_state: np.random.RandomState,
) -> tuple[Kernel, Array]:
    """Determine the kernel's parameters on X; return the kernel and the Gram matrix of X.

    Distances computed for the median are reused for the matrix. With more than `MANY_ROWS` rows the
    matrix is in float32, unless some row weighs so much that it needs more digits.
    """
    dtype = None
    if X.shape[0] > MANY_ROWS:
        dtype = np.float32 if weights.max() <= _SINGLE_WEIGHT else np.float64
    itemsize = max(np.dtype(dtype or X.dtype).itemsize, 4)
    check_matrix("The Gram matrix", X.shape[0], X.shape[0], itemsize, *_APPROXIMATE)
    if kernel == "rbf" and gamma == "median" and X.shape[0] <= MEDIAN_SAMPLE:
        distances = squared_distances(X)
        settled = Kernel("rbf", median_gamma(distances, weights))
        return settled, check_kernel_values(settled.apply(distances))
    number = 1.0 if callable(kernel) else settle_gamma(gamma, X, weights, random_state)
    settled = Kernel(kernel, number, degree, coef0)
    K = settled.gram(X, dtype)
    return settled, check_kernel_matrix(K) if callable(kernel) else check_kernel_values(K)


def settle_gamma(
    gamma: str | float, X: Any, weights: Array, random_state: np.random.RandomState
) -> float:
    """Return gamma as a number, given "median", "scale" or a number."""
    if gamma == "scale":
        return _scale_gamma(X, weights)
    if gamma != "median":
        return float(gamma)
    if X.shape[0] > MEDIAN_SAMPLE:
        rows = np.sort(random_state.choice(X.shape[0], MEDIAN_SAMPLE, replace=False))
        X, weights = X[rows], weights[rows]
    return median_gamma(squared_distances(X), weights)


def median_gamma(distances: Array, weights: Array) -> float:
    """Return 1 / (2 median^2) over pairs of different rows, given squared distances."""
    values = np.concatenate([row[i + 1 :] for i, row in enumerate(distances)])
    # Rounding makes copies of a row differ a little.
    apart = values > 1e3 * np.finfo(values.dtype).eps * values.max(initial=0.0)
    if np.ptp(weights) > 0:
        pairs = np.concatenate([w * weights[i + 1 :] for i, w in enumerate(weights)])
        apart &= pairs > 0
        if not apart.any():
            return 1.0
        half = 0.5 * (1 - 1e-12)  # ties stay ties, whatever the rounding of the sums
        options = {"weights": pairs[apart], "method": "inverted_cdf"}
        return 0.5 / float(np.quantile(values[apart], half, **options))
    values = values if apart.all() else values[apart]
    if len(values) == 0:
        return 1.0
    middle = (len(values) - 1) // 2
    return float(0.5 / np.partition(values, middle)[middle])


def _scale_gamma(X: Any, weights: Array) -> float:
    if sp.issparse(X):
        mass = weights.sum() * X.shape[1]
        mean = float(weights @ X.sum(axis=1)) / mass
        variance = float(weights @ X.multiply(X).sum(axis=1)) / mass - mean**2
    else:
        blocks = list(row_blocks(X.shape[0], 8 * X.shape[1]))
        means = [np.asarray(X[block], dtype=np.float64).mean(axis=1) for block in blocks]
        mean = np.average(np.concatenate(means), weights=weights)
        squares = [((np.asarray(X[b], dtype=np.float64) - mean) ** 2).mean(axis=1) for b in blocks]
        variance = np.average(np.concatenate(squares), weights=weights)
    return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def squared_distances(A: Any, B: Any = None) -> Array:
    """Return squared Euclidean distances between rows; without B, those of A, 0 on the diagonal."""
    same = B is None
    A, B = _center(A, A if same else B)
    rows, columns = squared_norms(A), squared_norms(B)
    distances = _products(A, B)
    distances *= -2
    distances += rows[:, None]
    distances += columns
    np.maximum(distances, 0, out=distances)
    if same:
        np.fill_diagonal(distances, 0)
    return distances


def in_double(X: Any) -> Any:
    """Return rows, dense or sparse, in float64."""
    return X.astype(np.float64, copy=False) if sp.issparse(X) else np.asarray(X, dtype=np.float64)


def _center(A: Any, B: Any) -> tuple[Any, Any]:
    """Subtract the mean of B from both: distances stay the same, large norms lose digits.

    B is the training side, so a row's distances do not depend on the other rows of A.
    """
    if sp.issparse(A) or sp.issparse(B) or len(B) == 0:
        return A, B
    precision = np.result_type(A, B, np.float32)
    right = np.asarray(B, dtype=precision)
    center = right.mean(axis=0)
    right = right - center
    return (right if A is B else np.asarray(A, dtype=precision) - center), right


def _products(A: Any, B: Any) -> Array:
    if not sp.issparse(A) and A.dtype == np.float16:
        A, B = A.astype(np.float32), np.asarray(B, dtype=np.float32)
    products = A @ B.T
    return products.toarray() if sp.issparse(products) else np.asarray(products)


def squared_norms(A: Any) -> Array:
    """Return |x|^2 of every row."""
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def check_kernel_matrix(K: Array) -> Array:
    """Return a user's kernel matrix if it is finite, symmetric and positive semi-definite.

    Eigenvalues down to -1e-6 of the largest row sum are attributed to rounding.
    """
    check_kernel_values(K)
    scale = float(np.abs(K).sum(axis=1).max(initial=0.0))
    uneven = np.abs(K - K.T)
    if uneven.max(initial=0.0) > 1e-6 * scale:
        i, j = np.unravel_index(uneven.argmax(), K.shape)
        raise ValueError(
            f"The kernel matrix is not symmetric: k({i}, {j}) = {K[i, j]:.6g} and "
            f"k({j}, {i}) = {K[j, i]:.6g}. Symmetrize it, e.g. as (K + K.T) / 2."
        )
    lifted = K.astype(np.float64)
    lifted.flat[:: len(K) + 1] += 1e-6 * scale or 1.0
    try:
        cholesky(lifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(NOT_SEMIDEFINITE) from error
    return K


def check_kernel_values(K: Array) -> Array:
    """Return kernel values if all of them are finite."""
    if not (np.isfinite(K.min(initial=0.0)) and np.isfinite(K.max(initial=0.0))):
        what = f"The kernel matrix contains infinite or undefined values (in {K.dtype}). "
        raise ValueError(Message(what, "Scale the features with ", SCALE, ", or use float64."))
    return K


def _as_kernel_values(values: Any, shape: tuple[int, int]) -> Array:
    K = np.asarray(values)
    if K.shape != shape:
        raise ValueError(
            f"The kernel function returned an array of shape {K.shape} for {shape[0]} and "
            f"{shape[1]} rows: it must return {shape}."
        )
    return K if K.dtype in (np.float32, np.float64) else K.astype(np.float64)


_SHARE = 0.8  # of the memory for one matrix: data and solver need some, too
_APPROXIMATE = (
    "Use ",
    Parameter("kernel_options__approx", "'nystroem'"),
    " (",
    Parameter("kernel_options__n_components", ""),
    " sets its precision) or ",
    Parameter("kernel", "'linear'"),
    ".",
)


def check_matrix(
    what: str, n_rows: int, n_columns: int, itemsize: int, *remedy: str | Argument
) -> None:
    """Raise an error that names a matrix that does not fit into memory, its size and the remedy."""
    needed, limit = float(n_rows) * n_columns * itemsize, memory_limit()
    if needed > _SHARE * limit:
        size = f"{what} of {n_rows:,} x {n_columns:,} values needs {needed / 2**30:,.1f} GiB"
        here = f"of the {limit / 2**30:,.1f} GiB here one matrix may take {_SHARE:.0%}. "
        raise MemoryError(Message(f"{size}; {here}", *remedy))
