"""`RowStore`: rows of floats that are elsewhere, and come as an array when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.rowstores.blocks import row_blocks


def here(rows: Any) -> Any:
    """Return rows as a matrix of this process."""
    return np.asarray(rows) if isinstance(rows, RowStore) else rows


class RowStore(ABC):
    """A matrix of instances that `Bags.X` may be: selections stay where they are.

    ``np.asarray(store[rows])`` brings rows into this process.
    """

    shape: tuple[int, int]
    dtype: np.dtype  # of the arrays that it gives
    ndim = 2
    home = "here"  # where products are made: in this process, on a "device" or a "cluster"
    is_finite = False  # whether it is known to hold neither NaN nor infinity

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def is_here(self) -> bool:
        """Whether this process reads the rows itself, as it would those of an array."""
        return self.home == "here"

    @abstractmethod
    def __getitem__(self, rows: Any) -> RowStore:
        """Return a selection of rows, by a slice or by their numbers."""

    def mean(self, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Return the means of the features in float64, read in blocks; `numpy.mean` calls it."""
        total = np.zeros(self.shape[1])
        for block in row_blocks(len(self), 8 * self.shape[1]):
            total += np.asarray(self[block]).sum(axis=0, dtype=np.float64)
        return total / len(self)

    def read_into(self, out: Array) -> None:
        """Fill an array with all rows."""
        out[...] = np.asarray(self)

    @abstractmethod
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all rows."""
