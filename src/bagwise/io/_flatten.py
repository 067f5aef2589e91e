"""From bags to columns: every writer of files with one row per instance starts here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.arrays import PER_BAG, PER_INSTANCE, feature_names
from bagwise.io._files import rows_per_block
from bagwise.io.errors import DuplicateColumnError, FormatError

# What formats with one line per instance, and nothing else, cannot store.
NOT_IN_LINES = tuple(n for n in (*PER_BAG, *PER_INSTANCE) if n not in ("ids", "instance_ids"))


def rows_as_names(values: Array) -> Array:
    """Return the rows of a 2-D array (coordinates) as tuples, and 1-D names as they are."""
    if values.ndim == 1:
        return values
    names = np.empty(len(values), dtype=object)
    names[:] = [tuple(row) for row in values.tolist()]
    return names


def names_as_rows(names: Array) -> Array:
    """Undo `rows_as_names` if all names are tuples of numbers of the same length."""
    if names.dtype.kind != "O" or not all(isinstance(name, tuple) for name in names):
        return names
    if len({len(name) for name in names}) != 1:
        return names
    rows = np.array(names.tolist())
    return rows if rows.dtype.kind in "iuf" else names


def warn_left_out(path: Path, bags: Bags, attributes: tuple[str, ...]) -> None:
    """Warn about attributes of the bags that the format cannot store."""
    left_out = [name for name in attributes if getattr(bags, name) is not None]
    if left_out:
        warnings.warn(
            f"{path}: the format cannot store {', '.join(left_out)}; left out.", stacklevel=3
        )


def refuse_special(
    path: Path, columns: dict[str, Array], special: re.Pattern[str], where: str
) -> None:
    """Refuse names with characters that have a meaning in the format."""
    for name, values in columns.items():
        for value in dict.fromkeys(values.tolist()):
            if special.search(str(value)):
                raise FormatError(path, f"the {name} {value!r} cannot be written {where}.")


def name_features(path: Path, bags: Bags, keys: Any) -> list[str]:
    """Return the feature names; f1, f2, ... by default."""
    names = [str(name) for name in feature_names(bags)]
    for j, name in enumerate(names):
        if name in keys or name in names[:j]:
            raise DuplicateColumnError(path, f"two columns would be named {name!r}.", column=name)
    return names


def long_rows(bags: Bags, columns: dict[str, Array]) -> Iterator[list[Any]]:
    """Yield the values of every instance: those of some columns, then its features."""
    for start, block in dense_blocks(bags):
        of_block = [values[start : start + len(block)].tolist() for values in columns.values()]
        for *values, numbers in zip(*of_block, block.tolist(), strict=True):
            yield [*values, *numbers]


def dense_blocks(bags: Bags) -> Iterator[tuple[int, Array]]:
    """Yield (first row, rows) in blocks of bounded size; sparse rows with their zeros."""
    step = rows_per_block(bags.n_features)
    for start in range(0, bags.n_instances, step):
        block = bags.X[start : start + step]
        yield start, block.toarray() if sp.issparse(block) else np.asarray(block)
