"""From columns to bags: every reader of files with one row per instance ends here."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bagwise._removed import MEMBERS
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.frames import BAG_FEATURE as BAG_FEATURE, COORDS as COORDS
from bagwise.bags.ids import factorize, first_difference, first_missing
from bagwise.bags.segments import bag_of_row
from bagwise.errors import Argument, Message, list_names, suggestion
from bagwise.io._columns import Column, LabeledBags
from bagwise.io.errors import (
    DuplicateColumnError,
    FormatError,
    LabelError,
    ShuffledBagError,
    missing_value,
)

# The columns that writers write, and that readers look for by default.
CODED = ("bag", "label", "groups", "sites")  # roles of columns with few distinct values
INDEX = ("", "Unnamed: 0", "__index_level_0__")  # names of row numbers, as pandas writes them
MISSING = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "NULL", "null"])  # as texts
NUMERIC = ("priors", "patch_size", *COORDS)  # how roles of numbers begin
ROLES = {
    "bag": "bag",
    "label": "label",
    "instance_labels": "instance_label",
    "known_labels": "known_label",
    "groups": "group",
    "sites": "site",
    "parts": "part",
    "priors": "prior",
    "instance_ids": "instance",
    "patch_size": "patch_size",
    "parents": "instance_parent",
}
_PER_BAG = ("groups", "sites", "priors", "bag_features", "patch_size")
OF_INSTANCES = ("instance_labels", "known_labels", "instance_ids", "parts")


@dataclass(frozen=True)
class Layout:
    """Which column (by position) is what: ``keys`` by role, and the features of instances."""

    keys: dict[str, int]
    features: list[int]
    names: list[str]
    has_header: bool = True
    decimal: str = "."
    regroup: bool = False

    def assemble(
        self, path: Path, X: Any, columns: dict[str, Any], place: Callable[[int], int | str]
    ) -> LabeledBags:
        """Cut the rows of a file into bags, given the columns by their `keys`."""
        names = [self.names[j] for j in self.features] if self.has_header else None
        return assemble(path, X, columns, names, place, regroup=self.regroup)


def lay_out(
    path: Path,
    names: list[str],
    *,
    features: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    regroup: bool = False,
    has_header: bool = True,
    decimal: str = ".",
    **named: Column | None,
) -> Layout:
    """Choose the columns: those the user named by role, else those with the usual names."""
    if has_header:
        refuse_duplicates(path, names)
    dropped = {position_of(path, names, c) for c in match(path, names, drop or [])}
    wanted = None if features is None else _find_features(path, names, features)
    keys = {} if has_header else {"bag": 0, "label": 1}
    keys |= find_roles(path, names, named, ROLES if has_header else {})
    others = {n: j for j, n in enumerate(names) if n in COORDS or n.startswith(BAG_FEATURE)}
    keys |= {name: j for name, j in others.items() if j not in keys.values()}
    aside = dropped.union(wanted or [])
    keys = {key: j for key, j in keys.items() if j not in aside or named.get(key) is not None}
    if not {*COORDS} <= keys.keys():
        keys = {key: j for key, j in keys.items() if key not in COORDS}
    require_bag(path, names, keys)
    rest = [j for j in range(len(names)) if j not in dropped.union(keys.values())]
    index = next((names[j] for j in rest if names[j] in INDEX), None)
    if wanted is None and index is not None:
        why = "is the index of a data frame and left out; rename it if it is a feature."
        warnings.warn(f"{path}: column {index!r} {why}", stacklevel=4)
        rest = [j for j in rest if names[j] not in INDEX]
    chosen = rest if wanted is None else [j for j in wanted if j not in dropped]
    if not chosen:
        raise FormatError(path, f"has no feature columns: there are only {list_names(names)}.", 1)
    return Layout(keys, chosen, names, has_header, decimal, regroup)


def _find_features(path: Path, names: list[str], features: Sequence[Column]) -> list[int]:
    chosen = [position_of(path, names, c) for c in match(path, names, features)]
    twice = next((j for k, j in enumerate(chosen) if j in chosen[:k]), None)
    if twice is not None:
        problem = Message("is named twice in ", Argument("features", "[...]"), ". Name it once.")
        raise DuplicateColumnError(path, problem, 1, names[twice])
    return chosen


def find_roles(
    path: Path, names: list[str], named: Mapping[str, Column | None], usual: Mapping[str, str]
) -> dict[str, int]:
    """Return the columns by role: those that the user named, then those with usual names."""
    unknown = next(iter(named.keys() - ROLES.keys()), None)
    if unknown is not None:
        raise TypeError(f"readers of tables got an unexpected keyword argument {unknown!r}")
    roles = {role: position_of(path, names, c) for role, c in named.items() if c is not None}
    found = {role: names.index(name) for role, name in usual.items() if name in names}
    return roles | {role: j for role, j in found.items() if role not in roles}


def require_bag(path: Path, names: list[str], roles: dict[str, int], usual: str = "bag") -> None:
    """Refuse roles without a column of the bags, or with the same one for their labels."""
    if "bag" not in roles:
        start = f"has no column {usual!r}; name yours with "
        raise FormatError(
            path, Message(start, Argument("bag"), f", one of {list_names(names)}."), 1
        )
    refuse_shared(path, names, roles)


def match(path: Path, names: list[str], wanted: Sequence[Column]) -> list[Column]:
    """Replace patterns such as "f*" by the columns that match them; other names stay."""
    found: list[Column] = []
    for each in wanted:
        if not isinstance(each, str) or each in names or not set("*?[") & set(each):
            found.append(each)
            continue
        matched = [name for name in names if fnmatchcase(name, each) and name not in found]
        if not matched:
            raise FormatError(path, f"no column matches {each!r}. {suggestion(each, names)}", 1)
        found += matched
    return found


def refuse_empty(path: Path, n_rows: int) -> None:
    """Refuse a table without rows."""
    if n_rows == 0:
        raise FormatError(path, "holds no rows. Expected one row per instance.")


def refuse_duplicates(path: Path, names: list[str]) -> None:
    """Refuse a header in which a name appears twice."""
    for j, name in enumerate(names):
        if name in names[:j]:
            columns = f"{names.index(name) + 1} and {j + 1}"
            problem = f"columns {columns} have the same name. Rename one."
            raise DuplicateColumnError(path, problem, 1, name)


def refuse_shared(path: Path, names: Sequence[str], roles: dict[str, int]) -> None:
    """Refuse one column for the bags and for their labels."""
    if "label" in roles and roles.get("bag") == roles["label"]:
        start = "is the column of the bags and of the labels. Name another one with "
        problem = Message(start, Argument("bag"), " or ", Argument("label"), ".")
        raise FormatError(path, problem, 1, names[roles["label"]])


def position_of(path: Path, names: list[str], column: Column) -> int:
    """Return the position of a column, given by name or position."""
    if isinstance(column, int) and 0 <= column < len(names):
        return column
    if isinstance(column, int):
        problem = f"has no column {column}: numbers go from 0 to {len(names) - 1}."
        raise FormatError(path, problem, 1)
    if column not in names:
        problem = f"has no column {column!r}. {suggestion(str(column), names)}"
        raise FormatError(path, problem, 1)
    return names.index(str(column))


class Coded(NamedTuple):
    """A column with few distinct values: one number per row, and the values."""

    codes: Array
    values: Array

    def at(self, rows: Any) -> Array:
        """Return the values of some rows."""
        return self.values[self.codes[rows]]


def row_place(row: int) -> str:
    """Return how errors refer to a row of a binary file."""
    return f"row {row + 1}"


def take_column(path: Path, role: str, values: Array) -> Any:
    """Return the column of a role as `assemble` takes it; missing values are refused."""
    missing = None if role == "known_labels" else first_missing(values)
    if missing is not None:
        raise missing_value(path, role, row_place(missing))
    if role in CODED:
        return Coded(*factorize(values))
    if role == "known_labels":  # of which some are missing
        return values
    return np.array(values.tolist()) if values.dtype.kind == "O" else values


def assemble(
    path: Path,
    X: Any,
    columns: dict[str, Any],
    feature_names: Any,
    place: Callable[[int], int | str] = row_place,
    *,
    regroup: bool = False,
) -> LabeledBags:
    """Check the bag ids and labels of the rows and cut the rows into bags.

    ``columns`` are given by role: "bag", "label" and "groups" as `Coded`, others as arrays with one
    entry per row. ``place`` maps a row number to its line in the file, for errors.
    """
    columns = stack(columns)
    ignore_parents(columns)
    bag = columns["bag"]
    order = _order(path, bag, place, regroup)
    rows = slice(None) if order is None else order
    refuse_unclear(path, columns, place)
    codes = bag.codes[rows]
    offsets = np.append(_run_starts(codes), len(codes))
    per_bag: dict[str, Any] = {
        role: _constant(path, columns[role], bag, offsets, rows, role, place)
        for role in ("label", *_PER_BAG)
        if role in columns
    }
    of_rows = (*OF_INSTANCES, "coords")
    per_row: dict[str, Any] = {role: columns[role][rows] for role in of_rows if role in columns}
    if order is not None:
        X = X[order]
        per_row.setdefault("instance_ids", order)
    y = per_bag.pop("label", None)
    ids = bag.values[codes[offsets[:-1]]]
    return Bags(X, offsets, ids=ids, feature_names=feature_names, **per_bag, **per_row), y


def refuse_unclear(path: Path, columns: dict[str, Any], place: Callable = row_place) -> None:
    """Refuse names that differ in spaces only, and labels that may be a class or missing."""
    for role in [role for role in CODED if role in columns]:
        seen: dict[str, str] = {}
        for code, text in enumerate(map(str, columns[role].values.tolist())):
            other = seen.setdefault(text.strip(), text)
            if other != text or (role == "label" and text in MISSING):
                at = place(columns[role].codes.tolist().index(code))
                raise missing_value(path, role, at, text, other)


def stack(columns: dict[str, Any]) -> dict[str, Any]:
    """Join the columns of bag features, and those of coordinates."""
    wide = {
        "bag_features": [key for key in columns if key.startswith(BAG_FEATURE)],
        "coords": [key for key in COORDS if key in columns],
    }
    kept = {k: v for k, v in columns.items() if not any(k in keys for keys in wide.values())}
    joined = {n: np.stack([columns[k] for k in ks], axis=1) for n, ks in wide.items() if ks}
    return {**kept, **joined}


def ignore_parents(columns: dict[str, Any]) -> None:
    """Remove the parents of instances, which version 0.2 stored, with a warning."""
    if columns.pop("parents", None) is not None:
        warnings.warn(MEMBERS["parents"], stacklevel=2)


def _order(path: Path, bag: Coded, place: Callable, regroup: bool) -> Array | None:
    """Return the rows bag by bag, None if they are already in this order."""
    starts = _run_starts(bag.codes)
    repeats = np.flatnonzero(_first_appearance(bag.codes[starts]) != np.arange(len(starts)))
    if len(repeats) == 0:
        return None
    if not regroup:
        row = int(starts[repeats[0]])
        start = f"bag {_show(bag.at(row))} appears again after other bags. Expected consecutive"
        problem = Message(
            start, " rows; pass ", Argument("regroup", "True"), " to bring them together."
        )
        raise ShuffledBagError(path, problem, place(row))
    return np.argsort(_first_appearance(bag.codes), kind="stable")


def _first_appearance(codes: Array) -> Array:
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first[inverse.ravel()]


def _run_starts(codes: Array) -> Array:
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))


def _constant(
    path: Path, column: Any, bag: Coded, offsets: Array, rows: Any, what: str, place: Callable
) -> Array:
    """Return one value per bag; two different ones are an error."""
    table = column.values if isinstance(column, Coded) else None
    values = (column if table is None else column.codes)[rows]
    per_bag, i = values[offsets[:-1]], first_difference(values, offsets)
    if i is not None:
        row = i if isinstance(rows, slice) else int(rows[i])
        two = (per_bag[bag_of_row(i, offsets)], values[i])
        one, other = (_show(v if table is None else table[v]) for v in two)
        problem = f"bag {_show(bag.at(row))} has the {what} {one} and here {other}."
        raise LabelError(path, f"{problem} Expected the same on all rows of a bag.", place(row))
    return per_bag if table is None else table[per_bag]


def _show(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
