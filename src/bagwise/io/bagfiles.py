"""A folder with one file a bag, and a CSV of their paths and labels: the habit in pathology.

path,label,patient
slides/a.h5,1,p1
slides/b.h5,0,p2
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bags import Bags
from bagwise.io._assemble import Labelled, refuse_duplicates
from bagwise.io._bagarrays import load_bag, save_bag
from bagwise.io._flatten import bag_columns, instance_columns, warn_left_out
from bagwise.io._grow import GrowingRows, typed_column
from bagwise.io._source import LateBar, open_source, write_text
from bagwise.io._tabletext import sniff
from bagwise.io.errors import (
    FormatError,
    LabelError,
    MixedTypeError,
    ShuffledBagError,
)

__all__ = ["read_folder", "write_folder"]

PATH_COLUMNS = ("path", "file", "filename")
_USUAL = {"bag": "bag", "label": "label", "groups": "group", "priors": "prior"}


def read_folder(
    path: str | Path,
    bag: str | None = None,
    label: str | None = None,
    *,
    file: str | None = None,
    groups: str | None = None,
    priors: str | None = None,
    key: str | None = None,
    instance_ids: str | None = None,
    dtype: Any = None,
    progress: bool | None = None,
) -> Labelled:
    """Read bags that lie in one file each, listed in a CSV.

    Parameters
    ----------
    path : str or Path
        The CSV, or a folder that holds just one CSV beside the bags.
    bag : str, default=None
        Column of the bags' names; None: "bag" where there is one, else the paths without suffix.
    label : str, default=None
        Column of the labels; None: "label" where there is one.
    file : str, default=None
        Column of the paths, relative to the CSV; None: "path", "file" or "filename". The files are
        .npy, .npz, .h5, .csv or .pt (the last needs torch; loaded with ``weights_only``).
    groups, priors : str, default=None
        Columns of the patients and of the expected fraction of positive instances.
    key : str, default=None
        Which array of an .npz, .h5 or .pt file; None: the only one, or "features".
    instance_ids : str, default=None
        Which array of an .npz or .h5 file names the instances, such as "coords".
    dtype : dtype, default=None
        Of the instances; None: as in the files, which must agree.
    progress : bool, default=None
        Show a progress bar, as in `read_csv`.

    Returns
    -------
    bags : Bags
        The bags, in the order of the CSV.
    y : ndarray of shape (n_bags,) or None
        Their labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.io import read_folder
    >>> folder = getfixture("tmp_path")
    >>> np.save(folder / "a.npy", np.ones((3, 2)))
    >>> np.save(folder / "b.npy", np.zeros((1, 2)))
    >>> _ = (folder / "slides.csv").write_text("path,label\\na.npy,1\\nb.npy,0\\n")
    >>> bags, y = read_folder(folder / "slides.csv")
    >>> bags.ids, bags.sizes, y
    (array(['a', 'b'], dtype='<U1'), array([3, 1]), array([1, 0]))
    """
    listing = find_listing(Path(path))
    named = {"bag": bag, "label": label, "groups": groups, "priors": priors}
    table, roles = _read_listing(listing, named, file)
    stack = _load_all(listing, table, roles, key, instance_ids, dtype, progress)
    rows, extra = stack.finish()
    columns = {role: _values(table, roles, role) for role in named if role in roles}
    y, ids = columns.pop("label", None), columns.pop("bag", None)
    if ids is None:
        ids = np.array([str(Path(row[roles["file"]]).with_suffix("")) for _, row in table])
    if "priors" in columns:
        columns["priors"] = columns["priors"].astype(np.float64)
    offsets = np.concatenate([[0], np.cumsum(stack.sizes)])
    return Bags(rows, offsets, ids=ids, **columns, **extra), y


def find_listing(path: Path) -> Path:
    """Return the CSV of a folder."""
    if not path.is_dir():
        return path
    usual = path / "bags.csv"
    listings = [usual] if usual.is_file() else sorted(path.glob("*.csv"))
    if len(listings) != 1:
        names = [p.name for p in listings][:5]
        raise FormatError(
            path, f"holds {len(listings)} CSV files {names}, expected one with paths and labels."
        )
    return listings[0]


Table = list[tuple[int, list[str]]]


def _read_listing(
    path: Path, named: dict[str, str | None], file: str | None
) -> tuple[Table, dict[str, int]]:
    text = sniff(path, True, None)
    refuse_duplicates(path, text.names)
    roles = {"file": _find_path_column(path, text.names, file)}
    for role, column in named.items():
        if column is not None and column not in text.names:
            raise FormatError(path, f"has no column {column!r}; it has {text.names}.", 1)
        column = column or _USUAL[role]
        if column in text.names:
            roles[role] = text.names.index(column)
    with open_source(path) as source:
        reader = csv.reader(source.text(), delimiter=text.delimiter, strict=True)
        next(reader)
        table = [(reader.line_num, row) for row in text.fields(path, reader) if row]
    if not table:
        raise FormatError(path, "lists no bags. Expected one line a bag.")
    _check_listing(path, table, roles, len(text.names))
    return table, roles


def _find_path_column(path: Path, names: list[str], file: str | None) -> int:
    for name in (file,) if file is not None else PATH_COLUMNS:
        if name in names:
            return names.index(name)
    wanted = file or "path"
    raise FormatError(
        path, f"has no column {wanted!r} of files; name it with file=..., {names}.", 1
    )


def _check_listing(path: Path, table: Table, roles: dict[str, int], width: int) -> None:
    seen: dict[str, int] = {}
    for line, row in table:
        if len(row) != width:
            raise FormatError(path, f"{len(row)} fields, expected {width}.", line)
        for role, j in roles.items():
            if not row[j]:
                error = LabelError if role == "label" else FormatError
                raise error(path, f"the {role} is missing.", line)
        name = row[roles.get("bag", roles["file"])]
        if name in seen:
            raise ShuffledBagError(path, f"{name!r} is on line {seen[name]} already.", line)
        seen[name] = line
        found = path.parent / row[roles["file"]]
        if not found.is_file():
            raise FormatError(path, f"there is no file {found}.", line)


def _load_all(
    listing: Path,
    table: Table,
    roles: dict[str, int],
    key: str | None,
    instance_ids: str | None,
    dtype: Any,
    progress: bool | None,
) -> _Stack:
    stack = _Stack(dtype)
    bar = LateBar(listing.name, len(table), progress, of_bytes=False)
    try:
        for done, (_, row) in enumerate(table, start=1):
            file = listing.parent / row[roles["file"]]
            stack.add(file, *load_bag(file, key, instance_ids), done / len(table))
            bar.update(done)
    finally:
        bar.close()
    return stack


class _Stack:
    """The rows of file after file, all of one width and data type."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._rows: GrowingRows | None = None
        self._extras: list[dict[str, Any]] = []
        self.sizes: list[int] = []

    def add(self, file: Path, values: Any, extra: dict[str, Any], fraction: float) -> None:
        """Append one bag; ``fraction`` of the bags are there with it."""
        own = values.dtype if values.dtype.kind == "f" else np.float64
        kind = np.dtype(self._dtype or own)
        if self._rows is None:
            self._rows = GrowingRows(values.shape[1], kind)
            self._first, self._width, self._kind = file, values.shape[1], kind
            self._known = set(extra)
        self._check(file, values.shape[1], kind, set(extra))
        self._rows.reserve(len(values), fraction)[:] = values
        self._extras.append(extra)
        self.sizes.append(len(values))

    def _check(self, file: Path, width: int, kind: Any, known: set[str]) -> None:
        first = self._first.name
        if width != self._width:
            raise FormatError(file, f"has {width} features, {first} has {self._width}.")
        if kind != self._kind:
            raise MixedTypeError(
                file, f"holds {kind}, {first} holds {self._kind}. Choose one with dtype=..."
            )
        if known != self._known:
            raise FormatError(file, f"holds {sorted(known)}, {first} holds {sorted(self._known)}.")

    def finish(self) -> tuple[Any, dict[str, Any]]:
        """Return all rows, and what is known of them."""
        assert self._rows is not None  # a listing is never empty
        joined = {n: np.concatenate([e[n] for e in self._extras]) for n in self._known}
        return self._rows.finish(), joined


def _values(table: Table, roles: dict[str, int], role: str) -> Any:
    texts = [row[roles[role]] for _, row in table]
    return typed_column(texts, exact_text=role != "label")


def write_folder(path: str | Path, bags: Bags, y: Any = None, *, suffix: str = ".npy") -> None:
    """Write one file a bag, and ``bags.csv`` with their paths, names and labels.

    Parameters
    ----------
    path : str or Path
        The folder, made where it is not there.
    bags : Bags
        The bags; sparse ones are written with their zeros.
    y : array-like of shape (n_bags,), default=None
        Their labels.
    suffix : {".npy", ".npz", ".h5", ".csv", ".pt"}, default=".npy"
        Which files; .npz and .h5 also hold instance labels and ids.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_folder, write_folder
    >>> folder = getfixture("tmp_path") / "slides"
    >>> write_folder(folder, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]), [1, 0])
    >>> sorted(file.name for file in folder.iterdir())
    ['000000.npy', '000001.npy', 'bags.csv']
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise FileExistsError(f"The folder {path} is not empty: write into a new one.")
    warn_left_out(path, bags, ("bag_features",))
    columns = {n: v for n, v in bag_columns(bags, y).items() if n in _USUAL.values()}
    of_rows = instance_columns(bags)
    if of_rows and suffix not in (".npz", ".h5"):
        warn_left_out(path, bags, ("instance_labels",))
        of_rows = {}
    with write_text(path / "bags.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["path", *columns])
        for i in range(len(bags)):
            name = f"{i:06d}{suffix}"
            rows = slice(bags.offsets[i], bags.offsets[i + 1])
            save_bag(path / name, bags[i], {n: v[rows] for n, v in of_rows.items()})
            writer.writerow([name, *(values[i] for values in columns.values())])
