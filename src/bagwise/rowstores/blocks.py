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
BYTES_PER_ROW = 64  # on a device: what a pass computes for every row, beside products


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
