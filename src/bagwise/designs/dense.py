"""Dense rows of float16, float32 or float64, in memory or memory-mapped, read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.selection import take_rows
from bagwise.designs.base import Design
from bagwise.designs.linear import LinearDesign, matrix_design
from bagwise.rowstores.ahead import map_ranges
from bagwise.rowstores.blocks import lies_in_files, row_blocks
from bagwise.tolerances import rounding_of

if TYPE_CHECKING:
    from bagwise.designs.linear import Coordinates


class Dense(LinearDesign):
    """A dense matrix. Products run in its own precision (float16 in float32), sums in float64."""

    def __init__(self, X: Any, coordinates: Coordinates | None = None) -> None:
        super().__init__(X.shape[0], X.shape[1], coordinates)
        self.X = X
        self.precision = np.float32 if X.dtype == np.float16 else X.dtype.type
        if coordinates is not None:
            self.precision = np.float64
        self.rounding = rounding_of(self.precision)

    def subset(self, rows: Array) -> Design:
        """Return the design of some rows; many rows of a file stay there."""
        if self.coordinates is None and not lies_in_files(self.X):
            return matrix_design(self.matrix(rows))
        return type(self)(take_rows(self.X, rows), self.coordinates)

    def mean(self) -> Array:
        """Return the mean of the rows."""
        sums = self._each(lambda block: self._rows(block).sum(axis=0, dtype=np.float64))
        return sum(sums) / self.n_rows

    def _blocks(self) -> Iterator[slice]:
        return row_blocks(self.n_rows, self.n_coef * np.dtype(self.precision).itemsize)

    def _each(self, function: Callable[[slice], Any]) -> list[Any]:
        """Return what a function makes of the blocks, in one pass."""
        return map_ranges(self.X, self._blocks(), function)

    def _rows(self, key: Any) -> Array:
        if self.coordinates is None:
            return np.asarray(self.X[key], dtype=self.precision)
        return self.coordinates.columns(np.asarray(self.X[key], dtype=np.float64))

    def _exact(self, key: Any) -> Array:
        """Return rows as they are kept, for products with float64."""
        return np.asarray(self.X[key]) if self.coordinates is None else self._rows(key)

    def __matmul__(self, coef: Array) -> Array:
        """Return X w."""
        coef = coef.astype(self.precision)
        parts = self._each(lambda block: self._rows(block) @ coef)
        return np.concatenate(parts).astype(np.float64)

    def adjoint(self, dual: Array) -> Array:
        """Return X' r, in the metric of the coefficients."""
        total = np.zeros(self.n_coef)
        for block in self._blocks():
            if np.any(dual[block]):
                total += dual[block].astype(self.precision) @ self._rows(block)
        return self.scale * (self.scale * total)

    def weighted_gram(self, weights: Array) -> Array:
        """Return X'SX, one symmetric product per block and sign.

        Always in float64: in float32 the rounding of a large X'SX would exceed the identity that
        the ridge system adds.
        """
        total = np.zeros((self.n_coef, self.n_coef))
        for sign in (1, -1):
            signed = np.maximum(sign * weights, 0)
            for block in self._blocks():
                used = block.start + np.flatnonzero(signed[block])
                if len(used):
                    rows = self._exact(used) * np.sqrt(signed[used])[:, None]
                    total += sign * (rows.T @ rows)
        return total

    def weighted_sum(self, weights: Array) -> Array:
        """Return X' weights."""
        total = np.zeros(self.n_coef)
        for block in self._blocks():
            total += weights[block] @ self._rows(block)
        return total

    def weighted_squares(self, weights: Array) -> Array:
        """Return the diagonal of X'SX."""
        kept = weights.astype(self.precision)
        return sum(
            self._each(lambda block: kept[block] @ self._rows(block) ** 2), np.zeros(self.n_coef)
        )

    def matrix(self, rows: Array) -> Any:
        """Return some rows; their products are those of the problem."""
        return self._rows(rows) if self.coordinates is None else self._rows(rows) * self.scale

    def combine(self, weights: Any) -> Array:
        """Return weights @ X in blocks, without a second copy of the rows."""
        total, columns = np.zeros((weights.shape[0], self.n_coef)), sp.csc_array(weights)
        for block in self._blocks():
            part = columns[:, block]
            if part.nnz:
                total += part @ self._rows(block)
        return total
