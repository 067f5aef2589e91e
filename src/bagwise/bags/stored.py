"""Bags that lie in files: what a memory map holds is checked when it is first read.

A file is cut into blocks, and the store keeps the CRC-32 of each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np

from bagwise._typing import Array

BLOCK_BYTES = 1 << 22  # 4 MiB: a millisecond to verify, and 250 checksums per gigabyte


@dataclass
class _Guard:
    sums: list[int]
    error: Callable[[str], Exception]
    verified: set[int] = field(default_factory=set)


_GUARDS: WeakKeyDictionary[mmap, _Guard] = WeakKeyDictionary()


def checksums(file: Path) -> list[int]:
    """Return the CRC-32 of every block of a file."""
    with file.open("rb") as stream:
        return [crc32(block) for block in iter(lambda: stream.read(BLOCK_BYTES), b"")]


def guard(array: np.memmap, sums: list[int], error: Callable[[str], Exception]) -> None:
    """Let `verify` compare a mapped file with its checksums; ``error`` makes its error."""
    _GUARDS[array._mmap] = _Guard(sums, error)  # type: ignore[attr-defined]


def find_guard(array: np.memmap) -> tuple[list[int], Callable[[str], Exception]] | None:
    """Return what `guard` was given for a mapped file, for another process that maps it."""
    found = _GUARDS.get(array._mmap)  # type: ignore[attr-defined]
    return None if found is None else (found.sums, found.error)


def verify(rows: Array) -> None:
    """Verify the blocks of a file that an array lies in, each once; other arrays pass."""
    base: Any = rows
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    mapped: Any = getattr(base, "_mmap", None)
    found = None if mapped is None else _GUARDS.get(mapped)
    if found is None or not rows.size:
        return
    if mapped.size() < len(mapped):  # reading what is no longer there would end the process
        raise found.error("was truncated while it was open. Restore it, and open it again.")
    content = np.frombuffer(mapped, np.uint8)
    first, stop = (a - content.ctypes.data for a in np.lib.array_utils.byte_bounds(rows))
    for i in range(first // BLOCK_BYTES, -(-stop // BLOCK_BYTES)):
        if i not in found.verified:
            check_block(found.sums, i, content[i * BLOCK_BYTES :][:BLOCK_BYTES], found.error)
            found.verified.add(i)


def check_block(sums: list[int], i: int, block: Any, error: Callable[[str], Exception]) -> None:
    """Raise the error if block ``i`` is not the one that was written."""
    if i >= len(sums) or crc32(block) != sums[i]:
        what = f"was changed after it was written: the checksum of its block {i} is wrong."
        raise error(f"{what} Write it again, or restore it from a copy.")
