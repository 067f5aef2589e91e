"""Rows that stay in the files they lie in, several of them as one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.arrays import take_rows
from bagwise.bags.segments import offsets_of
from bagwise.bags.stored import verify
from bagwise.rowstores import base
from bagwise.rowstores.base import RowStore

_SHORTEST_RUN = 16  # rows, on average: shorter ones are picked, longer ones stay as they lie


@dataclass(frozen=True)
class FileSpan:
    """A range of rows of a matrix in a file, in row order and without compression.

    The file is open only while rows are read: a folder may have more files than a process may open.
    """

    path: Path
    offset: int  # bytes before the matrix
    dtype: np.dtype
    shape: tuple[int, int]  # of the whole matrix
    start: int
    stop: int

    @classmethod
    def of(cls, mapped: np.memmap) -> FileSpan:
        """Return the rows of a whole file that was mapped."""
        rows = mapped.shape[-2:]
        return cls(Path(str(mapped.filename)), mapped.offset, mapped.dtype, rows, 0, rows[0])

    def __len__(self) -> int:
        return self.stop - self.start

    def __getitem__(self, rows: Any) -> Any:
        """Return a range of the rows unread, or an array of some of them."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return replace(self, start=self.start + start, stop=self.start + stop)
        return self._mapped()[rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._mapped(), dtype=dtype)

    def read_into(self, out: Array) -> None:
        """Fill an array with all rows."""
        out[...] = self._mapped()

    def mapped(self) -> Array:
        """Return the rows as they lie in the file, mapped."""
        try:
            whole = np.memmap(self.path, self.dtype, "r", self.offset, self.shape)
        except ValueError as error:
            raise ValueError(f"{self.path}: was truncated after it was opened.") from error
        return whole[self.start : self.stop]

    def _mapped(self) -> Array:
        return np.asarray(self.mapped())


@dataclass(frozen=True)
class Picked:
    """Single rows of files, in an order of their own, that are brought when they are read."""

    source: FileRows
    numbers: Array

    @property
    def dtype(self) -> np.dtype:
        """Data type of the rows."""
        return self.source.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return len(self), self.source.shape[1]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> Any:
        part = Picked(self.source, self.numbers[rows])
        return part if isinstance(rows, slice) else np.asarray(part)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.source._gather(self.numbers).astype(dtype or self.dtype, copy=False)

    def read_into(self, out: Array) -> None:
        """Fill an array with all rows."""
        out[...] = np.asarray(self)


class FileRows(RowStore):
    """Rows of several files, or arrays, as one matrix; whole bags are selected without a copy."""

    paths: Any = None  # `bagwise.rowstores.cluster.JoinedFiles`, by which other processes open it

    def __init__(self, parts: Sequence[Any], is_finite: bool = False) -> None:
        self.parts, self.is_finite = list(parts), is_finite
        self.offsets = offsets_of([len(part) for part in self.parts])
        self.dtype = self.parts[0].dtype.newbyteorder("=")
        self.shape = int(self.offsets[-1]), int(self.parts[0].shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) if self.paths is None else {**vars(self), "parts": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if self.paths is not None:
            self.parts = self.paths.open().parts

    def __getitem__(self, rows: Any) -> FileRows:
        if isinstance(rows, slice) and (rows.step or 1) == 1:
            start, stop, _ = rows.indices(len(self))
            return self._with(self._find_parts(start, stop))
        numbers = np.arange(len(self))[rows]
        cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
        if len(numbers) < _SHORTEST_RUN * (len(cuts) + 1):
            large = len(numbers) * self.shape[1] * self.dtype.itemsize >= base.LARGE_SELECTION
            picked = Picked(self, numbers)
            return self._with([picked if large else np.asarray(picked)])
        runs = np.split(numbers, cuts)
        return self._with([p for run in runs for p in self._find_parts(run[0], run[-1] + 1)])

    def _with(self, parts: list[Any]) -> FileRows:
        return FileRows(parts or [np.empty((0, self.shape[1]), self.dtype)], self.is_finite)

    def _find_parts(self, start: int, stop: int) -> list[Any]:
        """Return the ranges of the parts in a range of rows."""
        first, last = np.searchsorted(self.offsets, [start, stop - 1], side="right") - 1
        found = []
        for i in range(first, last + 1) if start < stop else ():
            more = int(max(start - self.offsets[i], 0))
            found.append(self.parts[i][more : int(stop - self.offsets[i])])
        return found

    def _gather(self, numbers: Array) -> Array:
        rows = np.empty((len(numbers), self.shape[1]), self.dtype)
        owner = np.searchsorted(self.offsets, numbers, side="right") - 1
        for i in np.unique(owner):
            own = owner == i
            rows[own] = np.asarray(self.parts[i][numbers[own] - self.offsets[i]])
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if len(self.parts) == 1 and isinstance(self.parts[0], np.ndarray):
            verify(self.parts[0])
            rows = np.asarray(self.parts[0], dtype=dtype)
            return rows.copy() if copy else rows
        rows = np.empty(self.shape, dtype or self.dtype)
        self.read_into(rows)
        return rows

    def read_into(self, out: Array) -> None:
        """Fill an array with all rows."""
        for part, start, stop in zip(self.parts, self.offsets, self.offsets[1:], strict=False):
            if isinstance(part, np.ndarray):
                verify(part)
                out[start:stop] = part
            else:
                part.read_into(out[start:stop])


class Standardized(RowStore):
    """Rows that are scaled whenever they are read."""

    def __init__(self, source: RowStore, scaler: Any) -> None:
        self.source, self.scaler, self.is_finite = source, scaler, source.is_finite
        self.shape, self.dtype = source.shape, source.dtype

    def __getitem__(self, rows: Any) -> Standardized:
        return Standardized(self.source[rows], self.scaler)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if not len(self):
            return np.empty(self.shape, dtype or self.dtype)
        rows = self.scaler.transform(np.asarray(self.source))
        return rows if dtype is None else rows.astype(dtype, copy=False)


class Replaced(RowStore):
    """Rows whose column ``feature`` has the given values; all else stays where it lies."""

    is_finite = True  # whoever changes a column has looked at the rows

    def __init__(self, X: Any, feature: int, values: Array) -> None:
        self.X, self.feature, self.values = X, feature, values
        self.shape, self.dtype = X.shape, X.dtype.newbyteorder("=")

    def __getitem__(self, rows: Any) -> Replaced:
        return Replaced(take_rows(self.X, rows), self.feature, self.values[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        rows = np.array(self.X, dtype=dtype or self.dtype)
        rows[:, self.feature] = self.values
        return rows
