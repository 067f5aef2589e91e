"""Parquet and Arrow IPC (Feather), through pyarrow; only the needed columns are read.

Long form: one row per instance, as in CSV. Nested form: one row per bag, its instances a list of
lists in one column ("instances"), instance labels and ids in lists beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.frames import bag_columns, instance_columns, long_columns
from bagwise.bags.segments import bag_of_row, cut_bags, offsets_of
from bagwise.errors import Argument, Message, list_names
from bagwise.io import _assemble as rows
from bagwise.io._arrowfiles import (
    FEATURES,
    IPC,
    PARQUET,
    ArrowFile,
    as_array,
    to_arrow,
    write_batches,
)
from bagwise.io._columns import Column, Columns, LabeledBags, reads, writes
from bagwise.io._files import rows_per_block
from bagwise.io._flatten import dense_blocks, name_features
from bagwise.io.errors import FormatError, MixedTypeError, ShuffledBagError, missing_value
from bagwise.io.tables import ENCODE, join_blocks

_EXPLAINED = {
    "instances": "The column with the instances as lists of lists (nested form); None: the only "
    "such column, if there is one.",
}


@reads(".parquet", **_EXPLAINED)
def read_parquet(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instances: str | None = None,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read a Parquet file, long (one row per instance) or nested (one row per bag).

    Columns that are not used are not read. The instances are float16 or float32 if all features
    are, else float64.
    """
    return _read(ArrowFile(Path(path), PARQUET), instances, bag=bag, label=label, **columns)


@reads(".arrow", path="The file, in the IPC file or stream format.", **_EXPLAINED)
def read_arrow(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instances: str | None = None,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read an Arrow IPC (Feather) file, long or nested."""
    return _read(ArrowFile(Path(path), IPC), instances, bag=bag, label=label, **columns)


def _read(
    file: ArrowFile,
    instances: str | None,
    *,
    features: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    regroup: bool = False,
    **named: Any,
) -> LabeledBags:
    with file.name_damage():
        nested = find_instances(file, instances)
        if nested is not None:
            return _read_nested(file, nested, named)
        options: Columns = {"features": features, "drop": drop, "regroup": regroup}
        layout = rows.lay_out(file.path, file.names, **options, **named)
        _refuse_non_numeric(file, layout)
        X, chunks = _read_long(file, layout, _common_type(file, layout))
        read = {key: _column(file.path, key, parts) for key, parts in chunks.items()}
        return layout.assemble(file.path, X, read, rows.row_place)


def _refuse_non_numeric(file: ArrowFile, layout: rows.Layout) -> None:
    for j in layout.features:
        if not file.is_numeric(j):
            problem = f"holds {file.schema.field(j).type}, expected numbers. "
            raise MixedTypeError(file.path, Message(problem, *ENCODE), column=file.names[j])


def _common_type(file: ArrowFile, layout: rows.Layout) -> Any:
    kinds = {str(file.schema.field(j).type) for j in layout.features}
    narrow: dict[tuple[str, ...], Any] = {("halffloat",): np.float16, ("float",): np.float32}
    return narrow.get(tuple(kinds), np.float64)


def _read_long(
    file: ArrowFile, layout: rows.Layout, dtype: Any
) -> tuple[Any, dict[str, list[Any]]]:
    blocks: list[Array] = []
    chunks: dict[str, list[Any]] = {key: [] for key in layout.keys}
    for batch in file.batches([*layout.features, *layout.keys.values()]):
        blocks.append(np.empty((batch.num_rows, len(layout.features)), dtype))
        for k, j in enumerate(layout.features):
            blocks[-1][:, k] = batch.column(file.names[j]).to_numpy(zero_copy_only=False)
        for key, j in layout.keys.items():
            chunks[key].append(batch.column(file.names[j]))
    return join_blocks(file.path, blocks), chunks


def _column(path: Path, key: str, parts: list[Any]) -> Any:
    import pyarrow as pa

    column = pa.chunked_array(parts)
    _refuse_nulls(path, key, column)
    if key in rows.CODED:
        encoded = column.combine_chunks().dictionary_encode()
        return rows.Coded(encoded.indices.to_numpy(), as_array(encoded.dictionary))
    values = as_array(column)
    return values.astype(np.float64) if key.startswith(rows.NUMERIC) else values


@writes(
    ".parquet",
    nested=(
        "Whether to write one row per bag, with its instances as a list of lists, "
        "instead of one row per instance."
    ),
)
def write_parquet(path: str | Path, bags: Bags, y: Any = None, *, nested: bool = False) -> None:
    """Write a Parquet file."""
    make = _batch_bags if nested else _batch_instances
    write_batches(Path(path), PARQUET, make(Path(path), bags, y))


@writes(".feather", nested="As in `write_parquet`.")
def write_arrow(path: str | Path, bags: Bags, y: Any = None, *, nested: bool = False) -> None:
    """Write an Arrow IPC (Feather version 2) file."""
    make = _batch_bags if nested else _batch_instances
    write_batches(Path(path), IPC, make(Path(path), bags, y))


def _batch_instances(path: Path, bags: Bags, y: Any) -> Iterator[Any]:
    import pyarrow as pa

    keys = {name: to_arrow(path, name, v) for name, v in long_columns(bags, y).items()}
    names = [*keys, *name_features(path, bags, keys)]
    for start, block in dense_blocks(bags):
        of_keys = [column.slice(start, len(block)) for column in keys.values()]
        of_features = [pa.array(np.ascontiguousarray(c)) for c in block.T]
        yield pa.record_batch([*of_keys, *of_features], names=names)


# The nested form --------------------------------------------------------------------------------


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


def _read_nested(file: ArrowFile, instances: str, named: dict[str, Any]) -> LabeledBags:
    """Read a file with one row per bag."""
    import pyarrow as pa

    names = file.names
    roles = rows.find_roles(file.path, names, named, rows.ROLES)
    if {*rows.COORDS} <= {*names}:
        roles |= {name: names.index(name) for name in rows.COORDS}
    rows.refuse_shared(file.path, names, roles)
    covariates = [j for j, n in enumerate(names) if n.startswith(rows.BAG_FEATURE)]
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
    coded = {r: rows.take_column(file.path, r, columns[r]) for r in rows.CODED if r in columns}
    rows.refuse_unclear(file.path, coded)
    columns = rows.stack(columns)
    ids, y = columns.pop("bag", None), columns.pop("label", None)
    _refuse_repeats(file.path, ids)
    names = file.read_names(X.shape[1])
    return Bags(X, offsets_of(sizes), ids=ids, feature_names=names, **columns), y


def _whole(column: Any) -> Any:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _refuse_repeats(path: Path, ids: Any) -> None:
    seen: set[Any] = set()
    for row, name in enumerate([] if ids is None else ids.tolist()):
        if name in seen:
            problem = f"bag {name!r} has two rows. Expected one."
            raise ShuffledBagError(path, problem, rows.row_place(row))
        seen.add(name)


def _instances(path: Path, column: Any) -> tuple[Array, Array]:
    sizes = _lengths(path, column, "bag")
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        raise FormatError(path, "the bag has no instances. Drop it.", rows.row_place(empty[0]))
    inner = column.flatten()
    widths = _lengths(path, inner, "row")
    odd = np.flatnonzero(widths != widths[0])
    if len(odd):
        problem = f"an instance has {widths[odd[0]]} features, the first one has {widths[0]}."
        raise FormatError(path, problem, rows.row_place(bag_of_row(odd[0], offsets_of(sizes))))
    values = inner.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(widths), -1), sizes


def _lengths(path: Path, lists: Any, what: str) -> Array:
    if lists.null_count:
        raise FormatError(path, f"the list of a {what} is missing (null). Expected numbers.")
    from pyarrow import compute

    return compute.list_value_length(lists).to_numpy(zero_copy_only=False).astype(np.int64)


def _bag_column(path: Path, role: str, column: Any, sizes: Array) -> Array:
    _refuse_nulls(path, role, column)
    if not _is_list(column.type):
        return as_array(column)
    lengths = _lengths(path, column, role)
    odd = np.flatnonzero(lengths != sizes)
    if len(odd):
        i = odd[0]
        problem = f"{lengths[i]} {role} for {sizes[i]} instances."
        raise FormatError(path, problem, rows.row_place(i), role)
    return as_array(column.flatten())


def _refuse_nulls(path: Path, role: str, column: Any) -> None:
    """Refuse a column with missing values, but for known labels of instances."""
    if column.null_count and role != "known_labels":
        row = next(i for i, value in enumerate(column) if not value.is_valid)
        raise missing_value(path, role, rows.row_place(row))


def _batch_bags(path: Path, bags: Bags, y: Any) -> Iterator[Any]:
    """Yield record batches with one row per bag."""
    import pyarrow as pa

    of_bags = {n: to_arrow(path, n, v) for n, v in bag_columns(bags, y).items()}
    of_rows = {n: to_arrow(path, n, v) for n, v in instance_columns(bags).items()}
    names = None if bags.feature_names is None else [str(n) for n in bags.feature_names]
    metadata = {FEATURES: json.dumps(names)}
    for start, stop in pairwise(cut_bags(bags.offsets, rows_per_block(bags.n_features))):
        part = bags[start:stop]
        first = int(bags.offsets[start])
        values = part.X.toarray() if sp.issparse(part.X) else np.ascontiguousarray(part.X)
        flat = pa.array(values.ravel())
        lists = {"instances": pa.FixedSizeListArray.from_arrays(flat, bags.n_features)}
        lists |= {n: v.slice(first, part.n_instances) for n, v in of_rows.items()}
        columns = {n: v.slice(start, stop - start) for n, v in of_bags.items()}
        for name, flat_column in lists.items():
            columns[name] = pa.LargeListArray.from_arrays(part.offsets, flat_column)
        yield pa.record_batch(columns).replace_schema_metadata(metadata)
