"""Indexing of `Bags`: from a key to the rows and attributes of the chosen bags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import as_indices, csr_view
from bagwise.bags.forms import PER_BAG, PER_INSTANCE
from bagwise.bags.segments import expand, offsets_of
from bagwise.rowstores import blocks

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags


def resolve(key: Any, n_bags: int) -> int | slice | Array:
    """Return a bag number, a slice of step 1, or an array of bag numbers."""
    if isinstance(key, tuple):  # scikit-learn writes X[key, ...]
        if not key or not all(_is_full(rest) for rest in key[1:]):
            raise IndexError("Bags are indexed by bag only; select features on bags.X.")
        key = key[0]
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return int(as_indices([key], n_bags)[0])
    if isinstance(key, slice):
        start, stop, step = key.indices(n_bags)
        if step == 1:
            return slice(start, max(start, stop))
        key = np.arange(start, stop, step)
    key = as_indices(key, n_bags)
    if len(key) and np.all(np.diff(key) == 1):
        return slice(int(key[0]), int(key[-1]) + 1)
    return key


def _is_full(key: Any) -> bool:
    return key is Ellipsis or (isinstance(key, slice) and key == slice(None))


def select(bags: Bags, chosen: slice | Array) -> dict[str, Any]:
    """Return the arguments of `Bags` for some bags; a slice shares memory with the whole."""
    rows: slice | Array
    if isinstance(chosen, slice):
        first, last = int(bags.offsets[chosen.start]), int(bags.offsets[chosen.stop])
        rows, offsets = slice(first, last), bags.offsets[chosen.start : chosen.stop + 1] - first
    else:
        offsets = offsets_of(bags.sizes[chosen])
        shift = expand(bags.offsets[:-1][chosen] - offsets[:-1], offsets)
        rows = shift + np.arange(offsets[-1])
    attributes = select_attributes(bags, chosen, rows)
    return {"X": take_rows(bags.X, rows), "offsets": offsets, **attributes}


def select_attributes(bags: Bags, chosen: slice | Array, rows: slice | Array) -> dict[str, Any]:
    """Return the attributes of chosen bags, and of rows; those not given stay None."""
    keys = dict.fromkeys(PER_BAG, chosen) | dict.fromkeys(PER_INSTANCE, rows)
    return {name: _pick(getattr(bags, name), key) for name, key in keys.items()}


def _pick(values: Any, key: slice | Array) -> Any:
    return None if values is None else values[key]


def _pick_rows(X: Any, rows: Array) -> Any:
    if not isinstance(X, np.memmap) or len(rows) * X[:1].nbytes < blocks.LARGE_SELECTION:
        return X[rows]
    from bagwise.rowstores.files import FileRows

    return FileRows([X])[rows]


def take_rows(X: Any, rows: slice | Array) -> Any:
    """Return rows of the instances; a slice is a view, and many rows of a file stay there."""
    if not isinstance(rows, slice):
        return _pick_rows(X, rows)
    if not sp.issparse(X):
        return X[rows]
    pointers = X.indptr[rows.start : rows.stop + 1]  # SciPy itself would copy the row range
    entries = slice(pointers[0], pointers[-1])
    return csr_view(X.data[entries], X.indices[entries], pointers - pointers[0], X.shape[1])
