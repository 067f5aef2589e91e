"""`read` and `write`: the format by the name's suffix, else by the file's first bytes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bagwise.bags import Bags
from bagwise.io._assemble import Labelled
from bagwise.io._source import open_source
from bagwise.io._tabletext import sniff
from bagwise.io.arff import read_arff, write_arff
from bagwise.io.bagfiles import PATH_COLUMNS, read_folder, write_folder
from bagwise.io.c45 import read_c45, write_c45
from bagwise.io.columnar import read_arrow, read_parquet, write_arrow, write_parquet
from bagwise.io.errors import FormatError
from bagwise.io.matlab import read_mat, write_mat
from bagwise.io.store import MANIFEST, read_bags, write_bags
from bagwise.io.svmlight import read_svmlight, write_svmlight
from bagwise.io.tables import read_csv, write_csv

__all__ = ["read", "write"]

READERS: dict[str, Callable[..., Labelled]] = {
    "csv": read_csv,
    "parquet": read_parquet,
    "arrow": read_arrow,
    "arff": read_arff,
    "c45": read_c45,
    "svmlight": read_svmlight,
    "mat": read_mat,
    "bags": read_bags,
    "folder": read_folder,
}
WRITERS: dict[str, Callable[..., None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "arrow": write_arrow,
    "arff": write_arff,
    "c45": write_c45,
    "svmlight": write_svmlight,
    "mat": write_mat,
    "bags": write_bags,
    "folder": write_folder,
}
SUFFIXES = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".arff": "arff",
    ".data": "c45",
    ".names": "c45",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".mat": "mat",
    ".bags": "bags",
}
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "arrow", b"MATLAB 5.0": "mat"}
_SVMLIGHT = re.compile(r"(#.*\n)*\s*(\S+\s+qid:\S+|[^\s:,]+:[^\s:,]+:[^\s:,]+)(\s|$)")


def read(
    path: str | Path,
    bag: Any = None,
    label: Any = None,
    *,
    format: str | None = None,
    **options: Any,
) -> Labelled:
    """Read bags from any file or folder that bagwise knows.

    Parameters
    ----------
    path : str or Path
        The file or folder.
    bag, label : str or int, default=None
        Where the bags' names and labels are; see the format's own reader for what None means.
    format : str, default=None
        csv, parquet, arrow, arff, c45, svmlight, mat, bags or folder; None: by the name's suffix,
        else by the first bytes. A CSV with a column of paths is a "folder".
    **options : object
        Passed to the format's own reader, such as ``groups="patient"``.

    Returns
    -------
    bags : Bags
        The bags, in the order of the file.
    y : ndarray of shape (n_bags,) or None
        Their labels, None where there are none.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read, write
    >>> path = getfixture("tmp_path") / "bags.tsv"
    >>> write(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
    >>> read(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), array([1, 0]))
    """
    path = Path(path)
    if format is None:
        format = recognise(path)
    named = {k: v for k, v in (("bag", bag), ("label", label)) if v is not None}
    return _chosen(READERS, format)(path, **named, **options)


def write(
    path: str | Path, bags: Bags, y: Any = None, *, format: str | None = None, **options: Any
) -> None:
    """Write bags in the format that the name's suffix says.

    Parameters
    ----------
    path : str or Path
        The file or folder to write.
    bags : Bags
        The bags.
    y : array-like of shape (n_bags,), default=None
        Their labels.
    format : str, default=None
        As in `read`; None: by the suffix. A name without one is a folder with one file a bag.
    **options : object
        Passed to the format's own writer, such as ``nested=True``.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read, write
    >>> path = getfixture("tmp_path") / "bags.arff"
    >>> write(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
    >>> read(path)[1]
    array([1, 0])
    """
    path = Path(path)
    if format is None:
        format = "folder" if not path.suffix else SUFFIXES.get(suffix_of(path))
        if format is None:
            raise ValueError(
                f"{path}: the suffix {suffix_of(path)!r} says no format; use one of "
                f"{list(SUFFIXES)} or pass format=..."
            )
    _chosen(WRITERS, format)(path, bags, y, **options)


def _chosen(table: dict[str, Callable], format: str) -> Callable:
    if format not in table:
        raise ValueError(f"There is no format {format!r}; there are {', '.join(table)}.")
    return table[format]


def suffix_of(path: Path) -> str:
    """Return the suffix that says the format, without that of compression."""
    name = path.name.lower().removesuffix(".gz")
    return Path(name).suffix


def recognise(path: Path) -> str:
    """Return the name of a file's format."""
    if not path.exists():
        raise FileNotFoundError(f"There is no file or folder {path}.")
    if path.is_dir():
        return "bags" if (path / MANIFEST).is_file() or path.suffix == ".bags" else "folder"
    format = SUFFIXES.get(suffix_of(path)) or _by_content(path)
    if format == "csv" and _is_listing(path):
        return "folder"
    return format


def _is_listing(path: Path) -> bool:
    names = sniff(path, None, None).names
    return "bag" not in names[1:] and any(name in PATH_COLUMNS for name in names)


def _by_content(path: Path) -> str:
    with open_source(path) as source:
        start = source.stream.read(4096)
    for magic, format in _MAGIC.items():
        if start.startswith(magic):
            return format
    if b"\0" in start:
        raise FormatError(path, "is binary and of no known format. Pass format=...")
    text = start.decode("utf-8", errors="replace")
    if re.search(r"^\s*@relation", text, re.IGNORECASE | re.MULTILINE):
        return "arff"
    return "svmlight" if _SVMLIGHT.match(text) else "csv"
