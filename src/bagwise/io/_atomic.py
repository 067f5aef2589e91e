"""Writing so that a file or folder is the old one or the new one, whatever happens meanwhile.

Everything is written under a temporary name in the same folder, ``.bagwise-*.part``, flushed to the
disk and then renamed. A full disk, a kill or a power failure leaves the old content untouched and
at most something under the temporary name, which may be deleted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import IO

_SWAP = 2  # RENAME_EXCHANGE of Linux and RENAME_SWAP of macOS are the same number
_NOT_OFFERED = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)  # by this file system or kernel


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
