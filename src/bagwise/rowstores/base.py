"""`RowStore`: rows of floats that are elsewhere, and come as an array when asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from bagwise._typing import Array


class RowStore(ABC):
    """A matrix of instances that `Bags.X` may be: selections stay where they are.

    ``np.asarray(store[rows])`` brings rows into this process.
    """

    shape: tuple[int, int]
    dtype: np.dtype  # of the arrays that it gives
    ndim = 2
    is_finite = False  # whether it is known to hold neither NaN nor infinity

    def __len__(self) -> int:
        return self.shape[0]

    @abstractmethod
    def __getitem__(self, rows: Any) -> RowStore:
        """Return a selection of rows, by a slice or by their numbers."""

    @abstractmethod
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all rows."""
