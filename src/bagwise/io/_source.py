"""Opening files to read and to write: gzip or plain, with named errors."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import IO, Any

from bagwise.io._atomic import writing
from bagwise.io._limits import BLOCK_BYTES, refuse_bomb
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

_GZIP_MAGIC = b"\x1f\x8b"


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
