"""The parts of `Bags`: selections, and checks whose errors name bag, place and remedy."""

from __future__ import annotations

import operator
from copy import copy
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.ids import as_names, check_hashable, first_missing, is_missing, name_of
from bagwise.bags.segments import expand, offsets_of
from bagwise.bags.stored import verify
from bagwise.rowstores import base
from bagwise.rowstores.base import RowStore

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags

FLOATS = (np.float64, np.float32, np.float16)
NUMERIC_KINDS = "fiub"
PER_BAG = ("ids", "groups", "sites", "bag_features", "priors", "patch_size")
PER_INSTANCE = ("instance_ids", "instance_labels", "known_labels", "coords", "parts")
NAMES = ("ids", "instance_ids", "groups", "sites", "parts")
_FORMS = {"bag_features": "2-D, one row", "coords": "2-D, one position (x, y)"}
_REBUILD = "Build it again from its entries, for example with scipy.sparse.coo_array."
_EMPTY = "is empty. Drop it: every bag needs at least one instance."


def as_rows(X: Any) -> Any:
    """Return the instances as a read-only float matrix, dense or CSR, without copying floats."""
    if isinstance(X, RowStore):
        return X
    X = X if sp.issparse(X) else as_array(X, "The array of instances")
    if X.ndim != 2:
        raise ValueError(
            f"The instances must be a single 2-D array (instances x features), got {X.ndim} "
            "dimension(s). Use Bags.from_list for a list with one array per bag."
        )
    return canonical_csr(X) if sp.issparse(X) else _read_only(_as_floats(X))


def as_array(values: Any, what: str) -> Array:
    """Return a plain array (or memory map) without copying; ragged and masked ones are refused."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{what} is masked: write missing values as NaN with .filled(np.nan).")
    if isinstance(values, np.memmap):
        return values
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{what} is ragged: all rows must have the same length.") from error


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


def canonical_csr(X: Any) -> Any:
    """Return sparse rows as read-only, canonical CSR rows of floats, with all indices in range."""
    if _is_checked(X):
        return X
    X = _as_floats(in_range(X).tocsr())
    if not X.has_canonical_format:  # duplicate entries would make every norm wrong
        X = X.copy()
        X.sum_duplicates()
    return csr_view(X.data, X.indices, X.indptr, X.shape[1])


def _is_checked(X: Any) -> bool:
    """Return whether rows are still those that `csr_view` made."""
    marked = getattr(X, "_checked", None)
    if marked is None or X.indices.flags.writeable:  # as after unpickling
        return False
    return all(map(operator.is_, marked, _parts(X)))


def _parts(X: Any) -> tuple[Any, ...]:
    return X._shape, X.data, X.indices, X.indptr


def in_range(X: Any) -> Any:
    """Return a sparse matrix whose indices all lie inside it; compiled loops never look."""
    X = copy(X) if X.format in ("csr", "csc", "bsr") else X.tocoo()
    for flag in ("_has_canonical_format", "_has_sorted_indices"):  # as they were, not as they are
        vars(X).pop(flag, None)
    try:
        if X.format == "coo":
            is_inside = all(map(_is_inside, X.coords, X.shape))
        else:
            is_inside = _is_compressed(X)
    except ValueError as error:
        raise ValueError(f"The sparse matrix is damaged: {error}. {_REBUILD}") from error
    if not is_inside:
        problem = f"an index is not an integer, or outside of its shape {X.shape}"
        raise ValueError(f"The sparse matrix is damaged: {problem}. {_REBUILD}")
    return X


def _is_inside(indices: Array, n: int) -> bool:
    if indices.dtype.kind != "i" or len(indices) == 0:
        return indices.dtype.kind == "i"
    # Negative numbers are the largest ones without a sign: one pass over memory instead of two.
    return bool(indices.view(indices.dtype.str.replace("i", "u")).max() < n)


def _is_compressed(X: Any) -> bool:
    pointers, indices = X.indptr, X.indices
    if pointers.dtype.kind != "i" or indices.dtype.kind != "i":
        return False
    X.check_format(full_check=False)
    if np.any(pointers[1:] < pointers[:-1]):  # SciPy compares differences, which overflow
        raise ValueError("index pointer must not decrease")
    if X.format == "csr" and X.has_canonical_format:
        return _is_inside(indices[: pointers[-1]], X.shape[1])
    X.check_format(full_check=True)
    return True


def csr_view(data: Array, indices: Array, indptr: Array, n_features: int) -> Any:
    """Return read-only CSR rows over canonical parts.

    SciPy's own constructor copies views that are smaller than half of their base.
    """
    rows = sp.csr_array((len(indptr) - 1, n_features), dtype=data.dtype)
    rows.data, rows.indices = _read_only(data[: indptr[-1]]), _read_only(indices[: indptr[-1]])
    rows.indptr = _read_only(indptr)
    rows.has_canonical_format = True
    rows._checked = _parts(rows)
    return rows


def small_csr(data: Any, indices: Any, pointers: Any, shape: tuple[int, int]) -> Any:
    """Return a CSR array with sorted indices, of 32 bits if they fit.

    liblinear and libsvm accept no other indices.
    """
    kind = np.int32 if max(len(data), *shape) < 2**31 else np.int64
    parts = (np.asarray(data, np.float64), np.asarray(indices, kind), np.asarray(pointers, kind))
    matrix = sp.csr_array(parts, shape=shape)
    matrix.sort_indices()
    return matrix


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def as_offsets(offsets: Any, n_instances: int, ids: Any) -> Array:
    """Return sorted int64 offsets that leave no bag empty."""
    given = np.asarray(offsets)
    if given.ndim != 1 or len(given) == 0 or given.dtype.kind not in "iu":
        raise ValueError("offsets must be a 1-D array of n_bags + 1 integers.")
    if given[0] != 0 or given[-1] != n_instances:
        raise ValueError(
            f"offsets must start at 0 and end at the number of instances ({n_instances}), "
            f"they run from {given[0]} to {given[-1]}."
        )
    sizes = np.diff(given.astype(np.int64))
    if np.any(sizes < 0):
        i = int(np.argmax(sizes < 0))
        raise ValueError(f"offsets are not sorted: bag {i} runs from {given[i]} to {given[i + 1]}.")
    if np.any(sizes == 0):
        raise ValueError(f"{name_of(ids, int(np.argmax(sizes == 0)))} {_EMPTY}")
    return _read_only(given.astype(np.int64))


def check_members(rows: list[Any], ids: Any) -> None:
    """Check that the bags of a list are numeric 2-D arrays with the same number of features."""
    for i, row in enumerate(rows):
        problem = _problem(row, rows[0])
        if problem:
            raise ValueError(f"{name_of(ids, i)} {problem}")


def _problem(row: Any, first: Any) -> str:
    if row.ndim >= 1 and row.shape[0] == 0:
        return _EMPTY
    if row.ndim != 2:
        remedy = "For a bag of one instance pass x.reshape(1, -1)."
        return f"has {row.ndim} dimension(s), expected 2 (instances x features). {remedy}"
    if row.shape[1] != first.shape[1]:
        return f"has {row.shape[1]} features, bag 0 has {first.shape[1]}: they must be the same."
    if sp.issparse(row) != sp.issparse(first):
        return "and bag 0 differ: one is sparse, one is dense."
    is_numeric = row.dtype.kind in NUMERIC_KINDS
    return "" if is_numeric else f"has dtype {row.dtype}, expected numbers: use .astype(float)."


def as_attribute(name: str, values: Any, count: int, owner: str) -> Any:
    """Return one value per bag or instance (``owner``), read-only; missing ids are numbered."""
    if values is None:
        return _read_only(np.arange(count)) if name in ("ids", "instance_ids") else None
    values = _as_values(name, values)
    form = _FORMS.get(name, "1-D, one value")
    if values.ndim != int(form[0]) or (name == "coords" and values.shape[1] != 2):
        raise ValueError(f"{name} must be {form} per {owner}, got shape {values.shape}.")
    if len(values) != count:
        raise ValueError(f"{name} has {len(values)} entries, there are {count} {owner}s.")
    missing = first_missing(values) if name in NAMES and name != "instance_ids" else None
    if missing is not None:
        raise ValueError(f"{name} contains NaN or None at position {missing}.")
    return _read_only(np.array(values) if owner == "bag" else values)


def _as_values(name: str, values: Any) -> Array:
    if name in NAMES:
        values = as_names(values)
        if values.dtype.kind == "O":
            check_hashable(values.flat)
        return values
    values = np.asarray(values)
    is_known = name == "known_labels"
    if is_known and (values.dtype.kind in NUMERIC_KINDS + "U" or values.ndim != 1):
        return values
    if is_known or (name == "bag_features" and values.dtype.kind in "OU"):
        return _fill_missing(name, values)
    if name in ("priors", "patch_size", *_FORMS) and values.dtype.kind not in NUMERIC_KINDS:
        raise ValueError(f"{name} must be numbers, got dtype {values.dtype}.")
    return values


def _fill_missing(name: str, values: Array) -> Array:
    """Return numbers with NaN, or texts with "", for values of which some are missing.

    Covariates of which some are texts have their numbers written out; labels may not be mixed.
    """
    given = [None if is_missing(value) or value == "" else value for value in values.flat]
    strange = [v for v in given if not isinstance(v, str | Real | None)]
    kinds = {isinstance(value, str) for value in given if value is not None}
    if name == "known_labels" and (strange or len(kinds) > 1):
        raise ValueError("known_labels must be all numbers or all texts; None or NaN is unknown.")
    if strange:
        raise ValueError(f"bag_features must be numbers or texts, got {strange[0]!r}.")
    if True in kinds:
        texts = ["" if v is None else v if isinstance(v, str) else f"{+v}" for v in given]
        return np.array(texts).reshape(values.shape)
    numbers = [np.nan if value is None else value for value in given]
    return np.array(numbers, dtype=np.float64).reshape(values.shape)


def check_priors(priors: Any, ids: Array) -> None:
    """Check that priors are fractions."""
    inside = True if priors is None else (priors >= 0) & (priors <= 1)
    if not np.all(inside):
        i = int(np.argmin(inside))
        raise ValueError(f"{name_of(ids, i)} has the prior {priors[i]}, which is not in [0, 1].")


def as_feature_names(names: Any, n_features: int) -> Any:
    """Return the feature names as a read-only object array."""
    if names is None:
        return None
    names = np.asarray(names, dtype=object)
    if names.shape != (n_features,):
        raise ValueError(f"feature_names has shape {names.shape}, there are {n_features} features.")
    check_hashable(names)
    if len(set(names)) < len(names):
        first = {name: j for j, name in reversed(list(enumerate(names)))}
        j = next(j for j, name in enumerate(names) if first[name] != j)
        both = f"feature_names has {names[j]!r} at positions {first[names[j]]} and {j}"
        raise ValueError(f"{both}: give every feature its own name.")
    return _read_only(names)


def feature_names(bags: Bags) -> list[Any]:
    """Return the feature names; f1, f2, ... by default."""
    if bags.feature_names is None:
        return [f"f{j + 1}" for j in range(bags.n_features)]
    return list(bags.feature_names)


def as_indices(key: Any, n_bags: int) -> Array:
    """Return bag numbers from an array of integers or booleans."""
    key = np.asarray(key)
    if key.ndim == 1 and key.size == 0 and key.dtype.kind == "f":  # an empty list
        key = key.astype(np.int64)
    if key.ndim != 1 or key.dtype.kind not in "iub":
        kinds = "integers, slices, index arrays or boolean arrays"
        raise IndexError(f"Bags are indexed by {kinds}, not {key!r}.")
    if key.dtype.kind == "b" and len(key) != n_bags:
        raise IndexError(f"The boolean index has {len(key)} entries for {n_bags} bags.")
    outside = (key < -n_bags) | (key >= n_bags)
    if key.dtype.kind != "b" and outside.any():
        raise IndexError(f"Bag index {key[outside][0]} is out of range for {n_bags} bags.")
    return np.arange(n_bags)[key]


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
    given = {name: getattr(bags, name) for name in keys}
    return {n: None if values is None else values[keys[n]] for n, values in given.items()}


def _pick_rows(X: Any, rows: Array) -> Any:
    if not isinstance(X, np.memmap) or len(rows) * X[:1].nbytes < base.LARGE_SELECTION:
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


def verify_bags(bags: Bags) -> None:
    """Verify all files that bags lie in."""
    X = bags.X
    parts = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    for array in (*parts, *(getattr(bags, name) for name in PER_INSTANCE)):
        if base.is_mapped(array):
            verify(array)
