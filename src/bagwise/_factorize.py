"""From the bag id of every row to bags: codes, first appearances, values constant within a bag."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_SIMPLE = (str, int, float, np.generic)


def factorize(ids: Any) -> tuple[Array, Array]:
    """Number hashable ids by first appearance.

    Returns
    -------
    codes : ndarray of int64
        The number of each entry's id.
    unique : ndarray
        The ids, in order of first appearance.
    """
    ids = ids if isinstance(ids, np.ndarray) else list(ids)
    position = first_missing(ids)
    if position is not None:
        raise ValueError(f"The bag id of row {position} is NaN or missing.")
    if isinstance(ids, np.ndarray) and ids.dtype.kind in "iufUSM":
        unique, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return rank[inverse.ravel()].astype(np.int64), unique[order]
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(i, len(numbers)) for i in ids), np.int64, len(ids))
    return codes, as_names(list(numbers))


def as_names(values: Any) -> Array:
    """Return names as an array: of their own type where they share a simple one, else objects."""
    if isinstance(values, np.ndarray):
        return values
    values = list(values)
    if len({type(v) for v in values}) == 1 and isinstance(values[0], _SIMPLE):
        return np.asarray(values)
    names = np.empty(len(values), dtype=object)
    names[:] = values
    return names


def first_missing(values: Iterable[Any]) -> int | None:
    """Return the position of the first NaN, NaT or None, if there is one."""
    if isinstance(values, np.ndarray) and values.dtype.kind != "O":
        if values.dtype.kind not in "fcmM":
            return None
        missing = np.isnat(values) if values.dtype.kind in "mM" else np.isnan(values)
        return int(np.argmax(missing)) if missing.any() else None
    return next((i for i, v in enumerate(values) if v is None or v != v), None)


def constant_within(values: Array, offsets: Array, ids: Array, what: str) -> Array:
    """Return the one value of every bag; a bag that holds two is named in the error."""
    starts = offsets[:-1]
    per_bag = values[starts]
    differs = values != np.repeat(per_bag, np.diff(offsets), axis=0)
    differs = differs.reshape(len(values), -1).any(axis=1)
    if differs.any():
        row = int(np.argmax(differs))
        bag = int(np.searchsorted(offsets, row, side="right") - 1)
        raise ValueError(
            f"Bag {bag} (id {ids[bag]!r}) has two values of {what}: {per_bag[bag]!r} and "
            f"{values[row]!r}. It must be the same on all rows of a bag."
        )
    return per_bag
