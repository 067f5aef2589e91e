"""Results on disk: one JSON line per finished piece of work, appended and synced at once.

A run that is killed leaves whole lines and at most one torn line at the end; the torn one is cut
off when the file is opened again. Of several records of the same piece of work the last one counts.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from bagwise.io._atomic import sync


class ResultsError(ValueError):
    """A file of results is damaged, or there is none."""


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return all records of a JSONL file, in order, without a torn last line."""
    if not path.is_file():
        return []
    content = path.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ResultsError(f"{path}, line {number} is not JSON: remove that line.") from error
        if not isinstance(record, dict):
            raise ResultsError(f"{path}, line {number} is not a record: remove that line.")
        records.append(record)
    return records


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
