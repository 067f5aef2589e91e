"""Results on disk: one JSON line per finished piece of work, appended and synced at once.

A run that is killed leaves whole lines and at most one torn line at the end; the torn one is cut
off when the file is opened again. Of several records of the same piece of work the last one counts.
One run at a time works in a folder of results.
"""

from __future__ import annotations

import json
import lzma
import os
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from bagwise.io._files import sync

LOCK = "run.lock"
_FAR = 1 << 30  # Windows locks bytes against reading: one beyond the text


class ResultsError(ValueError):
    """A file of results is damaged, or there is none."""


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return all records of a JSONL file, in order, without a torn last line.

    Records of earlier runs may be packed in a file of the same name and ``.xz``; they come first.
    """
    packed = path.with_name(f"{path.name}.xz")
    return [*_read_lines(packed, _unpack), *_read_lines(path)]


def _unpack(path: Path) -> bytes:
    try:
        return lzma.decompress(path.read_bytes())
    except lzma.LZMAError as error:
        raise ResultsError(f"{path} is damaged: {error}. Restore it, or remove it.") from error


def _read_lines(
    path: Path, read: Callable[[Path], bytes] = Path.read_bytes
) -> Iterator[dict[str, Any]]:
    content = read(path) if path.is_file() else b""
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ResultsError(f"{path}, line {number} is not JSON: remove that line.") from error
        if not isinstance(record, dict):
            raise ResultsError(f"{path}, line {number} is not a record: remove that line.")
        yield record


class ResultsFile:
    """A JSONL file of results, open for appending; made if missing."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by __exit__)
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)  # without a torn line
        sync(path.parent)

    def append(self, record: dict[str, Any]) -> None:
        """Write a record; it is on the disk when this returns, or not at all."""
        line = memoryview(json.dumps(record, allow_nan=False).encode() + b"\n")
        start = self._file.seek(0, os.SEEK_END)
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(start)
            problem = f"{error.strerror}; all earlier results are kept"
            raise OSError(error.errno, problem, str(self._path)) from error

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *reason: object) -> None:
        self._file.close()


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which names this process; made if missing.

    The system lets go of it when the process ends, however it ends. The file itself stays.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOCK, "a+", encoding="utf-8") as file:
        try:
            _take(file)
        except (BlockingIOError, PermissionError) as error:
            file.seek(0)
            holder = file.read().strip() or "another process"
            problem = f"{folder} is in use by another run ({holder})."
            remedy = "Wait until it has ended, or name another folder."
            raise ResultsError(f"{problem} {remedy}") from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}\n")
        file.flush()
        yield


def _take(file: IO[str]) -> None:
    if os.name == "nt":
        import msvcrt

        file.seek(_FAR)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
