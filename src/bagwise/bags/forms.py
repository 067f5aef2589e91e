"""Conversion of other forms of multiple-instance data to the arguments of `Bags`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.arrays import (
    NAMES,
    NUMERIC_KINDS,
    PER_BAG,
    PER_INSTANCE,
    as_array,
    as_rows,
    check_members,
    in_range,
)
from bagwise.bags.ids import as_names, constant_within, factorize, is_missing, name_of
from bagwise.bags.segments import offsets_of
from bagwise.errors import Argument, Message, list_names, suggestion

if TYPE_CHECKING:
    from bagwise.bags.bags import Bags


WIDE = ("bag_features", "coords")  # in several columns; all others are one column


# A list of arrays --------------------------------------------------------------------------------


def stack_list(arrays: Sequence[Any], ids: Any) -> dict[str, Any]:
    """Stack one 2-D array per bag."""
    ids = None if ids is None else as_names(ids)
    rows = [a if sp.issparse(a) else as_array(a, name_of(ids, i)) for i, a in enumerate(arrays)]
    if not rows:
        raise ValueError("There are no bags: the list is empty.")
    check_members(rows, ids)
    return {"X": _stack(rows), "offsets": offsets_of([r.shape[0] for r in rows]), "ids": ids}


def _stack(rows: list[Any]) -> Any:
    if sp.issparse(rows[0]):
        return sp.vstack([in_range(row) for row in rows], format="csr")
    return np.concatenate(rows)


def is_plain_table(data: Any) -> bool:
    """Return whether the input is a plain 2-D table, whose rows are bags of one instance."""
    if isinstance(data, list | tuple):
        return len(data) > 0 and not any(_is_matrix(member) for member in data)
    shape = getattr(data, "shape", (0, 0))
    if len(shape) == 1 and getattr(data, "dtype", None) == np.dtype(object):
        return not any(_is_matrix(member) for member in data)
    return len(shape) != 3


def _is_matrix(member: Any) -> bool:
    if isinstance(member, list | tuple):
        return len(member) > 0 and (isinstance(member[0], list | tuple) or np.ndim(member[0]) > 0)
    return len(getattr(member, "shape", ())) >= 2


# Flat rows and the bag id of each ----------------------------------------------------------------


def group_rows(
    X: Any, bag_ids: Any, y: Any, rows: dict[str, Any]
) -> tuple[dict[str, Any], Array | None]:
    """Sort rows into bags, stably; attributes of a bag must be the same on all of its rows."""
    X = as_rows(X)
    codes, ids = factorize(bag_ids)
    _check_length("bag_ids", codes, X.shape[0])
    if X.shape[0] == 0:
        raise ValueError("There are no bags: X has no rows.")
    order = np.argsort(codes, kind="stable")
    offsets = offsets_of(np.bincount(codes))
    is_sorted = not np.any(np.diff(codes) < 0)
    arguments = {"X": X if is_sorted else X[order], "offsets": offsets, "ids": ids}
    arguments |= {"feature_names": rows.pop("feature_names", None), "instance_ids": order}
    for name, values in rows.items():
        if values is not None:
            values = _sort_rows(name, values, order)
            is_of_bag = name in PER_BAG
            arguments[name] = constant_within(values, offsets, ids, name) if is_of_bag else values
    if y is not None:
        y = constant_within(_sort_rows("y", y, order), offsets, ids, "the label")
    return arguments, y


def _sort_rows(name: str, values: Any, order: Array) -> Array:
    values = as_names(values) if name in NAMES else np.asarray(values)
    _check_length(name, np.atleast_1d(values), len(order))
    return values[order]


def _check_length(name: str, values: Array, n_rows: int) -> None:
    if len(values) != n_rows:
        raise ValueError(f"{name} has {len(values)} entries, X has {n_rows} rows.")


# Data frames -------------------------------------------------------------------------------------


def read_frame(
    frame: Any, bag: str, label: str | None, features: Any, columns: dict[str, Any]
) -> tuple[Array, Array, Array | None, dict[str, Any]]:
    """Return X, bag ids, labels and other attributes from a pandas or polars data frame."""
    if not (hasattr(frame, "columns") and hasattr(frame, "shape")):
        kind = type(frame).__name__
        raise TypeError(f"from_frame takes a pandas or polars data frame, got a {kind}.")
    bag_ids, y, attributes = read_columns(frame, bag, label, columns)
    features = _feature_columns(frame, _join_columns([bag, label, *columns.values()]), features)
    return _numbers(frame, features), bag_ids, y, attributes | {"feature_names": features}


def read_columns(
    frame: Any, bag: str, label: str | None, columns: dict[str, Any]
) -> tuple[Array, Array | None, dict[str, Any]]:
    """Return the bag ids, the labels and the other attributes that columns of a frame hold."""
    columns = {n: [c] if n in WIDE and isinstance(c, str) else c for n, c in columns.items()}
    _check_columns(frame, _join_columns([bag, label, *columns.values()]))
    if bag == label:
        start = f"Column {bag!r} holds the bags and the labels: name another one with "
        raise ValueError(Message(start, Argument("bag"), " or ", Argument("label"), "."))
    attributes = {
        name: frame[column].to_numpy()
        if name == "bag_features"
        else _numbers(frame, column)
        if name in WIDE
        else _column(frame, column)
        for name, column in columns.items()
    }
    return _column(frame, bag), None if label is None else _column(frame, label), attributes


def _join_columns(columns: list[Any]) -> list[Any]:
    """Return columns, lists of columns and None as one list."""
    return [c for o in columns if o is not None for c in (o if isinstance(o, list) else [o])]


def _check_columns(frame: Any, named: list[Any]) -> None:
    """Refuse names that are not columns of the frame, and names that two columns have."""
    known = Counter(frame.columns)
    twice = next((c for c, times in known.items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"The data frame has two columns named {twice!r}: rename one.")
    missing = next((c for c in named if c not in known), None)
    if missing is not None:
        hint = suggestion(str(missing), list(frame.columns))
        raise ValueError(f"The data frame has no column {missing!r}. {hint}")


def _feature_columns(frame: Any, named: list[Any], features: Any) -> list[Any]:
    known = list(frame.columns)
    if features is None:
        features = [c for c in known if c not in named]
    features = [features] if isinstance(features, str) else [*features]
    _check_columns(frame, features)
    twice = next((c for c, times in Counter(features).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"Column {twice!r} is named twice among the features: name it once.")
    if not features:
        raise ValueError(f"No feature columns are left among {list_names(map(str, known))}.")
    return features


def _column(frame: Any, name: Any) -> Array:
    values = np.asarray(frame[name])
    if values.dtype.kind != "O":
        return values
    return as_names([None if is_missing(v) else v for v in values])


def _numbers(frame: Any, names: list[Any]) -> Array:
    values = frame[names].to_numpy()
    if values.dtype.kind in NUMERIC_KINDS:
        return values
    return np.column_stack([_numeric_column(frame, name) for name in names])


def _numeric_column(frame: Any, name: Any) -> Array:
    values = np.asarray(frame[name])
    if values.dtype.kind == "O":
        values = np.asarray([np.nan if is_missing(v) else v for v in values])
    if values.dtype.kind not in NUMERIC_KINDS:
        what = f"Column {name!r} is not numeric. Encode it, or name the columns to use with "
        raise ValueError(Message(what, Argument("features", "[...]"), "."))
    return values


# Padded arrays -----------------------------------------------------------------------------------


def unpad(array: Any, mask: Any) -> dict[str, Any]:
    """Remove the padding of a 3-D array; without a mask there is none, and nothing is copied."""
    array = as_array(array, "The padded array")
    if array.ndim != 3:
        raise ValueError(f"The padded array must have 3 dimensions, it has {array.ndim}.")
    n_bags, size, n_features = array.shape
    if mask is None:
        flat = array.reshape(n_bags * size, n_features)
        return {"X": flat, "offsets": offsets_of(np.full(n_bags, size))}
    mask = np.asarray(mask, dtype=bool)
    if mask.shape != (n_bags, size):
        raise ValueError(f"The mask has shape {mask.shape}, expected {(n_bags, size)}.")
    return {"X": array[mask], "offsets": offsets_of(mask.sum(axis=1))}


# Several Bags ------------------------------------------------------------------------------------


def join(
    parts: list[Any], called: list[str], stack: Callable[[list[Any]], Any] = _stack
) -> dict[str, Any]:
    """Stack several `Bags`, which errors call by these names.

    Either all parts have an attribute or none has it.
    """
    if not parts:
        raise ValueError("There is nothing to concatenate: the list of parts is empty.")
    for name, part in zip(called, parts, strict=True):
        for what, get in _ALIKE.items():
            values = (get(parts[0]), get(part))
            if values[0] != values[1]:
                both = " and ".join(
                    list_names(v) if isinstance(v, list) else str(v) for v in values
                )
                raise ValueError(f"{name} and {called[0]} differ in their {what}: {both}.")
    arguments = {
        name: join_values([getattr(part, name) for part in parts], name, called)
        for name in (*PER_BAG, *PER_INSTANCE)
        if all(getattr(part, f"has_{name}", True) for part in parts)
    }
    arguments["X"] = stack([part.X for part in parts])
    arguments["offsets"] = offsets_of(np.concatenate([part.sizes for part in parts]))
    return arguments | {"feature_names": parts[0].feature_names}


_ALIKE: dict[str, Callable[[Bags], Any]] = {
    "number of features": lambda part: part.n_features,
    "kind (dense or sparse)": lambda part: "sparse" if sp.issparse(part.X) else "dense",
    "feature_names": lambda part: (
        None if part.feature_names is None else [str(name) for name in part.feature_names]
    ),
}


def join_values(values: list[Any], name: str, called: list[str]) -> Any:
    """Concatenate what all parts have; None if they have nothing."""
    missing = [v is None for v in values]
    if all(missing):
        return None
    if any(missing):
        with_it, without = called[missing.index(False)], called[missing.index(True)]
        raise ValueError(f"{without} has no {name}, but {with_it} has.")
    widths = [v.shape[1:] for v in values]
    if len(set(widths)) > 1:
        raise ValueError(f"The parts have {name} of different widths: {[w for (w,) in widths]}.")
    if len({v.dtype.kind for v in values}) > 1 and name not in ("priors", "patch_size", *WIDE):
        values = [v.astype(object) for v in values]  # NumPy would turn 1 into '1' beside 'b'
    return np.concatenate(values)


def read_anndata(
    adata: Any,
    bag: str,
    label: str | None,
    layer: str | None,
    obsm: str | None,
    columns: dict[str, Any],
) -> tuple[Any, Array, Array | None, dict[str, Any]]:
    """Return X, bag ids, labels and other attributes of the cells."""
    if not (hasattr(adata, "obs") and hasattr(adata, "obsm")):
        raise TypeError(f"from_anndata takes an AnnData object, got a {type(adata).__name__}.")
    if layer is not None and obsm is not None:
        raise ValueError("Name the features with layer or with obsm, not with both.")
    X, names = features_of(adata, layer, obsm)
    bag_ids, y, attributes = read_columns(adata.obs, bag, label, columns)
    attributes = {"instance_ids": np.asarray(adata.obs_names, dtype=str), **attributes}
    if "coords" not in attributes and "spatial" in adata.obsm:
        attributes["coords"] = np.asarray(adata.obsm["spatial"])[:, :2]
    return X, bag_ids, y, attributes | {"feature_names": names}


def features_of(adata: Any, layer: str | None, obsm: str | None) -> tuple[Any, list[str]]:
    """Return the matrix that was chosen, and the names of its columns."""
    if obsm is not None:
        values = np.asarray(_require_known(adata.obsm, obsm, "obsm"))
        return values, [f"{obsm}_{i}" for i in range(values.shape[1])]
    values = adata.X if layer is None else _require_known(adata.layers, layer, "layers")
    if values is None:
        raise ValueError("adata.X is empty: name the features with layer or obsm.")
    return values, [str(name) for name in adata.var_names]


def _require_known(stored: Any, name: str, where: str) -> Any:
    if name not in stored:
        raise ValueError(f"adata.{where} has no {name!r}. {suggestion(name, list(stored))}")
    return stored[name]
