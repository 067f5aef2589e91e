"""Files: opened with named errors, believed only what they can hold, replaced as a whole.

Sizes that a file claims are compared with what it holds before the memory is asked for. Everything
is written under a temporary name in the same folder, ``.bagwise-*.part``, flushed to the disk and
then renamed. A full disk, a kill or a power failure leaves the old content untouched and at most
something under the temporary name, which may be deleted.
"""

from __future__ import annotations

import csv
import ctypes
import errno
import gzip
import importlib.util
import io
import math
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from pathlib import Path
from secrets import token_hex
from typing import IO, Any

import numpy as np

from bagwise.bags.stored import BLOCK_BYTES as BLOCK_BYTES
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

_GZIP_MAGIC = b"\x1f\x8b"
_MOST_DEFLATED = 1100  # bytes from one: deflate reaches 1032 on zeros, other methods less
_UNSUSPECTED_BYTES = 1 << 28  # 256 MiB of text fit everywhere, however well they compress
_MOST_TEXT = 200  # characters from one byte: tables of numbers reach 5 to 50
_HAS_SYSCONF = hasattr(os, "sysconf")  # not on Windows
_SWAP = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS are the same number
_NOT_OFFERED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # by this file system or kernel


# Reading ------------------------------------------------------------------------------------------


class _Gunzip(gzip.GzipFile):
    """A gzip stream that refuses to become much longer than a table would."""

    def __init__(self, raw: IO[bytes], path: Path) -> None:
        super().__init__(fileobj=raw)
        self._path, self._size = path, path.stat().st_size

    def read1(self, size: int = -1) -> bytes:
        """Read what is there; streams of text read through this method."""
        block = super().read1(size)
        refuse_bomb(self._path, self.tell(), self._size)
        return block


def require(module: str, extra: str) -> None:
    """Raise an error that says how to install a module, if it is missing."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(f"This format needs {module}: pip install 'bagwise[{extra}]'.")


def refuse_stream(path: Any) -> None:
    """Refuse pipes and devices, which cannot be read twice, and may never end."""
    found = Path(path) if isinstance(path, str | Path) else None
    if found and found.exists() and not (found.is_file() or found.is_dir()):
        raise FormatError(path, "is no regular file: write its content to one first.")


@contextmanager
def open_source(path: Path) -> Iterator[io.TextIOWrapper]:
    """Open a file, gzip or plain, as UTF-8 text; damage raises the errors of this package."""
    if path.is_dir():
        raise FormatError(path, "is a folder, expected a file.")
    refuse_stream(path)
    with open(path, "rb") as raw, _name_errors(path):
        stream: Any = _Gunzip(raw, path) if raw.peek(2)[:2] == _GZIP_MAGIC else raw
        try:
            yield io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        except FormatError:  # damaged bytes often look like malformed text: read to the checksum
            while stream is not raw and stream.read1(BLOCK_BYTES):
                pass
            raise


@contextmanager
def _name_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise TruncatedFileError(path, f"the gzip stream ends too early ({error}).") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise CorruptFileError(path, f"the gzip stream is damaged ({error}).") from error
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text ({error.reason}): save it as UTF-8."
        raise CorruptFileError(path, why) from error
    except csv.Error as error:
        raise FormatError(path, f"cannot be split into fields ({error}).") from error


@contextmanager
def write_text(path: Path) -> Iterator[IO[str]]:
    """Write UTF-8 text, compressed if the name ends in ``.gz``."""
    with writing(path) as raw, as_text(raw, path.suffix == ".gz") as file:
        yield file


def as_text(raw: IO[bytes], is_zipped: bool) -> IO[str]:
    """Return a text file over an open binary one."""
    # Without a time stamp the same bags give the same bytes.
    stream: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if is_zipped else raw
    return io.TextIOWrapper(stream, encoding="utf-8", newline="")


def crc32_of(file: IO[bytes], stop: int = sys.maxsize) -> int:
    """Return the CRC-32 of a binary file up to byte ``stop``."""
    file.seek(0)
    blocks = iter(lambda: file.read(min(BLOCK_BYTES, stop - file.tell())), b"")
    return reduce(lambda crc, block: zlib.crc32(block, crc), blocks, 0)


# What a file may claim ----------------------------------------------------------------------------


def rows_per_block(n_values: int) -> int:
    """Return how many rows of so many numbers are read or written at a time."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_values)))  # 8 bytes of a float64


@contextmanager
def name_damage(
    path: Path, expected: str, kind: type[FormatError] = CorruptFileError
) -> Iterator[None]:
    """Turn what libraries raise for damaged files into an error that names the file.

    It can be anything: NumPy, SciPy, zipfile, h5py and PyTorch raise dozens of kinds.
    """
    try:
        yield
    except (FormatError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:
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
    with name_damage(file, "a .npy array"):
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
    except Exception as error:
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
    with name_damage(path, expected, kind), zipfile.ZipFile(path) as archive:
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


# Writing ------------------------------------------------------------------------------------------


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary path for a file or folder, which replaces ``path`` when it is complete.

    A link stays a link: what it points to is replaced. An existing file keeps its permissions.
    """
    target = Path(os.path.realpath(path))
    partial = target.with_name(f".bagwise-{token_hex(4)}.part")
    try:
        with _name_target(path, partial):
            yield partial
            _sync_all(partial)
            if target.exists():
                shutil.copymode(target, partial)
            if partial.is_dir() and target.is_dir():
                _exchange(partial, target)
            else:
                os.replace(partial, target)
        sync(target.parent)
    finally:
        with suppress(OSError):  # what cannot be deleted keeps its temporary name
            shutil.rmtree(partial) if partial.is_dir() else partial.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file for writing, which replaces ``path`` when it is complete."""
    with replacing(path) as partial, partial.open("wb") as file:
        yield file


@contextmanager
def _name_target(path: Path, partial: Path) -> Iterator[None]:
    """Name the file that the user asked for in errors of the system, not the temporary one."""
    try:
        yield
    except OSError as error:
        place = "" if error.filename is None else os.fsdecode(error.filename)
        if error.errno is None or not f"{place or partial}".startswith(str(partial)):
            raise
        problem = f"{error.strerror}; it could not be written, nothing was changed"
        raise OSError(error.errno, problem, str(path)) from error


def _sync_all(path: Path) -> None:
    for inside in path.iterdir() if path.is_dir() else ():
        _sync_all(inside)
    sync(path)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to the disk."""
    if path.is_dir() and os.name == "nt":
        return  # Windows opens no folders
    number = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(number)
    except OSError as error:
        if not (path.is_dir() and error.errno in _NOT_OFFERED):
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(number)


def _exchange(new: Path, old: Path) -> None:
    """Swap two folders, in one step where the system offers it."""
    if _swap(os.fsencode(new), os.fsencode(old)):
        return
    aside = new.with_suffix(".old.part")  # a kill between the next two lines leaves this name
    os.rename(old, aside)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(aside, old)
        raise
    os.rename(aside, new)


def _swap(new: bytes, old: bytes) -> bool:
    """Swap two paths by the system call for it; return whether there is one."""
    if sys.platform not in ("linux", "darwin"):
        return False
    library = ctypes.CDLL(None, use_errno=True)
    try:
        done = (
            library.renameat2(0, new, 0, old, _SWAP)  # paths are absolute: 0 is not looked at
            if sys.platform == "linux"
            else library.renamex_np(new, old, _SWAP)
        )
    except AttributeError:  # an older C library
        return False
    number = ctypes.get_errno()
    if done != 0 and number not in _NOT_OFFERED:
        raise OSError(number, os.strerror(number), os.fsdecode(new))
    return done == 0


def cache_folder() -> Path:
    """Return the folder of files to keep: ``BAGWISE_CACHE``, else the system's cache folder."""
    import platformdirs

    return Path(os.environ.get("BAGWISE_CACHE") or platformdirs.user_cache_dir("bagwise"))
