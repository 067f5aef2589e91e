"""Covariates of bags from columns of a table: numbers as they are, texts one-hot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import match_names, name_of
from bagwise.errors import suggestion
from bagwise.io.dispatch import recognize
from bagwise.io.errors import FormatError
from bagwise.io.findings import read_table

Kinds = dict[str, list[str] | None]  # the categories of every column; None for numbers
_BAGS = ("slide_id", "slide", "bag")


def attach_covariates(
    bags: Bags, path: Path, columns: list[str], bag: str | None, kinds: Kinds | None = None
) -> tuple[Bags, Kinds]:
    """Return the bags with columns of a table as bag features, and the categories of texts.

    The table has a row per bag, or one per instance with the same values on all rows of a bag.
    ``kinds`` are those of an earlier call: categories that were not there are refused.
    """
    frame = read_table(path, recognize(path))
    frame.columns = [str(name) for name in frame.columns]
    bag = bag or next((name for name in _BAGS if name in frame), "bag")
    for name in (bag, *columns):
        if name not in frame:
            hint = suggestion(name, [*frame.columns])
            raise FormatError(path, f"has no column {name!r}. {hint}", 1)
    of_bags = _find_rows(bags, path, frame[bag].astype(str).to_numpy())
    found: Kinds = {}
    parts = []
    for name in columns:
        values = frame[name].to_numpy()
        chosen = values[[rows[0] for rows in of_bags]]
        for i, rows in enumerate(of_bags):
            _check_constant(path, bags, i, name, frame[name].iloc[rows])
        given = None if kinds is None else kinds.get(name)
        part, found[name] = _encode(path, bags, name, chosen, kinds is None, given)
        parts.append(part)
    return bags.replace(bag_features=np.hstack(parts)), found


def _find_rows(bags: Bags, path: Path, names: Array) -> list[Array]:
    """Return the rows of every bag, whose name may begin its id before a dot."""
    ids = [str(name) for name in bags.ids.tolist()]
    owners = {each: name for name, found in match_names(names, ids).items() for each in found}
    missing = next((i for i, name in enumerate(ids) if name not in owners), None)
    if missing is not None:
        raise FormatError(path, f"{name_of(bags.ids, missing)} has no row, and so no covariates.")
    distinct, codes = np.unique(names, return_inverse=True)
    order = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
    rows_of = dict(zip(distinct.tolist(), order, strict=True))
    return [rows_of[owners[name]] for name in ids]


def _check_constant(path: Path, bags: Bags, i: int, name: str, values: Any) -> None:
    if values.isna().any():
        what = f"{name_of(bags.ids, i)} has no value. Fill it in, or leave the covariate out."
        raise FormatError(path, what, column=name)
    if values.nunique() > 1:
        two = " and ".join(map(repr, values.unique()[:2].tolist()))
        what = f"{name_of(bags.ids, i)} has the values {two}: a covariate belongs to the bag."
        raise FormatError(path, what, column=name)


def _encode(
    path: Path, bags: Bags, name: str, values: Array, is_first: bool, known: list[str] | None
) -> tuple[Array, list[str] | None]:
    """Return numbers as a column, or one column per category."""
    if values.dtype.kind in "fiub" and known is None:
        return values.astype(np.float64)[:, None], None
    texts = [str(value) for value in values.tolist()]
    if known is None and not is_first:
        what = f"{name_of(bags.ids, 0)} has {texts[0]!r}, and the model learned numbers."
        raise FormatError(path, what, column=name)
    categories = sorted(set(texts)) if known is None else known
    new = next((i for i, text in enumerate(texts) if text not in categories), None)
    if new is not None:
        what = f"{name_of(bags.ids, new)} has {texts[new]!r}, which the model has not seen: it"
        raise FormatError(path, f"{what} knows {', '.join(categories)}.", column=name)
    return np.array([[text == each for each in categories] for text in texts], float), categories
