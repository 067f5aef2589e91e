"""Sparse (CSR) rows; nothing of the size of the dense matrix is formed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.linear import LinearDesign
from bagwise.tolerances import rounding_of

if TYPE_CHECKING:
    from bagwise.designs.linear import Coordinates


def with_short_indices(X: Any) -> Any:
    """Return sparse rows with 32-bit indices: scikit-learn's compiled code takes no other."""
    if X.indices.dtype == np.int32:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sp.csr_array(parts, shape=X.shape)


class Sparse(LinearDesign):
    """A CSR matrix."""

    def __init__(self, X: Any, coordinates: Coordinates | None = None) -> None:
        super().__init__(X.shape[0], X.shape[1], coordinates)
        self.X = sp.csr_array(X)
        # Cached: transposing a slice of a larger matrix copies it.
        self._transposed = self.X.T
        self.rounding = rounding_of(X.dtype)

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        return np.asarray(self.X @ coef.astype(self.X.dtype), dtype=np.float64)

    def adjoint(self, dual: Array) -> Array:
        """Return X' r, in the metric of the coefficients."""
        total = np.asarray(self._transposed @ dual.astype(self.X.dtype), dtype=np.float64)
        return self.scale * (self.scale * total)

    def weighted_gram(self, weights: Array) -> Array:
        """Return X'SX; it is d x d, and needed only where d is small."""
        used = np.flatnonzero(weights)
        rows = self.X[used]
        product = rows.T @ (sp.diags_array(weights[used]) @ rows)
        return product.toarray()

    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights."""
        return np.asarray(self._transposed @ weights, dtype=np.float64)

    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of X'SX."""
        squares = sp.csr_array((self.X.data**2, self.X.indices, self.X.indptr), shape=self.X.shape)
        return np.asarray(squares.T @ weights, dtype=np.float64)

    def matrix(self, rows: Array) -> Any:
        """Return some rows; their products are those of the problem."""
        return (
            self.X[rows] if self.coordinates is None else self.X[rows] @ sp.diags_array(self.scale)
        )

    def subset(self, rows: Array) -> Sparse:
        """Return the design of some rows, in the same coordinates."""
        return Sparse(self.X[rows], self.coordinates)

    def combine(self, weights: Any) -> Any:
        """Return weights @ X."""
        return sp.csr_array(weights @ self.X)
