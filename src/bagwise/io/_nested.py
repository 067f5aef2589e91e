"""The nested form of columnar files: one row a bag, its instances a list of lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.bags import Bags
from bagwise.io._arrowfiles import ArrowFile, as_array, to_arrow
from bagwise.io._assemble import BAG_FEATURE, ROLES, Column, Labelled
from bagwise.io._flatten import bag_columns, instance_columns
from bagwise.io.errors import FormatError, LabelError, ShuffledBagError

Array = NDArray[Any]

INSTANCES = "instances"
_BLOCK_VALUES = 1 << 22
_NAMES_KEY = b"bagwise.feature_names"


def find_instances(file: ArrowFile, named: str | None) -> str | None:
    """Return the column of lists of lists, None where the file is in the long form."""
    lists = [f.name for f in file.schema if _is_list(f.type) and _is_list(f.type.value_type)]
    if named is not None:
        if named not in lists:
            raise FormatError(
                file.path, f"holds no lists of lists; those are {lists}.", None, named
            )
        return named
    if len(lists) > 1:
        raise FormatError(file.path, f"{lists} hold lists of lists: name one with instances=...")
    return lists[0] if lists else None


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def read_nested(
    file: ArrowFile, instances: str, named: dict[str, Column | None], dtype: Any
) -> Labelled:
    """Read a file with one row a bag."""
    import pyarrow as pa

    names = file.names
    roles = {r: str(c) for r, c in named.items() if c is not None}
    roles |= {r: n for r, n in ROLES.items() if r not in roles and n in names}
    for column in roles.values():
        if column not in names:
            raise FormatError(file.path, f"has no column {column!r}; it has {names}.")
    covariates = [n for n in names if n.startswith(BAG_FEATURE)]
    wanted = [instances, *roles.values(), *covariates]
    batches = list(file.batches([names.index(n) for n in wanted]))
    if not batches:
        raise FormatError(file.path, "holds no rows. Expected one row a bag.")
    table = pa.Table.from_batches(batches).combine_chunks()
    X, sizes = _instances(file.path, _whole(table[instances]))
    columns: dict[str, Any] = {
        r: _bag_column(file.path, r, _whole(table[n]), sizes) for r, n in roles.items()
    }
    if covariates:
        columns["bag_features"] = np.stack([table[n].to_numpy() for n in covariates], axis=1)
    ids, y = columns.pop("bag", None), columns.pop("label", None)
    _refuse_repeats(file.path, ids)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    stored = json.loads((file.schema.metadata or {}).get(_NAMES_KEY, b"null"))
    X = X if dtype is None else X.astype(dtype)
    return Bags(X, offsets, ids=ids, feature_names=stored, **columns), y


def _whole(column: Any) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _refuse_repeats(path: Path, ids: Any) -> None:
    seen: set[Any] = set()
    for row, name in enumerate([] if ids is None else ids.tolist()):
        if name in seen:
            raise ShuffledBagError(
                path, f"bag {name!r} has two rows. Expected one.", f"row {row + 1}"
            )
        seen.add(name)


def _instances(path: Path, column: Any) -> tuple[Array, Array]:
    sizes = _lengths(path, column, "bag")
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise FormatError(path, "the bag has no instances. Drop it.", f"row {empty[0] + 1}")
    inner = column.flatten()
    widths = _lengths(path, inner, "instance")
    odd = np.flatnonzero(widths != widths[0])
    if len(odd):
        row = int(np.searchsorted(np.cumsum(sizes), odd[0], side="right")) + 1
        raise FormatError(
            path,
            f"an instance has {widths[odd[0]]} features, the first has {widths[0]}. Expected the "
            "same number everywhere.",
            f"row {row}",
        )
    values = inner.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(widths), -1), sizes


def _lengths(path: Path, lists: Any, what: str) -> Array:
    if lists.null_count:
        raise FormatError(path, f"an {what} list is missing (null). Expected numbers.")
    from pyarrow import compute

    return compute.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)


def _bag_column(path: Path, role: str, column: Any, sizes: Array) -> Array:
    if column.null_count:
        row = next(i for i, v in enumerate(column) if not v.is_valid)
        error = LabelError if role == "label" else FormatError
        raise error(path, f"the {role} is missing. Expected one on every row.", f"row {row + 1}")
    if not _is_list(column.type):
        return as_array(column)
    lengths = _lengths(path, column, role)
    odd = np.flatnonzero(lengths != sizes)
    if len(odd):
        i = odd[0]
        raise FormatError(
            path, f"{lengths[i]} {role} for {sizes[i]} instances.", f"row {i + 1}", role
        )
    return as_array(column.flatten())


def nested_batches(path: Path, bags: Bags, y: Any) -> Iterator[Any]:
    """Yield record batches with one row a bag."""
    import pyarrow as pa

    of_bags = {n: to_arrow(path, n, v) for n, v in bag_columns(bags, y).items()}
    of_rows = {n: to_arrow(path, n, v) for n, v in instance_columns(bags).items()}
    names = None if bags.feature_names is None else [str(n) for n in bags.feature_names]
    metadata = {_NAMES_KEY: json.dumps(names)}
    for start, stop in _bag_ranges(bags):
        part = bags[start:stop]
        first = int(bags.offsets[start])
        values = part.X.toarray() if sp.issparse(part.X) else np.ascontiguousarray(part.X)
        flat = pa.array(values.ravel())
        lists = {INSTANCES: pa.FixedSizeListArray.from_arrays(flat, bags.n_features)}
        lists |= {n: v.slice(first, part.n_instances) for n, v in of_rows.items()}
        columns = {n: v.slice(start, stop - start) for n, v in of_bags.items()}
        for name, flat_column in lists.items():
            columns[name] = pa.LargeListArray.from_arrays(part.offsets, flat_column)
        yield pa.record_batch(columns).replace_schema_metadata(metadata)


def _bag_ranges(bags: Bags) -> Iterator[tuple[int, int]]:
    """Yield ranges of bags of a bounded number of values."""
    most = max(1, _BLOCK_VALUES // max(1, bags.n_features))
    start = 0
    while start < len(bags):
        reach = np.searchsorted(bags.offsets, bags.offsets[start] + most, side="right") - 1
        stop = max(start + 1, int(reach))
        yield start, stop
        start = stop
