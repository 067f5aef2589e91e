"""One run at a time in a folder of results."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bagwise.io._records import ResultsError

LOCK = "run.lock"
_FAR = 1 << 30  # Windows locks bytes against reading: one beyond the text


@contextmanager
def locked(folder: Path) -> Iterator[None]:
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
