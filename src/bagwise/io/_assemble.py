"""From long-form columns to bags: every reader of one-row-an-instance files ends here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        _refuse_duplicates(path, names)
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


def _refuse_duplicates(path: Path, names: list[str]) -> None:
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


def assemble(
    path: Path,
    X: Any,
    columns: dict[str, Array],
    layout: Layout,
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
    columns : dict of str to ndarray of shape (n_instances,)
        The columns of ``layout.keys``.
    layout : Layout
        What they mean.
    place : callable
        From a row number to its line in the file; called only for errors.
    regroup : bool
        Accept bags whose rows are scattered.
    """
    bag = columns.pop("bag")
    label = columns.pop("label", None)
    starts = _run_starts(bag)
    per_bag: dict[str, Any] = {k: columns.pop(k) for k in ("groups", "priors") if k in columns}
    if layout.bag_features:
        of_bags = [columns.pop(k) for k in list(columns) if k.startswith(BAG_FEATURE)]
        per_bag["bag_features"] = np.stack(of_bags, axis=1).astype(np.float64)
    attributes: dict[str, Any] = {**columns, **per_bag, "feature_names": layout.feature_names}
    repeated = _first_repeat(bag[starts])
    if repeated is not None and regroup:
        return _regrouped(path, X, bag, label, attributes, place)
    if repeated is not None:
        row = int(starts[repeated])
        raise ShuffledBagError(
            path,
            f"bag {bag[row].item()!r} appears again after other bags. Expected the rows of a bag "
            "one after another; pass regroup=True to bring them together.",
            place(row),
        )
    offsets = np.append(starts, len(bag))
    y = None if label is None else _one_a_bag(path, label, offsets, bag, "label", place)
    for name, values in per_bag.items():
        attributes[name] = _one_a_bag(path, values, offsets, bag, name, place)
    return Bags(X, offsets, ids=bag[starts], **attributes), y


def _regrouped(
    path: Path, X: Any, bag: Array, label: Any, attributes: dict[str, Any], place: Callable
) -> Labelled:
    order = np.argsort(_first_appearance(bag), kind="stable")
    offsets = np.append(_run_starts(bag[order]), len(bag))
    if label is not None:
        _one_a_bag(path, label[order], offsets, bag[order], "label", lambda r: place(order[r]))
    made = Bags.from_groups(X, bag, label, **attributes)
    return made if label is not None else (made, None)


def _first_appearance(values: Array) -> Array:
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return first[inverse.ravel()]


def _run_starts(values: Array) -> Array:
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    return np.concatenate([[0], changes]).astype(np.int64)


def _first_repeat(values: Array) -> int | None:
    first = _first_appearance(values)
    repeats = np.flatnonzero(first != np.arange(len(values)))
    return int(repeats[0]) if len(repeats) else None


def _one_a_bag(
    path: Path, values: Array, offsets: Array, bag: Array, what: str, place: Callable
) -> Array:
    per_bag = values[offsets[:-1]]
    same = np.repeat(per_bag, np.diff(offsets), axis=0) == values
    differs = ~same.reshape(len(values), -1).all(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        own = per_bag[np.searchsorted(offsets, row, side="right") - 1]
        raise LabelError(
            path,
            f"bag {bag[row].item()!r} has the {what} {own.tolist()!r} and here "
            f"{values[row].tolist()!r}. Expected one {what} a bag, the same on all its rows.",
            place(row),
        )
    return per_bag
