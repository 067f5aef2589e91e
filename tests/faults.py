"""Faults in the middle of writing: the n-th call that writes fails, or the process is killed in it.

Counted are the calls that change something under a folder: opening for writing, writes to files
(of which half is written), fsync, rename, mkdir and the swap of two folders.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from bagwise.io import _files

__all__ = ["after_every_fault", "count_calls", "faulty", "snapshot", "strays"]


class _Counter:
    def __init__(self, at, fault):
        self.calls, self.at, self.fault = 0, at, fault

    def due(self):
        self.calls += 1
        return self.calls == self.at

    def strike(self, name=None):
        if self.fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        raise OSError(self.fault, os.strerror(self.fault), name)


@contextmanager
def faulty(folder: Path, at: int = 0, fault: int | str = "kill"):
    """Let call number ``at`` fail with an error number, or kill the process; yield the counter."""
    counter = _Counter(at, fault)
    real_open, real_mkdir, root = io.open, os.mkdir, str(folder)

    class File(io.FileIO):
        def write(self, data):
            if counter.due():
                super().write(bytes(data)[: len(data) // 2])
                counter.strike()
            return super().write(data)

    def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, **more):
        is_ours = not isinstance(file, int) and os.fspath(file).startswith(root)
        if not (is_ours and set(mode) & set("wax+")):
            return real_open(file, mode, buffering, encoding, errors, newline, **more)
        if counter.due():
            counter.strike(os.fspath(file))
        raw = File(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffered = (io.BufferedRandom if "+" in mode else io.BufferedWriter)(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    def counted(call):
        def wrapped(*arguments, **options):
            known = call is real_mkdir and os.path.isdir(arguments[0])
            if not known and counter.due():
                counter.strike()
            return call(*arguments, **options)

        return wrapped

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(builtins, "open", opened)
        patch.setattr(io, "open", opened)
        patch.setattr(os, "fsync", counted(lambda number: None))  # no test pulls the plug
        for name in ("replace", "rename", "mkdir"):
            patch.setattr(os, name, counted(getattr(os, name)))
        patch.setattr(_files, "_swap", counted(_files._swap))
        yield counter


def count_calls(folder: Path, write) -> int:
    """Return the number of calls that write."""
    with faulty(folder) as counter:
        write()
    return counter.calls


def snapshot(path: Path):
    """Return what is at a path: bytes, a dict of them, or None; the date in .mat files is cut."""
    if path.is_dir():
        return {p.name: snapshot(p) for p in sorted(path.iterdir()) if not _is_part(p)}
    if not path.exists():
        return None
    content = path.read_bytes()
    return content[116:] if path.suffix == ".mat" else content


def _is_part(path):
    return path.name.startswith(".bagwise-") and path.name.endswith(".part")


def strays(folder: Path, *known: str) -> list[str]:
    """Return the files of a folder that are neither known nor under a temporary name."""
    return sorted(p.name for p in folder.iterdir() if not _is_part(p) and p.name not in known)


def _killed(folder: Path, at: int, write) -> None:
    child = os.fork()
    if child == 0:
        try:
            with faulty(folder, at, "kill"):
                write()
        finally:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def after_every_fault(folder: Path, write_old, write_new, faults):
    """Yield (call, fault, outcome) after each fault; the folder held what ``write_old`` wrote.

    ``outcome`` is what ``write_new`` returned or raised, None after a kill.
    """
    old = folder.with_name("old")
    write_old()
    shutil.copytree(folder, old)  # quicker than to write it every time
    n_calls = count_calls(folder, write_new)
    for fault in faults:
        for at in range(1, n_calls + 1):
            shutil.rmtree(folder)
            shutil.copytree(old, folder)
            if fault == "kill":
                _killed(folder, at, write_new)
                yield at, fault, None
                continue
            with faulty(folder, at, fault):
                try:
                    outcome = write_new()
                except OSError as error:
                    outcome = error
            yield at, fault, outcome
