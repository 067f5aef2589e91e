"""Rows that stay in the files they lie in, several of them as one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.segments import offsets_of
from bagwise.bags.stored import verify
from bagwise.rowstores.base import RowStore

_SHORTEST_RUN = 16  # rows, on average: shorter ones are read at once, longer ones stay in the files


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
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape)[
            self.start : self.stop
        ]

    def _mapped(self) -> Array:
        return np.asarray(self.mapped())


class FileRows(RowStore):
    """Rows of several files, or arrays, as one matrix; whole bags are selected without a copy."""

    is_here = True

    def __init__(self, parts: Sequence[FileSpan | Array], is_finite: bool = False) -> None:
        self.parts, self.is_finite = list(parts), is_finite
        self.offsets = offsets_of([len(part) for part in self.parts])
        self.dtype = self.parts[0].dtype.newbyteorder("=")
        self.shape = int(self.offsets[-1]), int(self.parts[0].shape[1])

    def __getitem__(self, rows: Any) -> FileRows:
        if isinstance(rows, slice) and (rows.step or 1) == 1:
            start, stop, _ = rows.indices(len(self))
            return self._with(self._between(start, stop))
        numbers = np.arange(len(self))[rows]
        cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
        if len(numbers) < _SHORTEST_RUN * (len(cuts) + 1):
            return self._with([self._gathered(numbers)])
        runs = np.split(numbers, cuts)
        return self._with([p for run in runs for p in self._between(run[0], run[-1] + 1)])

    def _with(self, parts: list[Any]) -> FileRows:
        nothing = np.empty((0, self.shape[1]), self.dtype)
        return FileRows(parts or [nothing], self.is_finite)

    def _between(self, start: int, stop: int) -> list[Any]:
        """Return the ranges of the parts in a range of rows."""
        first, last = np.searchsorted(self.offsets, [start, stop - 1], side="right") - 1
        found = []
        for i in range(first, last + 1) if start < stop else ():
            before = self.offsets[i]
            found.append(self.parts[i][int(max(start - before, 0)) : int(stop - before)])
        return found

    def _gathered(self, numbers: Array) -> Array:
        rows = np.empty((len(numbers), self.shape[1]), self.dtype)
        owner = np.searchsorted(self.offsets, numbers, side="right") - 1
        for i in np.unique(owner):
            own = owner == i
            rows[own] = np.asarray(self.parts[i][numbers[own] - self.offsets[i]])
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if len(self.parts) == 1 and isinstance(self.parts[0], np.ndarray):
            verify(self.parts[0])
            return np.asarray(self.parts[0], dtype=dtype)
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
