"""Opening files to read and to write: gzip or plain, with a progress bar and named errors."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import reduce
from pathlib import Path
from typing import IO, Any

from bagwise.io._atomic import writing
from bagwise.io._limits import BLOCK_BYTES, refuse_bomb
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

_GZIP_MAGIC = b"\x1f\x8b"
_PATIENCE_SECONDS = 2.0  # a shorter wait needs no progress bar


class Source:
    """An open binary stream, gzip or plain, that knows how much of it has been read.

    With ``progress=None`` a bar is shown on a terminal if reading takes more than two seconds.
    """

    def __init__(self, path: Path, progress: bool | None) -> None:
        self._raw = open(path, "rb")  # noqa: SIM115 - closed by close()
        is_gzip = self._raw.peek(2)[:2] == _GZIP_MAGIC
        self.stream: Any = _Gunzip(self._raw, path) if is_gzip else self._raw
        self._bar = LateBar(path.name, path.stat().st_size, progress)

    def advance(self) -> None:
        """Update the progress bar."""
        self._bar.update(self._raw.tell())

    def text(self) -> io.TextIOWrapper:
        """Return the stream as UTF-8 text."""
        # Kept as an attribute: a garbage-collected wrapper closes the file under it.
        self._text = io.TextIOWrapper(self.stream, encoding="utf-8-sig", newline="")
        return self._text

    def check_rest(self) -> None:
        """Read gzip to its checksum: damaged bytes often look like malformed text first."""
        while isinstance(self.stream, gzip.GzipFile) and self.stream.read1(BLOCK_BYTES):
            pass

    def close(self) -> None:
        """Close the file and remove the progress bar."""
        self._bar.close()
        self._raw.close()


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


class LateBar:
    """A progress bar that appears only if the work takes long."""

    def __init__(
        self, title: str, total: int, wanted: bool | None, *, of_bytes: bool = True
    ) -> None:
        self._title, self._total, self._wanted = title, total, wanted
        self._of_bytes = of_bytes
        self._start, self._bar = time.monotonic(), None

    def update(self, done: int) -> None:
        """Show how much is done."""
        if self._bar is None and self._is_due():
            self._bar = self._open()
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done)

    def _is_due(self) -> bool:
        if self._wanted is None:
            return sys.stderr.isatty() and time.monotonic() - self._start > _PATIENCE_SECONDS
        return self._wanted

    def _open(self) -> Any:
        from rich import progress
        from rich.console import Console

        count = progress.DownloadColumn() if self._of_bytes else progress.MofNCompleteColumn()
        title = progress.TextColumn("reading {task.description}")
        columns = (title, progress.BarColumn(), count, progress.TimeRemainingColumn())
        bar = progress.Progress(*columns, console=Console(stderr=True))
        bar.add_task(self._title, total=self._total)
        bar.start()
        return bar

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


def require(module: str, extra: str) -> None:
    """Raise an error that says how to install a module, if it is missing."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(f"This format needs {module}: pip install 'bagwise[{extra}]'.")


@contextmanager
def open_source(path: Path, progress: bool | None = False) -> Iterator[Source]:
    """Open a file; damage found while reading raises the errors of this package."""
    if path.is_dir():
        raise FormatError(path, "is a folder, expected a file.")
    with closing(Source(path, progress)) as source, _name_errors(path):
        try:
            yield source
        except FormatError:
            source.check_rest()
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
        raise CorruptFileError(path, f"is not UTF-8 text ({error.reason}).") from error
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
