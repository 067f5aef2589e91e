"""A folder with one file per bag, and a CSV of paths and labels: usual in pathology.

path,label,patient
slides/a.h5,1,p1
slides/b.h5,0,p2
"""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.frames import bag_columns, instance_columns
from bagwise.bags.segments import offsets_of
from bagwise.errors import Argument, Message, list_names
from bagwise.io._assemble import CODED, MISSING, ROLES, find_roles, refuse_duplicates, refuse_shared
from bagwise.io._bagarrays import load_bag, save_bag
from bagwise.io._columns import LabeledBags, reads, writes
from bagwise.io._files import open_source, replacing, write_text
from bagwise.io._flatten import warn_left_out
from bagwise.io.errors import FormatError, ShuffledBagError, missing_value
from bagwise.io.tables import join_blocks, sniff, type_column
from bagwise.rowstores.files import FileRows, FileSpan

PATH_COLUMNS = ("path", "file", "filename")
_USUAL = {role: ROLES[role] for role in ("bag", "label", "groups", "sites", "priors", "patch_size")}


@reads(
    path="The CSV, or a folder that contains the bags and a single CSV.",
    bag='Column of the bag ids; None: "bag" if there is such a column, else the paths without '
    "suffix.",
    label='Column of the labels; None: "label" if there is such a column.',
    file='Column of the paths, relative to the CSV; None: "path", "file" or "filename". The files '
    "are .npy, .npz, .h5, .csv or .pt (the last needs torch; loaded with ``weights_only``).",
    groups="Column of the groups of bags, such as patients.",
    sites="Column of the sites of bags, such as hospitals.",
    priors="Column of the expected fraction of positive instances.",
    key='The array of an .npz, .h5 or .pt file; None: the only one, or "features".',
    instance_ids='The array of an .npz or .h5 file with the instance ids, such as "coords".',
)
def read_folder(
    path: str | Path,
    bag: str | None = None,
    label: str | None = None,
    *,
    file: str | None = None,
    groups: str | None = None,
    sites: str | None = None,
    priors: str | None = None,
    key: str | None = None,
    instance_ids: str | None = None,
) -> LabeledBags:
    """Read bags stored in one file each and listed in a CSV.

    Of several data types of the files, all instances have the widest.
    """
    listing = find_listing(Path(path))
    named = {"bag": bag, "label": label, "groups": groups, "priors": priors, "sites": sites}

    def choose_roles(names: list[str]) -> dict[str, int]:
        column = _find_path_column(listing, names, file)
        return {"file": column, **find_roles(listing, names, named, _USUAL)}

    table = [_check_line(listing, *row) for row in read_listing(listing, choose_roles)]
    if not table:
        raise FormatError(listing, "lists no bags. Expected one line per bag.")
    stack = BagStack()
    for fields in table:
        stored = listing.parent / fields["file"]
        stack.add(stored, *load_bag(stored, key, instance_ids))
    paths = [fields.pop("file") for fields in table]
    return stack.make_bags(table, np.array([str(Path(path).with_suffix("")) for path in paths]))


def find_listing(path: Path) -> Path:
    """Return the CSV of a folder."""
    if not path.is_dir():
        return path
    usual = path / "bags.csv"
    listings = [usual] if usual.is_file() else sorted(path.glob("*.csv"))
    if len(listings) != 1:
        found = list_names([file.name for file in listings]) or "none"
        raise FormatError(path, f"expected one CSV file with paths and labels, found {found}.")
    return listings[0]


def _find_path_column(path: Path, names: list[str], file: str | None) -> int:
    for name in (file,) if file is not None else PATH_COLUMNS:
        if name in names:
            return names.index(name)
    start, one_of = f"has no column {file or 'path'!r} of files; ", f", one of {list_names(names)}."
    raise FormatError(path, Message(start, "name it with ", Argument("file"), one_of), 1)


def _check_line(path: Path, line: int, fields: dict[str, str]) -> dict[str, str]:
    for role, text in fields.items():
        if not text or (role == "label" and text in MISSING):
            raise missing_value(path, role, line, text)
    if Path(fields["file"]).anchor or ".." in Path(fields["file"]).parts:
        problem = f"{fields['file']} is not inside this folder, and other files are not read."
        remedy = "Write paths relative to this file, which lies in a folder around the others."
        raise FormatError(path, f"{problem} {remedy}", line)
    found = path.parent / fields["file"]
    if not os.path.isfile(found):  # False, not an error, for names that no file can have
        raise FormatError(path, f"there is no file {found}.", line)
    return fields


@writes(
    path="The folder; it is created if necessary.",
    suffix=(
        '{".npy", ".npz", ".h5", ".csv", ".pt"}',
        "Format of the files; .npz and .h5 also store instance labels, ids and coordinates.",
    ),
)
def write_folder(path: str | Path, bags: Bags, y: Any = None, *, suffix: str = ".npy") -> None:
    """Write one file per bag, and ``bags.csv`` with their paths, ids and labels."""
    path = Path(path)
    refuse_full(path)
    kept = suffix in (".npz", ".h5")
    left_out = () if kept else ("instance_labels", "known_labels", "coords", "parts")
    warn_left_out(path, bags, ("bag_features", *left_out))
    files = [f"{i:06d}{suffix}" for i in range(len(bags))]
    columns = {n: v for n, v in bag_columns(bags, y).items() if n in _USUAL.values()}
    write_files(path, bags, files, "bags.csv", {"path": files, **columns})


# What all formats with one file per bag share --------------------------------------------------


def read_listing(
    path: Path, choose_roles: Callable[[list[str]], dict[str, int]]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line and the fields by role of every bag; a second line of a bag is an error."""
    text = sniff(path, header=True)
    refuse_duplicates(path, text.names)
    roles = choose_roles(text.names)
    refuse_shared(path, text.names, roles)
    lines: dict[str, int] = {}
    seen: dict[tuple[str, str], str] = {}
    with open_source(path) as file:
        for line, row in text.rows(path, file):
            fields = {role: row[j] for role, j in roles.items()}
            name = fields.get("bag", fields.get("file", "")).strip()
            if lines.setdefault(name, line) != line:
                raise ShuffledBagError(path, f"{name!r} is on line {lines[name]} already.", line)
            for role in [role for role in CODED if role in fields]:
                twin = seen.setdefault((role, fields[role].strip()), fields[role])
                if twin != fields[role]:
                    raise missing_value(path, role, line, fields[role], twin)
            yield line, fields


class BagStack:
    """The rows of all files, which must have the same features; of several data types, the widest.

    Memory maps stay in their files, and are opened when their rows are needed.
    """

    def __init__(self) -> None:
        self._parts: list[Any] = []
        self._extras: list[dict[str, Any]] = []
        self._files_of: dict[np.dtype, list[str]] = {}  # by data type
        self.sizes: list[int] = []

    def add(self, file: Path, values: Any, extra: dict[str, Any]) -> None:
        """Append one bag."""
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
        width, known = values.shape[1], sorted(extra)
        if not self.sizes:
            self._first = (file.name, width, known)
        first, first_width, first_known = self._first
        if width != first_width:
            raise FormatError(file, f"has {width} features, {first} has {first_width}.")
        self._files_of.setdefault(kind, []).append(file.name)
        if known != first_known:
            raise FormatError(file, f"holds {known}, {first} holds {first_known}.")
        stays = _can_stay(values, kind)
        self._parts.append(FileSpan.of(values) if stays else np.asarray(values, kind))
        self._extras.append(extra)
        self.sizes.append(len(values))

    def make_bags(
        self,
        table: list[dict[str, str]],
        names: Array,
        is_finite: bool = False,
        decimal: str = ".",
        **more: Any,
    ) -> LabeledBags:
        """Return all bags, of which a table says more by role; ``names`` are their ids otherwise.

        ``is_finite`` says what is known of mapped rows.
        """
        if len(self._files_of) > 1:
            self._widen(np.result_type(*self._files_of))
        is_mapped = any(isinstance(part, FileSpan) for part in self._parts)
        join = partial(FileRows, is_finite=is_finite) if is_mapped else partial(join_blocks, Path())
        more |= {n: np.concatenate([e[n] for e in self._extras]) for n in self._extras[0]}
        more |= {role: type_column([t[role] for t in table], role, decimal) for role in table[0]}
        for role in {"priors", "patch_size"} & more.keys():
            more[role] = more[role].astype(np.float64)
        y, ids = more.pop("label", None), more.pop("bag", names)
        return Bags(join(self._parts), offsets_of(self.sizes), ids=ids, **more), y

    def _widen(self, widest: np.dtype) -> None:
        """Bring all rows to the widest of several types, and say so."""
        counts = ", ".join(f"{kind} in {len(of)}" for kind, of in self._files_of.items())
        said = f"The data types of files differ ({counts}): all are read as {widest}."
        warnings.warn(said, stacklevel=6)
        self._parts = [
            part if part.dtype.newbyteorder("=") == widest else np.asarray(part).astype(widest)
            for part in self._parts
        ]


def _can_stay(values: Any, kind: np.dtype) -> bool:
    """Return whether a file's rows can stay in it."""
    mapped = isinstance(values, np.memmap) and values.flags.c_contiguous
    return mapped and values.dtype.newbyteorder("=") == kind.newbyteorder("=")


def refuse_full(path: Path) -> None:
    """Refuse to write into a folder that contains anything."""
    if path.exists() and any(path.iterdir()):
        raise FileExistsError(f"The folder {path} is not empty: write into a new one.")


def write_files(
    path: Path, bags: Bags, files: list[str], listing: str, columns: dict[str, Any]
) -> None:
    """Write a folder of one file per bag, and a CSV with the given columns."""
    of_rows = instance_columns(bags.replace(coords=None))
    if bags.coords is not None:
        of_rows["coords"] = bags.coords
    with replacing(path) as partial:
        (partial / files[0]).parent.mkdir(parents=True)
        with write_text(partial / listing) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        for i, stored in enumerate(files):
            of_bag = {n: v[bags.offsets[i] : bags.offsets[i + 1]] for n, v in of_rows.items()}
            size = None if bags.patch_size is None else float(bags.patch_size[i])
            save_bag(partial / stored, bags[i], of_bag, patch_size=size)
