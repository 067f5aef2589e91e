"""What this process may use of memory, and how many fits find room in it at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.rowstores.ahead import is_mapped

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_BYTES_PER_ROW, _MOST_HESSIANS = 24, 32  # of a fit that is swept (`bagwise.designs.swept`)
_SHARE = 0.125  # of the memory, for fits that share passes: the pages of the file need the rest
_UNKNOWN = 1 << 35  # 32 GiB, where the system does not tell
_SMALL_FILE = 1 << 27  # 128 MiB: half of less is copied (`bagwise.bags.selection`), not read
_FEW_ROWS = 50_000  # as in `bagwise.estimators.sweeping`: fits to less are not swept


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


def lies_in_files(X: Any) -> bool:
    """Return whether this process reads rows from files, whenever they are asked for."""
    return is_mapped(X) or getattr(X, "is_here", False)


def n_side_by_side(X: Any) -> int:
    """Return how many fits to rows may share passes; 0 where there is nothing to share."""
    told = getattr(X, "n_side_by_side", None)  # by rows that are elsewhere
    if told is not None:
        return told
    if not lies_in_files(X) or len(X) < _FEW_ROWS:
        return 0
    if len(X) * X.shape[1] * X.dtype.itemsize < _SMALL_FILE:
        return 0
    return room_for_fits(X.shape, _SHARE * min(memory_limit(), _UNKNOWN))


def room_for_fits(shape: tuple[int, int], n_bytes: float) -> int:
    """Return how many fits that are swept have room in so many bytes: one at least."""
    n_rows, n_features = shape
    state = _BYTES_PER_ROW * n_rows + _MOST_HESSIANS * 8 * n_features**2
    return max(1, int(n_bytes // max(1, state)))
