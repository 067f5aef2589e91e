"""How much is handled at a time: the sizes of blocks that temporary copies are made of."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

BLOCK_BYTES = 1 << 24  # 16 MiB: large for BLAS and disks, small beside the data
CACHE_BYTES = 1 << 20  # 1 MiB, which a level-2 cache holds: read from memory once
LARGE_SELECTION = 4 * BLOCK_BYTES  # larger selections of a file stay there, or would fill memory


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
