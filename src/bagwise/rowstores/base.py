"""Rows that are elsewhere (`RowStore`), and how much is handled at a time: blocks, memory."""

from __future__ import annotations

import mmap
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array


def here(rows: Any) -> Any:
    """Return rows as a matrix of this process."""
    return np.asarray(rows) if isinstance(rows, RowStore) else rows


class RowStore(ABC):
    """A matrix of instances that `Bags.X` may be: selections stay where they are.

    ``np.asarray(store[rows])`` brings rows into this process.
    """

    shape: tuple[int, int]
    dtype: np.dtype  # of the arrays that it gives
    ndim: int = 2
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

    def standardize(self, scaler: Any) -> RowStore:
        """Return the rows as a fitted scaler makes them, whenever and wherever they are read."""
        from bagwise.rowstores.files import Standardized

        return Standardized(self, scaler)

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


def place_rows(X: Any, where: str, device: Any = None, memory: Any = None) -> Any:
    """Return instances that are in the named place.

    ``device`` is for "dask", ``memory`` is for devices.
    """
    on_device = where.startswith(("cuda", "cpu"))
    if memory is not None and not (on_device and memory >= 0):
        raise ValueError(
            f"memory={memory!r} with {where!r}: it is the number of bytes, 0 or more, that stay on "
            'a device of PyTorch, such as "cuda".'
        )
    if where == "host":
        return here(X)
    if sp.issparse(X):
        raise ValueError(
            f"Sparse instances cannot be moved to {where!r}: fit them where they are, or make them "
            "dense with bags.replace(X=bags.X.toarray()) if there is memory for that."
        )
    if where == "dask":
        from bagwise.rowstores.cluster import ClusterRows

        return ClusterRows.of(X, device)
    if on_device:
        from bagwise.rowstores.device import DeviceRows

        return DeviceRows.of(X, where, memory)
    raise ValueError(f'Unknown place {where!r}: expected "cuda", "cuda:0", ..., "dask" or "host".')


BLOCK_BYTES = 1 << 24  # 16 MiB: large for BLAS and disks, small beside the data
CACHE_BYTES = 1 << 20  # 1 MiB, which a level-2 cache holds: read from memory once
LARGE_SELECTION = 4 * BLOCK_BYTES  # larger selections of a file stay there, or would fill memory
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_MEMINFO = Path("/proc/meminfo")  # of Linux
MOST_PARTS = 256  # of the rows: more workers than that would wait for each other
BYTES_PER_ROW = 64  # on a device: what a pass computes for every row, beside products


def count_rows(row_bytes: int) -> int:
    """Return the number of rows in a block."""
    return max(1, BLOCK_BYTES // max(1, row_bytes))


def row_blocks(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Yield ranges of rows of about `BLOCK_BYTES` each."""
    step = count_rows(row_bytes)
    return (slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step))


def parts_of(rows: Any) -> list[tuple[int, int]]:
    """Return ranges of rows for workers; they depend on the shape and the data type only."""
    n_rows, width = rows.shape
    step = max(count_rows(width * rows.dtype.itemsize), -(-n_rows // MOST_PARTS))
    return list(pairwise([*range(0, n_rows, step), n_rows]))


def is_mapped(X: Any) -> bool:
    """Return whether an array is a file that is mapped, or a part of one."""
    return file_of(X) is not None


def file_of(X: Any) -> np.memmap | None:
    """Return the mapped file that an array is part of; None for other arrays."""
    found = None
    while isinstance(X, np.ndarray):
        found, X = X if isinstance(X, np.memmap) else found, X.base
    return found


def memory_limit() -> float:
    """Return the bytes that this process may use: the memory, or the limit of its container.

    Infinity if the system does not tell (Windows).
    """
    if not hasattr(os, "sysconf"):
        return np.inf
    limits = [float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))]
    for path in map(Path, _CGROUPS):
        text = path.read_text().strip() if path.is_file() else ""
        limits += [float(text)] if text.isdigit() else []
    return min(limits)


def available_memory() -> float:
    """Return the bytes that this process could use now; half of all where nobody tells.

    One process of several, of which there are as many as cores, may use its part.
    """
    limit = memory_limit()
    lines = _MEMINFO.read_text().splitlines() if _MEMINFO.is_file() else []
    free = [1024 * float(line.split()[1]) for line in lines if line.startswith("MemAvailable")]
    available = min(limit, *free) if free else limit / 2
    return available / (os.cpu_count() or 1) if parent_process() else available


def lies_in_files(X: Any) -> bool:
    """Return whether this process reads rows from files, whenever they are asked for."""
    return is_mapped(X) or getattr(X, "is_here", False)


@contextmanager
def read_ahead(X: Any) -> Iterator[Callable[[float], None]]:
    """Bring the pages of some rows into memory while others are computed with.

    Without it, a pass reads, computes, reads, ...: the disk waits for the processor and back.
    Whoever passes calls what is yielded with the number of rows that are done with. Rows that no
    file is mapped to are left alone, and so are few rows.
    """
    if not (is_mapped(X) and X.flags.c_contiguous and X.nbytes >= LARGE_SELECTION):
        yield lambda row: None
        return
    pages, moved, done = _pages_of(X), threading.Condition(), 0.0

    def advance(row: float) -> None:
        nonlocal done
        if row * X.strides[0] - done >= BLOCK_BYTES:
            with moved:
                done = row * X.strides[0]
                moved.notify()

    def touch() -> None:
        start = 0.0
        while start < len(pages):
            pages[int(start) : int(start) + BLOCK_BYTES : mmap.PAGESIZE].max(initial=0)
            start += BLOCK_BYTES
            with moved:
                while start >= done + LARGE_SELECTION:
                    moved.wait()
                start = max(start, done)  # what is done with may have left memory again

    thread = threading.Thread(target=touch, daemon=True)
    thread.start()
    try:
        yield advance
    finally:
        advance(np.inf)
        thread.join()


def _pages_of(X: Array) -> Array:
    return np.asarray(X).reshape(-1).view(np.uint8)


def map_ranges(X: Any, ranges: Iterable[slice], function: Callable[[slice], Any]) -> list[Any]:
    """Return what a function makes of ranges of rows, read in order."""
    found = []
    with read_ahead(X) as advance:
        for rows in ranges:
            found.append(function(rows))
            advance(rows.stop)
    return found
