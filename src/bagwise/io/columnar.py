"""Parquet and Arrow IPC (Feather), through pyarrow; only the needed columns are read.

Long form: one row an instance, as in CSV. Nested form: one row a bag, its instances a list of lists
in one column ("instances"), instance labels and ids lists beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from bagwise.bags import Bags
from bagwise.io._arrowfiles import ArrowFile, IpcFile, ParquetFile, as_array, to_arrow
from bagwise.io._assemble import BAG_FEATURE, Column, Labelled, Layout, assemble, coded, lay_out
from bagwise.io._flatten import dense_blocks, long_columns, written_feature_names
from bagwise.io._grow import GrowingRows
from bagwise.io._nested import find_instances, nested_batches, read_nested
from bagwise.io.errors import FormatError, LabelError, MixedTypeError

__all__ = ["read_arrow", "read_parquet", "write_arrow", "write_parquet"]


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
    dtype: DTypeLike | None = None,
    regroup: bool = False,
) -> Labelled:
    """Read a Parquet file, long (one row an instance) or nested (one row a bag).

    Parameters
    ----------
    path : str or Path
        The file.
    bag, label : str or int, default=None
        The columns, as in `read_csv`; no column but those named and the features is read.
    instances : str, default=None
        The column that holds the bags' instances as lists of lists (nested form); None: the only
        such column, if there is one.
    instance_labels, groups, priors, instance_ids, features : optional
        As in `read_csv`.
    dtype : dtype, default=None
        Of the instances; None: float16 or float32 where all features are, float64 otherwise.
    regroup : bool, default=False
        Accept a file whose bags are scattered over it.

    Returns
    -------
    bags : Bags
        The bags, in the order of the file.
    y : ndarray of shape (n_bags,) or None
        Their labels, None where there are none.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_parquet, write_parquet
    >>> path = getfixture("tmp_path") / "bags.parquet"
    >>> write_parquet(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0], nested=True)
    >>> read_parquet(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), array([1, 0]))
    """
    named = {
        "bag": bag,
        "label": label,
        "instance_labels": instance_labels,
        "groups": groups,
        "priors": priors,
        "instance_ids": instance_ids,
    }
    with ParquetFile(Path(path)) as file:
        return _read(file, named, features, instances, dtype, regroup)


def read_arrow(
    path: str | Path,
    bag: Column | None = None,
    label: Column | None = None,
    *,
    instances: str | None = None,
    features: Sequence[Column] | None = None,
    dtype: DTypeLike | None = None,
    regroup: bool = False,
    **columns: Column,
) -> Labelled:
    """Read an Arrow IPC (Feather) file, long or nested.

    Parameters
    ----------
    path : str or Path
        The file, in the IPC file or stream format.
    bag, label, instances, features, dtype, regroup : optional
        As in `read_parquet`.
    **columns : str or int
        ``instance_labels``, ``groups``, ``priors``, ``instance_ids``: as in `read_parquet`.

    Returns
    -------
    bags : Bags
        The bags, in the order of the file.
    y : ndarray of shape (n_bags,) or None
        Their labels, None where there are none.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_arrow, write_arrow
    >>> path = getfixture("tmp_path") / "bags.arrow"
    >>> write_arrow(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]]), [1, 0])
    >>> read_arrow(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), array([1, 0]))
    """
    with IpcFile(Path(path)) as file:
        named: dict[str, Any] = {"bag": bag, "label": label, **columns}
        return _read(file, named, features, instances, dtype, regroup)


def _read(
    file: ArrowFile,
    named: dict[str, Column | None],
    features: Sequence[Column] | None,
    instances: str | None,
    dtype: Any,
    regroup: bool,
) -> Labelled:
    nested = find_instances(file, instances)
    if nested is not None:
        return read_nested(file, nested, named, dtype)
    layout = lay_out(file.path, file.names, named, features)
    _refuse_non_numeric(file, layout)
    X, chunks = _read_long(file, layout, np.dtype(dtype or _common_type(file, layout)))
    columns = {key: _column(file.path, key, parts) for key, parts in chunks.items()}
    return assemble(file.path, X, columns, layout.feature_names, _row, regroup=regroup)


def _row(row: int) -> str:
    return f"row {row + 1}"


def _refuse_non_numeric(file: ArrowFile, layout: Layout) -> None:
    for j in layout.features:
        if not file.is_numeric(j):
            raise MixedTypeError(
                file.path,
                f"holds {file.schema.field(j).type}, expected numbers. Encode the column, or leave "
                "it out with features=[...].",
                column=file.names[j],
            )


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
        raise FormatError(file.path, "holds no rows. Expected one row an instance.")
    return rows.finish(), chunks


def _column(path: Path, key: str, parts: list[Any]) -> Any:
    import pyarrow as pa

    column = pa.chunked_array(parts)
    if column.null_count:
        row = next(i for i, v in enumerate(column) if not v.is_valid)
        error = LabelError if key == "label" else FormatError
        raise error(path, f"the {key} is missing. Expected one on every row.", _row(row))
    if key in ("bag", "label", "groups"):
        encoded = column.combine_chunks().dictionary_encode()
        values = as_array(encoded.dictionary)
        return coded(encoded.indices.to_numpy())._replace(values=values)
    values = as_array(column)
    return values.astype(np.float64) if key == "priors" or key.startswith(BAG_FEATURE) else values


def write_parquet(path: str | Path, bags: Bags, y: Any = None, *, nested: bool = False) -> None:
    """Write a Parquet file.

    Parameters
    ----------
    path : str or Path
        The file to write.
    bags : Bags
        The bags; sparse ones are written with their zeros.
    y : array-like of shape (n_bags,), default=None
        Their labels.
    nested : bool, default=False
        One row a bag, its instances as a list of lists; otherwise one row an instance.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_parquet, write_parquet
    >>> path = getfixture("tmp_path") / "bags.parquet"
    >>> write_parquet(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]))
    >>> read_parquet(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), None)
    """
    ParquetFile.write(Path(path), _batches(Path(path), bags, y, nested))


def write_arrow(path: str | Path, bags: Bags, y: Any = None, *, nested: bool = False) -> None:
    """Write an Arrow IPC (Feather version 2) file.

    Parameters
    ----------
    path : str or Path
        The file to write.
    bags, y, nested : optional
        As in `write_parquet`.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io import read_arrow, write_arrow
    >>> path = getfixture("tmp_path") / "bags.feather"
    >>> write_arrow(path, Bags.from_list([[[0.1], [0.2]], [[0.3]]], ids=["a", "b"]), nested=True)
    >>> read_arrow(path)
    (Bags(2 bags, 3 instances, 1 features, 1-2 instances a bag, float64), None)
    """
    IpcFile.write(Path(path), _batches(Path(path), bags, y, nested))


def _batches(path: Path, bags: Bags, y: Any, nested: bool) -> Callable[[], Iterator[Any]]:
    make = nested_batches if nested else _long_batches
    return lambda: make(path, bags, y)


def _long_batches(path: Path, bags: Bags, y: Any) -> Iterator[Any]:
    import pyarrow as pa

    keys = {name: to_arrow(path, name, v) for name, v in long_columns(path, bags, y).items()}
    names = [*keys, *written_feature_names(path, bags, keys)]
    for start, block in dense_blocks(bags):
        of_keys = [column.slice(start, len(block)) for column in keys.values()]
        of_features = [pa.array(np.ascontiguousarray(c)) for c in block.T]
        yield pa.record_batch([*of_keys, *of_features], names=names)
