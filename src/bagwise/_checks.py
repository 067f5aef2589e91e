"""Validation of what `Bags` is made of; every error names the bag, the place and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise._factorize import as_names, first_missing

if TYPE_CHECKING:
    from bagwise.bags import Bags

Array = NDArray[Any]

FLOATS = (np.float16, np.float32, np.float64)
_BLOCK_VALUES = 1 << 22


def check_finite(bags: Bags) -> None:
    """Refuse NaN and infinity, block by block, naming bag, instance and feature."""
    values = bags.X.data if sp.issparse(bags.X) else bags.X
    step = len(values) if values.ndim == 1 else max(1, _BLOCK_VALUES // max(1, values.shape[1]))
    for start in range(0, len(values), max(step, 1)):
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
        f"Bag {bag} (id {bags.ids[bag]!r}) contains {what} in its instance "
        f"{row - bags.offsets[bag]}, feature {name}. Impute or drop it first, for example with "
        "PerInstance(SimpleImputer()) in a pipeline."
    )


def as_rows(X: Any) -> Any:
    """Return the instances as a read-only float matrix, dense or CSR, without copying floats."""
    if sp.issparse(X):
        X = sp.csr_array(X) if X.dtype in FLOATS else sp.csr_array(X).astype(np.float64)
        parts = tuple(_read_only(part) for part in (X.data, X.indices, X.indptr))
        return sp.csr_array(parts, shape=X.shape, copy=False)
    X = X if isinstance(X, np.ndarray) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"The instances must be one 2-D array (instances x features), got {X.ndim} "
            "dimension(s). Use Bags.from_list for one array a bag."
        )
    if X.dtype.kind in "iub":
        X = X.astype(np.float64)
    if X.dtype not in FLOATS:
        raise ValueError(
            f"The instances have dtype {X.dtype}, expected numbers: convert with "
            ".astype(float), or encode the columns that are not numeric."
        )
    return _read_only(X)


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
    name = i if ids is None else ids[i]
    raise ValueError(f"Bag {i} (id {name!r}) is empty. Drop it: an empty bag has no evidence.")


def check_members(rows: list[Any], ids: Any) -> None:
    """Check that every bag of a list is a numeric 2-D array of one width."""
    for i, row in enumerate(rows):
        name = f"Bag {i}" if ids is None else f"Bag {i} (id {ids[i]!r})"
        if row.ndim == 1 and len(row) == 0:
            _raise_empty(i, ids)
        if row.ndim != 2:
            raise ValueError(
                f"{name} has {row.ndim} dimension(s), expected a 2-D array (instances x "
                "features). A bag of one instance is x.reshape(1, -1)."
            )
        if row.shape[0] == 0:
            _raise_empty(i, ids)
        if row.shape[1] != rows[0].shape[1]:
            raise ValueError(
                f"{name} has {row.shape[1]} features, bag 0 has {rows[0].shape[1]}: every bag "
                "needs the same columns."
            )
        if sp.issparse(row) != sp.issparse(rows[0]):
            raise ValueError(f"{name} and bag 0 differ: one is sparse, one is dense.")
        if row.dtype.kind not in "fiub":
            raise ValueError(
                f"{name} has dtype {row.dtype}, expected numbers: convert with .astype(float)."
            )


def as_attribute(name: str, values: Any, count: int, per_bag: bool) -> Any:
    """Return one value a bag (or instance) as a read-only array; ids are made when missing."""
    if values is None:
        return _read_only(np.arange(count)) if name in ("ids", "instance_ids") else None
    values = as_names(values) if name in ("ids", "instance_ids", "groups") else np.asarray(values)
    if len(values) != count:
        owner = "bags" if per_bag else "instances"
        raise ValueError(f"{name} has {len(values)} entries, there are {count} {owner}.")
    missing = first_missing(values) if name in ("ids", "groups") else None
    if missing is not None:
        raise ValueError(f"{name} contains NaN or None at position {missing}.")
    return _read_only(values)


def check_priors(priors: Any, ids: Array) -> None:
    """Check that priors are fractions."""
    if priors is None:
        return
    outside = np.flatnonzero(~((priors >= 0) & (priors <= 1)))
    if len(outside):
        i = outside[0]
        raise ValueError(f"The prior of bag {i} (id {ids[i]!r}) is {priors[i]}, not in [0, 1].")


def as_feature_names(names: Any, n_features: int) -> Any:
    """Return the feature names as an object array."""
    if names is None:
        return None
    names = np.asarray(names, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names has {len(names)} entries, there are {n_features} features."
        )
    return names


def as_indices(key: Any, n_bags: int) -> Array:
    """Return bag numbers from an index array or a boolean one."""
    key = np.asarray(key)
    if key.size == 0:
        return key.astype(np.int64).ravel()
    if key.ndim != 1 or key.dtype.kind not in "iub":
        raise IndexError(
            f"Bags take integers, slices, index arrays or boolean arrays, not {key!r}."
        )
    if key.dtype.kind == "b":
        if len(key) != n_bags:
            raise IndexError(f"The boolean index has {len(key)} entries for {n_bags} bags.")
        return np.flatnonzero(key)
    if key.min() < -n_bags or key.max() >= n_bags:
        raise IndexError(f"Bag {key[(key < -n_bags) | (key >= n_bags)][0]} of {n_bags} bags.")
    return np.where(key < 0, key + n_bags, key)
