"""Rows in files with other values in one column, which are put there whenever rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.selection import take_rows
from bagwise.rowstores.base import RowStore


class Replaced(RowStore):
    """Rows whose column ``feature`` has the given values; all else stays where it lies."""

    is_finite = True  # whoever changes a column has looked at the rows
    file, places = None, (0,)  # as `bagwise.rowstores.files.FileRows` has them

    def __init__(self, X: Any, feature: int, values: Array) -> None:
        self.X, self.feature, self.values = X, feature, values
        self.shape, self.dtype = X.shape, X.dtype.newbyteorder("=")

    def place(self, row: int) -> int:
        """Return the number of a row in the whole."""
        return row

    def __getitem__(self, rows: Any) -> Replaced:
        return Replaced(take_rows(self.X, rows), self.feature, self.values[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        rows = np.array(self.X, dtype=dtype or self.dtype)
        rows[:, self.feature] = self.values
        return rows
