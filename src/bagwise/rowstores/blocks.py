"""How much is handled at a time: blocks of rows, this process's memory, and fits that share it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

import numpy as np

BLOCK_BYTES = 1 << 24  # 16 MiB: large for BLAS and disks, small beside the data
CACHE_BYTES = 1 << 20  # 1 MiB, which a level-2 cache holds: read from memory once
LARGE_SELECTION = 4 * BLOCK_BYTES  # larger selections of a file stay there, or would fill memory
_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_MEMINFO = Path("/proc/meminfo")  # of Linux
BYTES_PER_ROW = 64  # state of a fit that is swept (benchmarks/scale_folds.py: 48 on the host)
MOST_SHARDS = 32  # of a fit that is swept: each has its own Hessian
MANY_ROWS = 50_000  # from here on passes over the rows cost more than what vectors would save


def count_rows(row_bytes: int) -> int:
    """Return the number of rows in a block."""
    return max(1, BLOCK_BYTES // max(1, row_bytes))


def row_blocks(n_rows: int, row_bytes: int) -> Iterator[slice]:
    """Yield ranges of rows of about `BLOCK_BYTES` each."""
    step = count_rows(row_bytes)
    return (slice(i, min(i + step, n_rows)) for i in range(0, n_rows, step))


def cut_rows(n_rows: int, row_bytes: int, most: int) -> list[tuple[int, int]]:
    """Return at most ``most`` ranges of rows, each of a block or more."""
    step = max(count_rows(row_bytes), -(-n_rows // most))
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


def n_side_by_side(X: Any) -> int:
    """Return how many fits to rows may share passes; 0 where there is nothing to share.

    The fits have one half of the memory, the pages of the files the other. Files that fit into it
    stay there, and are not read again.
    """
    told = getattr(X, "n_side_by_side", None)  # by rows that are elsewhere
    if told is not None:
        return told
    if not lies_in_files(X) or len(X) < MANY_ROWS:
        return 0
    half = available_memory() / 2
    fits_in = len(X) * X.shape[1] * X.dtype.itemsize <= half
    return 0 if fits_in else room_for_fits(X.shape, half)


def room_for_fits(shape: tuple[int, int], n_bytes: float) -> int:
    """Return how many fits that are swept have room in so many bytes: one at least."""
    n_rows, n_features = shape
    state = BYTES_PER_ROW * n_rows + MOST_SHARDS * 8 * n_features**2
    return max(1, int(n_bytes // max(1, state)))
