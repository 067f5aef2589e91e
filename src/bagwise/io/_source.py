"""Open a file for reading: gzip or plain, with a progress bar and named errors."""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import os
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

_GZIP_MAGIC = b"\x1f\x8b"
_PATIENCE_SECONDS = 2.0


class Source:
    """An open binary stream that knows how far it has been read.

    Parameters
    ----------
    path : Path
        The file; gzip is recognised by its first bytes.
    progress : bool or None
        Show a bar; None shows one on a terminal when reading takes more than two seconds.
    """

    def __init__(self, path: Path, progress: bool | None) -> None:
        self._raw = open(path, "rb")  # noqa: SIM115 - closed by close()
        self.size = path.stat().st_size
        is_gzip = self._raw.peek(2)[:2] == _GZIP_MAGIC
        self.stream: IO[bytes] = gzip.GzipFile(fileobj=self._raw) if is_gzip else self._raw  # type: ignore[assignment]
        self._bar = LateBar(path.name, self.size, progress)

    def advance(self) -> float:
        """Move the bar; return how much of the file has been read, by its bytes on the disk."""
        position = self._raw.tell()
        self._bar.update(position)
        return position / max(self.size, 1)

    def text(self) -> io.TextIOWrapper:
        """Return the stream as UTF-8 text."""
        # Kept: a wrapper that is garbage-collected closes the file under it.
        self._text = io.TextIOWrapper(self.stream, encoding="utf-8-sig", newline="")
        return self._text

    def check_rest(self) -> None:
        """Read gzip to its checksum: damage often shows first as text that makes no sense."""
        while isinstance(self.stream, gzip.GzipFile) and self.stream.read(1 << 20):
            pass

    def close(self) -> None:
        """Close the file and take the bar away."""
        self._bar.close()
        self._raw.close()


class LateBar:
    """A progress bar that appears only when the work turns out to be long."""

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
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def require(module: str, extra: str) -> None:
    """Say how to install what a format needs, where it is missing."""
    if importlib.util.find_spec(module) is None:
        raise ImportError(f"This format needs {module}: pip install 'bagwise[{extra}]'.")


@contextmanager
def open_source(path: Path, progress: bool | None = False) -> Iterator[Source]:
    """Open a file; damage found while reading gets its named error."""
    if path.is_dir():
        raise FormatError(path, "is a folder, expected a file.")
    source = Source(path, progress)
    try:
        with named_errors(path):
            try:
                yield source
            except FormatError:
                source.check_rest()
                raise
    finally:
        source.close()


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Turn what Python's readers raise into the errors of this package."""
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
    """Write UTF-8 text, gzip by name; the file appears under its name only when it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with partial.open("wb") as raw:
            is_gzip = path.suffix == ".gz"
            # No time stamp inside: the same bags give the same bytes.
            stream: Any = gzip.GzipFile("", "wb", fileobj=raw, mtime=0) if is_gzip else raw
            with io.TextIOWrapper(stream, encoding="utf-8", newline="") as file:
                yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
