"""Rows of a file that the workers of a Dask cluster open by its path: nothing is sent to them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.stored import find_guard, guard, verify
from bagwise.errors import Message
from bagwise.rowstores import base
from bagwise.rowstores.base import RowStore, is_mapped, parts_of, row_blocks
from bagwise.rowstores.files import FileRows, Picked, Standardized

_CROWDED = 0.3  # of a worker's memory: Dask ends workers that seem to use 0.95 of it
_WRITE = 'bagwise.io.write("features.bags", bags, y); bags, y = bagwise.io.read("features.bags")'


def import_distributed() -> Any:
    """Return dask.distributed, or raise an error that says how to get it."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("A cluster needs Dask: pip install 'bagwise[dask]'.") from error
    return distributed


def current_client() -> Any:
    """Return the client that the user has opened."""
    try:
        return import_distributed().default_client()
    except ValueError as error:
        raise RuntimeError(
            'bags.to("dask") needs a Dask client while it works: '
            "with dask.distributed.Client(...): model.fit(bags, y). "
            'bags.to("host") takes the bags off the cluster.'
        ) from error


def live_workers(client: Any) -> dict[str, int]:
    """Return the addresses of the workers and their threads, in an order that does not vary."""
    workers = dict(sorted(client.nthreads().items()))
    if not workers:
        raise RuntimeError(
            f"The Dask cluster at {client.scheduler.address} has no workers: start some, for "
            f"example with the command: dask worker {client.scheduler.address}"
        )
    return workers


@dataclass(frozen=True)
class MappedFile:
    """A matrix in a .npy file, as one process found it and others are to find it."""

    path: str
    dtype: str
    shape: tuple[int, int]
    offset: int
    by_columns: bool
    size: int
    changed: int  # time of the last change, in nanoseconds
    checksums: tuple[list[int], Callable[[str], Exception]] | None = field(
        repr=False, compare=False, default=None
    )

    @classmethod
    def under(cls, X: Any) -> tuple[MappedFile, slice] | None:
        """Return the file that an array maps, and which of its rows; None for other arrays."""
        root = X
        while isinstance(root, np.ndarray) and isinstance(root.base, np.ndarray):
            root = root.base
        if not isinstance(root, np.memmap) or root.ndim != 2 or root.strides != X.strides:
            return None
        name = getattr(root, "filename", None)
        if name is None or root.dtype != X.dtype or root.shape[1] != X.shape[1]:
            return None
        stat = os.stat(name)
        file = cls(
            path=str(Path(name).absolute()),
            dtype=root.dtype.str,
            shape=root.shape,
            offset=root.offset,
            by_columns=root.flags.f_contiguous and not root.flags.c_contiguous,
            size=stat.st_size,
            changed=stat.st_mtime_ns,
            checksums=find_guard(root),
        )
        first = (X.ctypes.data - root.ctypes.data) // root.strides[0]
        return file, slice(first, first + len(X))

    def open(self) -> np.memmap:
        """Map the file in this process, once."""
        try:
            stat = os.stat(self.path)
        except OSError as error:
            raise FileNotFoundError(
                f"A worker cannot open {self.path} ({error.strerror}): the store must be under the "
                "same path on all workers, for example on a file system that they share."
            ) from error
        if (stat.st_size, stat.st_mtime_ns) != (self.size, self.changed):
            raise ValueError(
                f"{self.path} was changed, or is another file, since it was opened: open it "
                "again, and make sure that all workers see the same file."
            )
        key = self.path, self.changed, self.size
        if key not in _MAPPED:
            order: Any = "F" if self.by_columns else "C"
            where = {"offset": self.offset, "shape": self.shape, "order": order}
            mapped: Any = np.memmap(self.path, np.dtype(self.dtype), "r", **where)
            if self.checksums is not None:
                guard(mapped, *self.checksums)
            _MAPPED[key] = mapped
        return _MAPPED[key]


_MAPPED: dict[tuple[str, int, int], Any] = {}


@dataclass(frozen=True)
class JoinedFiles:
    """Ranges of rows of several files, as one matrix."""

    parts: tuple[tuple[MappedFile, int, int], ...]

    @classmethod
    def under(cls, rows: FileRows) -> JoinedFiles | None:
        """Return the files of rows; None if some of the rows are in memory."""
        parts = []
        for part in rows.parts:
            if isinstance(part, Picked):
                return None
            found = MappedFile.under(part if isinstance(part, np.ndarray) else part.mapped())
            if found is None:
                return None
            parts.append((found[0], found[1].start, found[1].stop))
        return cls(tuple(parts))

    @property
    def path(self) -> str:
        """The first file."""
        return self.parts[0][0].path

    @property
    def dtype(self) -> str:
        """Data type of the rows."""
        return self.parts[0][0].dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(b - a for _, a, b in self.parts), self.parts[0][0].shape[1]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum({file.path: file.size for file, _, _ in self.parts}.values())

    def open(self) -> FileRows:
        """Map the files in this process, each once."""
        return FileRows([file.open()[first:stop] for file, first, stop in self.parts])


def for_processes(X: Any, *, is_finite: bool) -> Any:
    """Return rows that other processes of this computer open by their paths, if that saves a copy.

    ``is_finite`` says that somebody has looked for NaN already.
    """
    rows = FileRows([X]) if is_mapped(X) else X
    large = len(X) * X.shape[1] * X.dtype.itemsize >= base.LARGE_SELECTION
    paths = JoinedFiles.under(rows) if large and isinstance(rows, FileRows) else None
    if paths is None:
        return X
    rows = FileRows(rows.parts, is_finite)
    rows.paths = paths
    return rows


class ClusterRows(RowStore):
    """Rows of a mapped file, or a selection of them, that workers of a cluster read.

    ``device`` is where the workers keep their rows.
    """

    home = "cluster"

    def __init__(
        self,
        file: MappedFile | JoinedFiles,
        rows: slice | Array,
        device: str | None,
        scalers: tuple[Any, ...] = (),
    ) -> None:
        self.file, self.rows, self.device, self.scalers = file, rows, device, scalers
        n_rows = rows.stop - rows.start if isinstance(rows, slice) else len(rows)
        self.shape, self.dtype = (n_rows, file.shape[1]), np.dtype(file.dtype)
        self._finite: bool | None = None
        self._mapped: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_mapped": None}

    @classmethod
    def of(cls, X: Any, device: str | None) -> ClusterRows:
        """Return the rows of a mapped file; those of other arrays have no path."""
        if isinstance(X, ClusterRows):
            return cls(X.file, X.rows, device, X.scalers)
        if isinstance(X, Standardized):
            return cls.of(X.source, device).standardize(X.scaler)
        import_distributed()
        found: Any = MappedFile.under(X) if isinstance(X, np.ndarray) else None
        if isinstance(X, FileRows):
            files = JoinedFiles.under(X)
            found = files and (files, slice(0, len(X)))
        if found is None:
            raise ValueError(
                Message(
                    "These instances are in memory, and the workers of a cluster open files by "
                    f"their path. Write them first: {_WRITE}. "
                    'Select bags after bags.to("dask"), not before.'
                )
            )
        file, rows = found
        return cls(file, rows, device)

    @property
    def is_finite(self) -> bool:  # type: ignore[override]
        """Whether all rows are finite; the workers look, and verify the file, when first asked."""
        if self._finite is None:
            self._finite = all(each_part(self, _is_finite, parts_of(self)))
        return self._finite

    def __getitem__(self, key: Any) -> ClusterRows:
        if isinstance(key, slice) and isinstance(self.rows, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                chosen: Any = slice(self.rows.start + start, self.rows.start + max(start, stop))
                return self._part(chosen)
        return self._part(self._numbers()[key])

    def _part(self, rows: slice | Array) -> ClusterRows:
        part = ClusterRows(self.file, rows, self.device, self.scalers)
        part._finite, part._mapped = self._finite or None, self._mapped
        return part

    def standardize(self, scaler: Any) -> ClusterRows:
        """Return the rows as a fitted scaler makes them, by whoever reads them."""
        scaled = self._part(self.rows)
        scaled.scalers = (*self.scalers, scaler)
        return scaled

    def _numbers(self) -> Array:
        if isinstance(self.rows, slice):
            return np.arange(self.rows.start, self.rows.stop)
        return self.rows

    def local(self) -> Any:
        """Return the rows for passes of this process: mapped, not read."""
        rows = np.asarray(self.mapped[self.rows])
        standardize: Any = Standardized
        return reduce(standardize, self.scalers, FileRows([rows])) if self.scalers else rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.local(), dtype=dtype)

    @property
    def mapped(self) -> Any:
        """The file, mapped by this process."""
        if self._mapped is None:
            self._mapped = self.file.open()
        return self._mapped

    def crowds(self, memory: int | None) -> bool:
        """Whether the file is large beside the memory of a worker, which counts mapped pages."""
        return bool(memory) and self.file.size > _CROWDED * (memory or 0)

    def release(self) -> None:
        """Unmap the pages of these rows: they stay in the page cache, and leave this process."""
        mapped = self.mapped
        if not isinstance(self.rows, slice) or not len(self):
            return
        if isinstance(self.file, JoinedFiles) or self.file.by_columns:
            return
        page, width = mmap.PAGESIZE, mapped.strides[0]
        first = self.file.offset % mmap.ALLOCATIONGRANULARITY + self.rows.start * width
        start = first // page * page
        if hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
            mapped._mmap.madvise(mmap.MADV_DONTNEED, start, first + len(self) * width - start)


def each_part(
    rows: ClusterRows, function: Callable[..., Any], parts: list[Any], *args: Any
) -> list[Any]:
    """Return ``function(rows[a:b], *more, *args)`` of every part (a, b, *more).

    Every worker has one task. The result does not depend on the workers: a lost task is done again.
    """
    client = current_client()
    workers = live_workers(client)
    ends = np.linspace(0, len(parts), len(workers) + 1).round().astype(int)
    shares = [parts[a:b] for a, b in pairwise(ends) if a < b]
    calls = [client.submit(_apply, rows, function, share, args, pure=False) for share in shares]
    return [value for values in client.gather(calls) for value in values]


def _apply(
    rows: ClusterRows, function: Callable[..., Any], parts: list[Any], args: tuple[Any, ...]
) -> list[Any]:
    from bagwise.tolerances import one_blas_thread

    values, is_crowded = [], rows.crowds(memory_of_worker())
    rows.mapped  # noqa: B018  (parts share the map)
    with one_blas_thread():
        for first, stop, *more in parts:
            part = rows[first:stop]
            values.append(function(part, *more, *args))
            if is_crowded:
                part.release()
    return values


def memory_of_worker() -> int | None:
    """Return how much memory the worker of this task may use; None is all there is."""
    return import_distributed().get_worker().memory_manager.memory_limit


def _is_finite(rows: ClusterRows) -> bool:
    for some in row_blocks(len(rows), rows.shape[1] * rows.dtype.itemsize):
        block = np.asarray(rows[some])
        verify(block)
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(block.sum(dtype=np.float64)):
                return False
    return True
