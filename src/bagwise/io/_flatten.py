"""From bags to long-form columns: every writer of one-row-an-instance files starts here."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.io._assemble import BAG_FEATURE, ROLES
from bagwise.io.errors import DuplicateColumnError
from bagwise.segments import expand

Array = NDArray[Any]

_BLOCK_VALUES = 1 << 18


def rows_as_names(values: Array) -> Array:
    """Return the rows of a 2-D array (coordinates) as one tuple each, 1-D names as they are."""
    if values.ndim == 1:
        return values
    names = np.empty(len(values), dtype=object)
    names[:] = [tuple(row) for row in values.tolist()]
    return names


def names_as_rows(names: Array) -> Array:
    """Undo `rows_as_names` where every name is a tuple of numbers of one length."""
    if names.dtype.kind != "O" or not all(isinstance(name, tuple) for name in names):
        return names
    if len({len(name) for name in names}) != 1:
        return names
    rows = np.array(names.tolist())
    return rows if rows.dtype.kind in "iuf" else names


def checked_labels(bags: Bags, y: Any) -> Any:
    """Return the labels as an array with one entry a bag, or None."""
    if y is None:
        return None
    y = np.asarray(y)
    if y.shape != (len(bags),):
        raise ValueError(f"Expected one label a bag ({len(bags)}), got shape {y.shape}.")
    return y


def warn_left_out(path: Path, bags: Bags, attributes: tuple[str, ...]) -> None:
    """Warn of what is known of the bags and has no place in the format."""
    left_out = [name for name in attributes if getattr(bags, name) is not None]
    if left_out:
        warnings.warn(
            f"{path}: the format has no place for {', '.join(left_out)}; left out.", stacklevel=3
        )


def bag_columns(bags: Bags, y: Any) -> dict[str, Array]:
    """Return what is known of every bag, by its column's name."""
    columns = {"bag": bags.ids, "label": checked_labels(bags, y)}
    columns["group"], columns["prior"] = bags.groups, bags.priors
    if bags.bag_features is not None:
        covariates = np.asarray(bags.bag_features).reshape(len(bags), -1)
        columns |= {f"{BAG_FEATURE}{k + 1}": c for k, c in enumerate(covariates.T)}
    return {name: values for name, values in columns.items() if values is not None}


def instance_columns(bags: Bags) -> dict[str, Array]:
    """Return what is known of every instance; numbers that only count are left out."""
    columns = {}
    if bags.instance_labels is not None:
        columns[ROLES["instance_labels"]] = bags.instance_labels
    if not np.array_equal(bags.instance_ids, np.arange(bags.n_instances)):
        columns[ROLES["instance_ids"]] = bags.instance_ids
    return columns


def long_columns(path: Path, bags: Bags, y: Any) -> dict[str, Array]:
    """Return one value an instance of everything that is not a feature."""
    of_bags = {k: expand(v, bags.offsets) for k, v in bag_columns(bags, y).items()}
    columns = {**of_bags, **instance_columns(bags)}
    for name, values in columns.items():
        if values.ndim != 1:
            raise ValueError(f"{path}: {name} has {values.ndim} dimensions, a column has one.")
    return columns


def written_feature_names(path: Path, bags: Bags, keys: Any) -> list[str]:
    """Return the features' names, f1, f2, ... where they have none."""
    if bags.feature_names is None:
        return [f"f{j + 1}" for j in range(bags.n_features)]
    names = [str(name) for name in bags.feature_names]
    for j, name in enumerate(names):
        if name in keys or name in names[:j]:
            raise DuplicateColumnError(path, f"two columns would be named {name!r}.", column=name)
    return names


def dense_blocks(bags: Bags) -> Iterator[tuple[int, Array]]:
    """Yield (first row, rows) of a bounded size, sparse rows with their zeros."""
    step = max(1, _BLOCK_VALUES // max(1, bags.n_features))
    for start in range(0, bags.n_instances, step):
        block = bags.X[start : start + step]
        yield start, block.toarray() if sp.issparse(block) else np.asarray(block)
