"""Sizes that a file claims, compared with what it holds before the memory is asked for."""

from __future__ import annotations

import io
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from bagwise.io.errors import CorruptFileError, FormatError

# What NumPy and the parser below it raise for headers that are not headers.
NPY_ERRORS = (
    *(ValueError, EOFError, SyntaxError, tokenize.TokenError, TypeError, KeyError, IndexError),
    *(OverflowError, MemoryError, RecursionError),
    zipfile.BadZipFile,  # the first bytes are those of an archive
)
_MOST_DEFLATED = 1100  # bytes from one: deflate reaches 1032 on zeros, other methods less
_UNSUSPECTED_BYTES = 1 << 28  # 256 MiB of text fit everywhere, however well they compress
_MOST_TEXT = 200  # characters from one byte: tables of numbers reach 5 to 50


def refuse_claim(path: Path, what: str, n_bytes: int, held: int | None = None) -> None:
    """Refuse contents that cannot be in a file of ``held`` bytes, or not in memory."""
    held = path.stat().st_size if held is None else held
    if n_bytes > _MOST_DEFLATED * max(held, 1):
        problem = f"{what} claims {n_bytes} bytes, which a file of {held} bytes cannot hold."
        raise CorruptFileError(path, problem)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if _HAS_SYSCONF else math.inf
    if n_bytes > memory:
        remedy = "Store it as .bags, which is read piece by piece."
        raise FormatError(path, f"{what} has {n_bytes} bytes, the memory {memory}. {remedy}")


_HAS_SYSCONF = hasattr(os, "sysconf")  # not on Windows


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
    try:
        mapped = np.load(file, mmap_mode="r", allow_pickle=False)
    except NPY_ERRORS as error:
        raise CorruptFileError(file, f"is truncated or not a .npy array ({error}).") from error
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


def unzipped(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return a member of a zip archive; encryption and impossible sizes are named errors."""
    if entry.flag_bits & 1:
        problem = f"{entry.filename} is encrypted. Decrypt it with a tool for zip files first."
        raise FormatError(path, problem)
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        problem = f"{entry.filename} is compressed by method {entry.compress_type}, expected 8."
        raise FormatError(path, problem)
    held = min(entry.compress_size, path.stat().st_size)
    refuse_claim(path, entry.filename, entry.file_size, held)
    return archive.read(entry)


# What the zipfile module raises for damaged archives.
ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError),
)
