"""Results on disk: one JSON line a finished cell, appended and synced at once.

A run that is killed leaves whole lines and at most one torn line at the end; the torn one is cut
off when the file is opened again. Of several records of a cell the last one counts.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

__all__ = ["ResultsError", "ResultsFile", "read_records"]


class ResultsError(ValueError):
    """A file of results is damaged, or there is none."""


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return all records of a file; a torn last line is not one.

    Parameters
    ----------
    path : Path
        The JSONL file.

    Returns
    -------
    list of dict
        One a line, in order.
    """
    if not path.is_file():
        return []
    content = path.read_bytes()
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise ResultsError(f"{path}, line {number} is no JSON: remove that line.") from error
        if not isinstance(record, dict):
            raise ResultsError(f"{path}, line {number} is no record: remove that line.")
        records.append(record)
    return records


class ResultsFile:
    """A file of results, open for appending.

    Parameters
    ----------
    path : Path
        The JSONL file; made where it is not there.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(path, "a+b")  # noqa: SIM115 (closed by __exit__)
        self._cut_torn_line()

    def _cut_torn_line(self) -> None:
        self._file.seek(0)
        content = self._file.read()
        self._file.truncate(content.rfind(b"\n") + 1)

    def append(self, record: dict[str, Any]) -> None:
        """Write a record; it is on the disk when this returns."""
        self._file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def __enter__(self) -> ResultsFile:
        return self

    def __exit__(self, *reason: object) -> None:
        self._file.close()
