"""Validation of what `Bags` is made of; every error names the bag, the place and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise._factorize import as_names, check_hashable, first_missing, name_of

if TYPE_CHECKING:
    from bagwise.bags import Bags

Array = NDArray[Any]

FLOATS = (np.float64, np.float32, np.float16)
NUMERIC_KINDS = "fiub"
_NAMES = ("ids", "instance_ids", "groups")
_BLOCK_VALUES = 1 << 22


def check_finite(bags: Bags) -> None:
    """Refuse NaN and infinity, block by block, naming bag, instance and feature."""
    values = bags.X.data if sp.issparse(bags.X) else bags.X
    width = 1 if values.ndim == 1 else max(1, values.shape[1])
    step = max(1, _BLOCK_VALUES // width)
    for start in range(0, len(values), step):
        block = np.asarray(values[start : start + step])
        # A finite sum proves finite entries in one pass; only a suspicious one is looked at again.
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(block.sum(dtype=np.float64)):
                continue
        bad = np.argwhere(~np.isfinite(block))
        if len(bad):
            _raise_not_finite(bags, start + bad[0][0], bad[0], block)


def _raise_not_finite(bags: Bags, position: int, place: Array, block: Array) -> None:
    if sp.issparse(bags.X):
        row = int(np.searchsorted(bags.X.indptr, position, side="right") - 1)
        column = int(bags.X.indices[position])
    else:
        row, column = int(position), int(place[1])
    bag = int(np.searchsorted(bags.offsets, row, side="right") - 1)
    name = column if bags.feature_names is None else repr(str(bags.feature_names[column]))
    what = "NaN" if np.isnan(block[tuple(place)]) else "infinity"
    raise ValueError(
        f"{name_of(bags.ids, bag)} contains {what} in its instance {row - bags.offsets[bag]}, "
        f"feature {name}. Impute or drop it first, for example with "
        "PerInstance(SimpleImputer()) in a pipeline."
    )


def as_rows(X: Any) -> Any:
    """Return the instances as a read-only float matrix, dense or CSR, without copying floats."""
    X = X if sp.issparse(X) else as_array(X, "The array of instances")
    if X.ndim != 2:
        raise ValueError(
            f"The instances must be one 2-D array (instances x features), got {X.ndim} "
            "dimension(s). Use Bags.from_list for one array a bag."
        )
    return _canonical_csr(_as_floats(X.tocsr())) if sp.issparse(X) else _read_only(_as_floats(X))


def as_array(values: Any, what: str) -> Array:
    """Return a plain array (or memory map) without copying; ragged and masked ones are refused."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{what} is masked: write what is missing as NaN with .filled(np.nan).")
    if isinstance(values, np.memmap):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(
            f"{what} is ragged: every row needs the same number of features."
        ) from error


def _as_floats(X: Any) -> Any:
    if X.dtype.kind in "iub":
        return X.astype(np.float64)
    native = X.dtype.newbyteorder("=")
    if native not in FLOATS:
        raise ValueError(
            f"The instances have dtype {X.dtype}, expected float64, float32, float16, integers or "
            "booleans: convert with .astype(float), or encode the columns that are not numeric."
        )
    return X if X.dtype == native else X.astype(native)


def _canonical_csr(X: Any) -> Any:
    if not X.has_canonical_format:  # two entries of one place would spoil every norm
        X = X.copy()
        X.sum_duplicates()
    return csr_view(X.data, X.indices, X.indptr, X.shape[1])


def csr_view(data: Array, indices: Array, indptr: Array, n_features: int) -> Any:
    """Return read-only CSR rows over canonical parts.

    SciPy's own constructor copies views that are smaller than half of their base.
    """
    rows = sp.csr_array((len(indptr) - 1, n_features), dtype=data.dtype)
    rows.data, rows.indices = _read_only(data[: indptr[-1]]), _read_only(indices[: indptr[-1]])
    rows.indptr = _read_only(indptr)
    rows.has_canonical_format = True
    return rows


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def as_offsets(offsets: Any, n_instances: int, ids: Any) -> Array:
    """Return sorted int64 offsets that leave no bag empty."""
    given = np.asarray(offsets)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        raise ValueError("offsets must be a 1-D array of integers, one more than there are bags.")
    if given[0] != 0 or given[-1] != n_instances:
        raise ValueError(
            f"offsets must start at 0 and end at the number of instances ({n_instances}), "
            f"they run from {given[0]} to {given[-1]}."
        )
    sizes = np.diff(given.astype(np.int64))
    if np.any(sizes < 0):
        i = int(np.argmax(sizes < 0))
        raise ValueError(
            f"offsets are not sorted: bag {i} starts at {given[i]} and ends at {given[i + 1]}."
        )
    if np.any(sizes == 0):
        _raise_empty(int(np.argmax(sizes == 0)), ids)
    return _read_only(given.astype(np.int64, copy=False))


def _raise_empty(i: int, ids: Any) -> None:
    raise ValueError(f"{name_of(ids, i)} is empty. Drop it: an empty bag has no evidence.")


def check_members(rows: list[Any], ids: Any) -> None:
    """Check that every bag of a list is a numeric 2-D array of one width."""
    for i, row in enumerate(rows):
        if row.ndim >= 1 and row.shape[0] == 0:
            _raise_empty(i, ids)
        if row.ndim != 2:
            raise ValueError(
                f"{name_of(ids, i)} has {row.ndim} dimension(s), expected a 2-D array (instances "
                "x features). A bag of one instance is x.reshape(1, -1)."
            )
        if row.shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"{name_of(ids, i)} has {row.shape[1]} features, bag 0 has {rows[0].shape[1]}: "
                "every bag needs the same columns."
            )
        if sp.issparse(row) != sp.issparse(rows[0]):
            raise ValueError(f"{name_of(ids, i)} and bag 0 differ: one is sparse, one is dense.")
        if row.dtype.kind not in NUMERIC_KINDS:
            raise ValueError(
                f"{name_of(ids, i)} has dtype {row.dtype}, expected numbers: convert with "
                ".astype(float)."
            )


def as_attribute(name: str, values: Any, count: int, per_bag: bool) -> Any:
    """Return one value a bag (or instance) as a read-only array; ids are made when missing."""
    if values is None:
        return _read_only(np.arange(count)) if name in ("ids", "instance_ids") else None
    values = _as_values(name, values)
    owner = "bag" if per_bag else "instance"
    if values.ndim != (2 if name == "bag_features" else 1):
        form = "2-D, one row" if name == "bag_features" else "1-D, one value"
        raise ValueError(f"{name} must be {form} a {owner}, got shape {values.shape}.")
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} entries, there are {count} {owner}s.")
    missing = first_missing(values) if name in ("ids", "groups") else None
    if missing is not None:
        raise ValueError(f"{name} contains NaN or None at position {missing}.")
    return _read_only(values)


def _as_values(name: str, values: Any) -> Array:
    if name in _NAMES:
        values = as_names(values)
        if values.dtype.kind == "O":
            check_hashable(values.flat)
        return values
    values = np.asarray(values)
    if name in ("priors", "bag_features") and values.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(f"{name} must be numbers, got dtype {values.dtype}.")
    return values


def check_priors(priors: Any, ids: Array) -> None:
    """Check that priors are fractions."""
    if priors is None:
        return
    outside = np.flatnonzero(~((priors >= 0) & (priors <= 1)))
    if len(outside):
        i = int(outside[0])
        raise ValueError(f"{name_of(ids, i)} has the prior {priors[i]}, which is not in [0, 1].")


def as_feature_names(names: Any, n_features: int) -> Any:
    """Return the feature names as a read-only object array."""
    if names is None:
        return None
    names = np.asarray(names, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(f"feature_names has shape {names.shape}, there are {n_features} features.")
    return _read_only(names)


def as_indices(key: Any, n_bags: int) -> Array:
    """Return bag numbers from an index array or a boolean one."""
    key = np.asarray(key)
    if key.ndim == 1 and key.size == 0 and key.dtype.kind == "f":  # an empty list
        key = key.astype(np.int64)
    if key.ndim != 1 or key.dtype.kind not in "iub":
        raise IndexError(
            f"Bags take integers, slices, index arrays or boolean arrays, not {key!r}."
        )
    if key.dtype.kind == "b":
        if len(key) != n_bags:
            raise IndexError(f"The boolean index has {len(key)} entries for {n_bags} bags.")
        return np.flatnonzero(key)
    outside = (key < -n_bags) | (key >= n_bags)
    if outside.any():
        raise IndexError(f"Bag {key[outside][0]} of {n_bags} bags.")
    key = key.astype(np.int64)
    return np.where(key < 0, key + n_bags, key)
