"""Bags that lie in files: what a memory map holds is checked when it is first read.

A file is cut into blocks, and the store keeps the CRC-32 of each. The indices of sparse rows are
checked as a whole at their first use, because compiled loops follow them without looking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array

BLOCK_BYTES = 1 << 22  # 4 MiB: a millisecond to verify, and 250 checksums per gigabyte
_PARTS = ("data", "indices", "indptr")


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


def _check_first(name: str) -> Any:
    """Return a property that reads a part of the rows, after their check."""

    def get(self: UncheckedRows) -> Array:
        return getattr(self._check_rows(), name)

    def put(self: UncheckedRows, value: Array) -> None:
        setattr(self._check_rows(), name, value)

    return property(get, put)


class UncheckedRows(sp.csr_array):
    """CSR rows that are checked when a part of them is first used.

    They hold what they read: the rows that ``check`` returned or, like what scipy makes of them,
    arrays that need no check.
    """

    data, indices, indptr = map(_check_first, _PARTS)
    _check: Callable[[], sp.csr_array] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        self._held: Any = SimpleNamespace()
        super().__init__(*args, **options)

    @classmethod
    def defer(
        cls, shape: tuple[int, int], dtype: Any, check: Callable[[], sp.csr_array]
    ) -> UncheckedRows:
        """Return rows of which only shape and data type are known yet."""
        rows = cls((0, shape[1]), dtype=dtype)
        rows._shape, rows._check = shape, check
        return rows

    @property
    def checked(self) -> bool:
        """Whether there is nothing left to check."""
        return self._check is None

    @property
    def dtype(self) -> Any:
        """Data type of the values."""
        return self._held.data.dtype  # known before the check

    def _check_rows(self) -> Any:
        if self._check is not None:
            checked = self._check()
            self._held, self._check = checked, None
            self.has_canonical_format = checked.has_canonical_format
        return self._held

    def __reduce__(self) -> Any:
        return sp.csr_array, ((self.data, self.indices, self.indptr), self.shape)
