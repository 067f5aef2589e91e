"""The one home of limits: how much is read at a time, and how much a file may claim to hold.

Sizes that a file claims are compared with what it holds before the memory is asked for.
"""

from __future__ import annotations

import io
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from bagwise.bags.stored import BLOCK_BYTES as BLOCK_BYTES
from bagwise.io.errors import CorruptFileError, FormatError

_MOST_DEFLATED = 1100  # bytes from one: deflate reaches 1032 on zeros, other methods less
_UNSUSPECTED_BYTES = 1 << 28  # 256 MiB of text fit everywhere, however well they compress
_MOST_TEXT = 200  # characters from one byte: tables of numbers reach 5 to 50
_HAS_SYSCONF = hasattr(os, "sysconf")  # not on Windows

# What NumPy and the parser below it raise for headers that are not headers.
NPY_ERRORS = (
    *(ValueError, EOFError, SyntaxError, tokenize.TokenError, TypeError, KeyError, IndexError),
    *(OverflowError, MemoryError, RecursionError),
    zipfile.BadZipFile,  # the first bytes are those of an archive
)
# What the zipfile module raises for damaged archives.
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)


def rows_per_block(n_values: int) -> int:
    """Return how many rows of so many numbers are read or written at a time."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_values)))  # 8 bytes of a float64


@contextmanager
def name_damage(
    path: Path,
    expected: str,
    errors: tuple[type[Exception], ...],
    kind: type[FormatError] = CorruptFileError,
) -> Iterator[None]:
    """Turn what a library raises for damaged files into an error that names the file."""
    try:
        yield
    except (FormatError, FileNotFoundError):
        raise
    except errors as error:
        raise kind(path, f"is truncated or not {expected} ({error}).") from error


def refuse_claim(path: Path, what: str, n_bytes: int, held: int | None = None) -> None:
    """Refuse contents that cannot be in a file of ``held`` bytes, or not in memory."""
    held = path.stat().st_size if held is None else held
    if n_bytes > _MOST_DEFLATED * held:
        problem = f"{what} claims {n_bytes} bytes, which {held} stored bytes cannot hold."
        raise CorruptFileError(path, problem)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if _HAS_SYSCONF else math.inf
    if n_bytes > memory:
        remedy = "Store it as .bags, which is read piece by piece."
        raise FormatError(path, f"{what} has {n_bytes} bytes, the memory {memory}. {remedy}")


def size_of(shape: Sequence[int], itemsize: int) -> int:
    """Return the bytes of an array, without overflow."""
    return math.prod(map(int, shape)) * itemsize


def refuse_bomb(path: Path, n_read: int, size: int) -> None:
    """Refuse compressed text that becomes longer than any table would."""
    if n_read > _UNSUSPECTED_BYTES and n_read > _MOST_TEXT * size:
        problem = f"{size} bytes became more than {n_read}: this is no compressed table."
        raise CorruptFileError(path, f"{problem} If you trust it, decompress it first.")


def map_npy(file: Path) -> np.memmap:
    """Map a .npy file; one that is malformed or too short is a named error."""
    with name_damage(file, "a .npy array", NPY_ERRORS):
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    if not isinstance(mapped, np.memmap):
        mapped.close()
        raise CorruptFileError(file, "is a .npz archive, expected a .npy array. Rename it.")
    return mapped


def read_npy(path: Path, name: str, content: bytes) -> Any:
    """Return the array in the bytes of a .npy file; ``name`` is its place in the file ``path``."""
    stream = io.BytesIO(content)
    try:
        _refuse_short(stream, len(content))
        return np.lib.format.read_array(stream, allow_pickle=False)
    except NPY_ERRORS as error:
        raise CorruptFileError(path, f"{name} is not an array of numbers ({error}).") from error


def _refuse_short(stream: IO[bytes], n_bytes: int) -> None:
    version = np.lib.format.read_magic(stream)
    of_version = f"read_array_header_{min(version[0], 2)}_0"  # 3 differs from 2 in names of fields
    shape, _, dtype = getattr(np.lib.format, of_version)(stream)
    claimed = size_of(shape, dtype.itemsize)
    if claimed != n_bytes - stream.tell():
        raise ValueError(f"{claimed} bytes claimed, {n_bytes - stream.tell()} there")
    stream.seek(0)


@contextmanager
def open_zip(
    path: Path, expected: str, kind: type[FormatError] = CorruptFileError
) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive; damage found while it is read is a named error."""
    with name_damage(path, expected, _ZIP_ERRORS, kind), zipfile.ZipFile(path) as archive:
        yield archive


def unzip(
    path: Path, archive: zipfile.ZipFile, names: Sequence[str] | None = None
) -> dict[str, bytes]:
    """Return members of a zip archive, all or those of the given names."""
    check_members(path, archive)
    return {name: archive.read(name) for name in (archive.namelist() if names is None else names)}


def check_members(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse encryption, and sizes that are impossible by themselves or in sum."""
    entries, held = archive.infolist(), path.stat().st_size
    for entry in entries:
        if entry.flag_bits & 1:
            problem = f"{entry.filename} is encrypted. Decrypt it with a tool for zip files first."
            raise FormatError(path, problem)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problem = f"{entry.filename} is compressed by method {entry.compress_type}, expected 8."
            raise FormatError(path, problem)
        refuse_claim(path, entry.filename, entry.file_size, min(entry.compress_size, held))
    refuse_claim(path, "the sum of its members", sum(entry.file_size for entry in entries))
