"""From long-form columns to bags: every reader of one-row-an-instance files ends here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bagwise._factorize import factorize
from bagwise.bags import Bags
from bagwise.io.errors import DuplicateColumnError, FormatError, LabelError, ShuffledBagError

Array = NDArray[Any]
Column = str | int
Labelled = tuple[Bags, Any]

# The columns a writer writes, and a reader looks for when none are named.
ROLES = {
    "bag": "bag",
    "label": "label",
    "instance_labels": "instance_label",
    "groups": "group",
    "priors": "prior",
    "instance_ids": "instance",
}
BAG_FEATURE = "bag_feature_"


@dataclass(frozen=True)
class Layout:
    """Which column (by position) plays which part."""

    roles: dict[str, int]
    features: list[int]
    feature_names: list[str] | None
    bag_features: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)

    @property
    def keys(self) -> dict[str, int]:
        """Return all columns that are not instance features, by what they hold."""
        extra = {f"{BAG_FEATURE}{k + 1}": j for k, j in enumerate(self.bag_features)}
        return {**self.roles, **extra}


def lay_out(
    path: Path,
    names: Sequence[str],
    named: dict[str, Column | None],
    features: Sequence[Column] | None,
    *,
    has_header: bool = True,
) -> Layout:
    """Choose the columns: those named by the user, else those with the usual names."""
    names = list(names)
    if has_header:
        refuse_duplicates(path, names)
    roles = {role: _position(path, names, c) for role, c in named.items() if c is not None}
    usual = ROLES if has_header else {}
    for role, name in usual.items():
        if named.get(role) is None and name in names and (features is None or name not in features):
            roles[role] = names.index(name)
    if not has_header:
        roles = {"bag": 0, "label": 1, **roles}
    if "bag" not in roles:
        raise FormatError(path, f"has no column 'bag'; name yours with bag=..., one of {names}.", 1)
    taken = set(roles.values())
    of_bags = [j for j, n in enumerate(names) if n.startswith(BAG_FEATURE) and j not in taken]
    if features is None:
        chosen = [j for j in range(len(names)) if j not in taken and j not in of_bags]
    else:
        chosen = [_position(path, names, c) for c in features]
        of_bags = [j for j in of_bags if j not in chosen]
    if not chosen:
        raise FormatError(path, f"has no feature columns: there are only {names}.", 1)
    return Layout(roles, chosen, [names[j] for j in chosen] if has_header else None, of_bags, names)


def refuse_duplicates(path: Path, names: list[str]) -> None:
    """Refuse a header with one name twice."""
    for j, name in enumerate(names):
        if name in names[:j]:
            raise DuplicateColumnError(
                path,
                f"columns {names.index(name) + 1} and {j + 1} are both named {name!r}. Rename one.",
                1,
                name,
            )


def _position(path: Path, names: list[str], column: Column) -> int:
    if isinstance(column, int) and -len(names) <= column < len(names):
        return column % len(names)
    if column not in names:
        raise FormatError(path, f"has no column {column!r}; it has {names}.", 1)
    return names.index(str(column))


class Coded(NamedTuple):
    """A column of few different values: one number a row, and the values."""

    codes: Array
    values: Array

    def at(self, rows: Any) -> Array:
        """Return the values of some rows."""
        return self.values[self.codes[rows]]


def coded(values: Any) -> Coded:
    """Number the values of a column by first appearance."""
    return Coded(*factorize(values))


def assemble(
    path: Path,
    X: Any,
    columns: dict[str, Any],
    feature_names: Any,
    place: Callable[[int], int | str],
    *,
    regroup: bool = False,
) -> Labelled:
    """Check the rows' bag ids and labels and cut the rows into bags.

    Parameters
    ----------
    path : Path
        The file, for errors.
    X : array or CSR array of shape (n_instances, n_features)
        The instances.
    columns : dict of str to Coded or ndarray of shape (n_instances,)
        By role; "bag", "label" and "groups" are `Coded`.
    feature_names : list of str or None
        Names of the columns of ``X``.
    place : callable
        From a row number to its line in the file; called only for errors.
    regroup : bool
        Accept bags whose rows are scattered.
    """
    columns = _with_bag_features(columns)
    bag, label = columns["bag"], columns.get("label")
    order = _order(path, bag, place, regroup)
    codes = bag.codes if order is None else bag.codes[order]
    offsets = np.append(_run_starts(codes), len(codes))
    rows = slice(None) if order is None else order

    def one_a_bag(role: str) -> Array:
        return _one_a_bag(path, columns[role], bag, offsets, rows, role, place)

    y = None if label is None else one_a_bag("label")
    per_bag: dict[str, Any] = {role: one_a_bag(role) for role in _PER_BAG if role in columns}
    per_row: dict[str, Any] = {
        r: columns[r][rows] for r in ("instance_labels", "instance_ids") if r in columns
    }
    if order is not None:
        X = X[order]
        per_row.setdefault("instance_ids", order)
    ids = bag.values[codes[offsets[:-1]]]
    return Bags(X, offsets, ids=ids, feature_names=feature_names, **per_bag, **per_row), y


_PER_BAG = ("groups", "priors", "bag_features")


def _with_bag_features(columns: dict[str, Any]) -> dict[str, Any]:
    covariates = [values for key, values in columns.items() if key.startswith(BAG_FEATURE)]
    kept = {key: values for key, values in columns.items() if not key.startswith(BAG_FEATURE)}
    return {**kept, "bag_features": np.stack(covariates, axis=1)} if covariates else kept


def _order(path: Path, bag: Coded, place: Callable, regroup: bool) -> Array | None:
    """Return the rows bag by bag, None where they are so already."""
    starts = _run_starts(bag.codes)
    first = _first_appearance(bag.codes[starts])
    repeats = np.flatnonzero(first != np.arange(len(starts)))
    if len(repeats) == 0:
        return None
    if not regroup:
        row = int(starts[repeats[0]])
        raise ShuffledBagError(
            path,
            f"bag {_shown(bag.at(row))} appears again after other bags. Expected the rows of a bag "
            "one after another; pass regroup=True to bring them together.",
            place(row),
        )
    return np.argsort(_first_appearance(bag.codes), kind="stable")


def _first_appearance(codes: Array) -> Array:
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return first[inverse.ravel()]


def _run_starts(codes: Array) -> Array:
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.concatenate([[0], changes]).astype(np.int64)


def _one_a_bag(
    path: Path, column: Any, bag: Coded, offsets: Array, rows: Any, what: str, place: Callable
) -> Array:
    values = (column.codes if isinstance(column, Coded) else column)[rows]
    per_bag = values[offsets[:-1]]
    differs = np.repeat(per_bag, np.diff(offsets), axis=0) != values
    differs = differs.reshape(len(values), -1).any(axis=1)
    if differs.any():
        i = int(np.argmax(differs))
        row = i if isinstance(rows, slice) else int(rows[i])
        first = per_bag[np.searchsorted(offsets, i, side="right") - 1]
        shown = column.values if isinstance(column, Coded) else None
        two = [_shown(v if shown is None else shown[v]) for v in (first, values[i])]
        raise LabelError(
            path,
            f"bag {_shown(bag.at(row))} has the {what} {two[0]} and here {two[1]}. Expected the "
            "same on all rows of a bag.",
            place(row),
        )
    return column.values[per_bag] if isinstance(column, Coded) else per_bag


def _shown(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
