"""The nested form of columnar files: one row per bag, its instances a list of lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import bag_of_row, offsets_of
from bagwise.errors import Argument, Message, list_names
from bagwise.io import _assemble as table
from bagwise.io._arrowfiles import FEATURES, ArrowFile, as_array, to_arrow
from bagwise.io._assemble import COORDS, LabeledBags, row_place
from bagwise.io._flatten import bag_columns, instance_columns
from bagwise.io._limits import rows_per_block
from bagwise.io.errors import FormatError, ShuffledBagError, missing_value

INSTANCES = "instances"


def find_instances(file: ArrowFile, named: str | None) -> str | None:
    """Return the column of lists of lists, None if the file has one row per instance."""
    lists = [f.name for f in file.schema if _is_list(f.type) and _is_list(f.type.value_type)]
    if named is not None:
        if named not in lists:
            problem = f"holds no lists of lists; these do: {list_names(lists)}."
            raise FormatError(file.path, problem, column=named)
        return named
    if len(lists) > 1:
        problem = f"{list_names(lists)} hold lists of lists: name one with "
        raise FormatError(file.path, Message(problem, Argument("instances")))
    return lists[0] if lists else None


def _is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def read_nested(file: ArrowFile, instances: str, named: dict[str, Any], dtype: Any) -> LabeledBags:
    """Read a file with one row per bag."""
    import pyarrow as pa

    names = file.names
    roles = table.find_roles(file.path, names, named, table.ROLES)
    if {*COORDS} <= {*names}:
        roles |= {name: names.index(name) for name in COORDS}
    table.refuse_shared(file.path, names, roles)
    covariates = [j for j, n in enumerate(names) if n.startswith(table.BAG_FEATURE)]
    batches = list(file.batches([names.index(instances), *roles.values(), *covariates]))
    if not sum(batch.num_rows for batch in batches):
        raise FormatError(file.path, "holds no rows. Expected one row per bag.")
    read = pa.Table.from_batches(batches).combine_chunks()
    X, sizes = _instances(file.path, _whole(read[instances]))
    columns: dict[str, Any] = {
        r: _bag_column(file.path, r, _whole(read[names[j]]), sizes) for r, j in roles.items()
    }
    if covariates:
        values = [read[names[j]].to_numpy() for j in covariates]
        columns["bag_features"] = np.stack(values, axis=1)
    columns = table.stack(columns)
    ids, y = columns.pop("bag", None), columns.pop("label", None)
    _refuse_repeats(file.path, ids)
    X = X if dtype is None else X.astype(dtype)
    names = file.read_names(X.shape[1])
    return Bags(X, offsets_of(sizes), ids=ids, feature_names=names, **columns), y


def _whole(column: Any) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _refuse_repeats(path: Path, ids: Any) -> None:
    seen: set[Any] = set()
    for row, name in enumerate([] if ids is None else ids.tolist()):
        if name in seen:
            problem = f"bag {name!r} has two rows. Expected one."
            raise ShuffledBagError(path, problem, row_place(row))
        seen.add(name)


def _instances(path: Path, column: Any) -> tuple[Array, Array]:
    sizes = _lengths(path, column, "bag")
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise FormatError(path, "the bag has no instances. Drop it.", row_place(empty[0]))
    inner = column.flatten()
    widths = _lengths(path, inner, "row")
    odd = np.flatnonzero(widths != widths[0])
    if len(odd):
        problem = f"an instance has {widths[odd[0]]} features, the first one has {widths[0]}."
        raise FormatError(path, problem, row_place(bag_of_row(odd[0], offsets_of(sizes))))
    values = inner.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(widths), -1), sizes


def _lengths(path: Path, lists: Any, what: str) -> Array:
    if lists.null_count:
        raise FormatError(path, f"the list of a {what} is missing (null). Expected numbers.")
    from pyarrow import compute

    return compute.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)


def _bag_column(path: Path, role: str, column: Any, sizes: Array) -> Array:
    refuse_nulls(path, role, column)
    if not _is_list(column.type):
        return as_array(column)
    lengths = _lengths(path, column, role)
    odd = np.flatnonzero(lengths != sizes)
    if len(odd):
        i = odd[0]
        problem = f"{lengths[i]} {role} for {sizes[i]} instances."
        raise FormatError(path, problem, row_place(i), role)
    return as_array(column.flatten())


def refuse_nulls(path: Path, role: str, column: Any) -> None:
    """Refuse a column with missing values."""
    if column.null_count:
        row = next(i for i, value in enumerate(column) if not value.is_valid)
        raise missing_value(path, role, row_place(row))


def nested_batches(path: Path, bags: Bags, y: Any) -> Iterator[Any]:
    """Yield record batches with one row per bag."""
    import pyarrow as pa

    of_bags = {n: to_arrow(path, n, v) for n, v in bag_columns(bags, y).items()}
    of_rows = {n: to_arrow(path, n, v) for n, v in instance_columns(bags).items()}
    names = None if bags.feature_names is None else [str(n) for n in bags.feature_names]
    metadata = {FEATURES: json.dumps(names)}
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
    """Yield ranges of bags with a bounded number of values."""
    most = rows_per_block(bags.n_features)
    start = 0
    while start < len(bags):
        stop = max(start + 1, bag_of_row(bags.offsets[start] + most, bags.offsets))
        yield start, stop
        start = stop
