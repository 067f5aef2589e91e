"""Parquet and Arrow IPC (Feather), through pyarrow; only the needed columns are read.

Long form: one row per instance, as in CSV. Nested form: one row per bag, its instances a list of
lists in one column ("instances"), instance labels and ids in lists beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import DTypeLike

from bagwise.bags import Bags
from bagwise.errors import Message
from bagwise.io import _assemble as rows
from bagwise.io._arrowfiles import ArrowFile, IpcFile, ParquetFile, as_array, to_arrow
from bagwise.io._assemble import Column, Columns, LabeledBags, reads, round_trip, writes
from bagwise.io._flatten import dense_blocks, long_columns, name_features
from bagwise.io._grow import GrowingRows
from bagwise.io._nested import find_instances, nested_batches, read_nested, refuse_nulls
from bagwise.io._tabletext import ENCODE
from bagwise.io.errors import MixedTypeError

_EXPLAINED = {
    "instances": "The column with the instances as lists of lists (nested form); None: the only "
    "such column, if there is one.",
    "dtype": "Data type of the instances; None: float16 or float32 if all features are, else "
    "float64.",
}


@round_trip(".parquet")
@reads(**_EXPLAINED)
def read_parquet(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instances: str | None = None,
    dtype: DTypeLike | None = None,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read a Parquet file, long (one row per instance) or nested (one row per bag).

    Columns that are not used are not read.
    """
    return _read(ParquetFile(Path(path)), instances, dtype, bag=bag, label=label, **columns)


@round_trip(".arrow")
@reads(path="The file, in the IPC file or stream format.", **_EXPLAINED)
def read_arrow(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instances: str | None = None,
    dtype: DTypeLike | None = None,
    **columns: Unpack[Columns],
) -> LabeledBags:
    """Read an Arrow IPC (Feather) file, long or nested."""
    return _read(IpcFile(Path(path)), instances, dtype, bag=bag, label=label, **columns)


def _read(
    file: ArrowFile,
    instances: str | None,
    dtype: DTypeLike | None,
    *,
    features: Sequence[Column] | None = None,
    drop: Sequence[Column] | None = None,
    regroup: bool = False,
    **named: Any,
) -> LabeledBags:
    with file, file.name_damage():
        nested = find_instances(file, instances)
        if nested is not None:
            return read_nested(file, nested, named, dtype)
        options: Columns = {"features": features, "drop": drop, "regroup": regroup}
        layout = rows.lay_out(file.path, file.names, **options, **named)
        _refuse_non_numeric(file, layout)
        X, chunks = _read_long(file, layout, np.dtype(dtype or _common_type(file, layout)))
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
    file: ArrowFile, layout: rows.Layout, dtype: np.dtype
) -> tuple[Any, dict[str, list[Any]]]:
    X = GrowingRows(file.path, len(layout.features), dtype)
    chunks: dict[str, list[Any]] = {key: [] for key in layout.keys}
    done = 0
    for batch in file.batches([*layout.features, *layout.keys.values()]):
        done += batch.num_rows
        room = X.reserve(batch.num_rows, done / max(file.n_rows, 1))
        for k, j in enumerate(layout.features):
            room[:, k] = batch.column(file.names[j]).to_numpy(zero_copy_only=False)
        for key, j in layout.keys.items():
            chunks[key].append(batch.column(file.names[j]))
    return X.finish(), chunks


def _column(path: Path, key: str, parts: list[Any]) -> Any:
    import pyarrow as pa

    column = pa.chunked_array(parts)
    refuse_nulls(path, key, column)
    if key in rows.CODED:
        encoded = column.combine_chunks().dictionary_encode()
        return rows.Coded(encoded.indices.to_numpy(), as_array(encoded.dictionary))
    values = as_array(column)
    return values.astype(np.float64) if key.startswith(rows.NUMERIC) else values


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
    names = [*keys, *name_features(path, bags, keys)]
    for start, block in dense_blocks(bags):
        of_keys = [column.slice(start, len(block)) for column in keys.values()]
        of_features = [pa.array(np.ascontiguousarray(c)) for c in block.T]
        yield pa.record_batch([*of_keys, *of_features], names=names)
