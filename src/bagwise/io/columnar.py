"""Parquet and Arrow IPC (Feather), through pyarrow; only the needed columns are read.

Long form: one row per instance, as in CSV. Nested form: one row per bag, its instances a list of
lists in one column ("instances"), instance labels and ids in lists beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bagwise.bags import Bags
from bagwise.errors import Message
from bagwise.io._arrowfiles import ArrowFile, IpcFile, ParquetFile, as_array, to_arrow
from bagwise.io._assemble import (
    BAG_FEATURE,
    COORDS,
    ROLES,
    Coded,
    Column,
    LabeledBags,
    Layout,
    assemble,
    by_role,
    lay_out,
    reads,
    round_trip,
    writes,
)
from bagwise.io._flatten import dense_blocks, long_columns, written_feature_names
from bagwise.io._grow import GrowingRows
from bagwise.io._nested import find_instances, nested_batches, read_nested, refuse_nulls
from bagwise.io._tabletext import ENCODE
from bagwise.io.errors import FormatError, MixedTypeError


@round_trip(".parquet")
@reads(
    instances=(
        "The column with the instances as lists of lists (nested form); None: the only "
        "such column, if there is one."
    ),
    dtype=(
        "Data type of the instances; None: float16 or float32 if all features are, else float64."
    ),
)
def read_parquet(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instances: str | None = None,
    instance_labels: Column | None = None,
    groups: Column | None = None,
    priors: Column | None = None,
    instance_ids: Column | None = None,
    features: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    regroup: bool = False,
    dtype: DTypeLike | None = None,
) -> LabeledBags:
    """Read a Parquet file, long (one row per instance) or nested (one row per bag).

    Columns that are not used are not read.
    """
    named = by_role(bag, label, instance_labels, groups, priors, instance_ids)
    return _read(ParquetFile, path, named, instances, features, drop, regroup, dtype)


@round_trip(".arrow")
@reads(
    path="The file, in the IPC file or stream format.",
    options="The other parameters of `read_parquet`.",
)
def read_arrow(
    path: str | Path, bag: Column | None = None, label: Column | None = None, **options: Any
) -> LabeledBags:
    """Read an Arrow IPC (Feather) file, long or nested."""
    named = {role: options.pop(role, None) for role in ROLES} | {"bag": bag, "label": label}
    return _read(IpcFile, path, named, **options)


def _read(
    kind: type[ArrowFile],
    path: str | Path,
    named: dict[str, Column | None],
    instances: str | None = None,
    features: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    regroup: bool = False,
    dtype: DTypeLike | None = None,
) -> LabeledBags:
    with kind(Path(path)) as file, file.damage_named():
        nested = find_instances(file, instances)
        if nested is not None:
            return read_nested(file, nested, named, dtype)
        layout = lay_out(file.path, file.names, named, features, drop=drop)
        _refuse_non_numeric(file, layout)
        X, chunks = _read_long(file, layout, np.dtype(dtype or _common_type(file, layout)))
        columns = {key: _column(file.path, key, parts) for key, parts in chunks.items()}
        return assemble(file.path, X, columns, layout.feature_names, regroup=regroup)


def _refuse_non_numeric(file: ArrowFile, layout: Layout) -> None:
    for j in layout.features:
        if not file.is_numeric(j):
            problem = f"holds {file.schema.field(j).type}, expected numbers. "
            raise MixedTypeError(file.path, Message(problem, *ENCODE), column=file.names[j])


def _common_type(file: ArrowFile, layout: Layout) -> Any:
    kinds = {str(file.schema.field(j).type) for j in layout.features}
    narrow: dict[tuple[str, ...], Any] = {("halffloat",): np.float16, ("float",): np.float32}
    return narrow.get(tuple(kinds), np.float64)


def _read_long(
    file: ArrowFile, layout: Layout, dtype: np.dtype
) -> tuple[Any, dict[str, list[Any]]]:
    rows = GrowingRows(len(layout.features), dtype)
    chunks: dict[str, list[Any]] = {key: [] for key in layout.keys}
    done = 0
    for batch in file.batches([*layout.features, *layout.keys.values()]):
        done += batch.num_rows
        room = rows.reserve(batch.num_rows, done / max(file.n_rows, 1))
        for k, j in enumerate(layout.features):
            room[:, k] = batch.column(file.names[j]).to_numpy(zero_copy_only=False)
        for key, j in layout.keys.items():
            chunks[key].append(batch.column(file.names[j]))
    if done == 0:
        raise FormatError(file.path, "holds no rows. Expected one row per instance.")
    return rows.finish(), chunks


def _column(path: Path, key: str, parts: list[Any]) -> Any:
    import pyarrow as pa

    column = pa.chunked_array(parts)
    refuse_nulls(path, key, column)
    if key in ("bag", "label", "groups"):
        encoded = column.combine_chunks().dictionary_encode()
        return Coded(encoded.indices.to_numpy(), as_array(encoded.dictionary))
    values = as_array(column)
    is_number = key in ("priors", "patch_size") or key.startswith(BAG_FEATURE) or key in COORDS
    return values.astype(np.float64) if is_number else values


@round_trip(".parquet")
@writes(
    nested=(
        "Whether to write one row per bag, with its instances as a list of lists, "
        "instead of one row per instance."
    )
)
def write_parquet(path: str | Path, bags: Bags, y: Any = None, *, nested: bool = False) -> None:
    """Write a Parquet file."""
    make = nested_batches if nested else _long_batches
    ParquetFile.write(Path(path), make(Path(path), bags, y))


@round_trip(".feather")
@writes(nested="As in `write_parquet`.")
def write_arrow(path: str | Path, bags: Bags, y: Any = None, *, nested: bool = False) -> None:
    """Write an Arrow IPC (Feather version 2) file."""
    make = nested_batches if nested else _long_batches
    IpcFile.write(Path(path), make(Path(path), bags, y))


def _long_batches(path: Path, bags: Bags, y: Any) -> Iterator[Any]:
    import pyarrow as pa

    keys = {name: to_arrow(path, name, v) for name, v in long_columns(bags, y).items()}
    names = [*keys, *written_feature_names(path, bags, keys)]
    for start, block in dense_blocks(bags):
        of_keys = [column.slice(start, len(block)) for column in keys.values()]
        of_features = [pa.array(np.ascontiguousarray(c)) for c in block.T]
        yield pa.record_batch([*of_keys, *of_features], names=names)
