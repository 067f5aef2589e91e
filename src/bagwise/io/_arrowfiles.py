"""Parquet and Arrow IPC files behind one face: names, types, batches of chosen columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.io._source import require
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

_BATCH_ROWS = 1 << 14


class ArrowFile:
    """A columnar file; `names` and `schema` are known, the data not yet read."""

    magic: bytes
    path: Path
    schema: Any
    n_rows: int

    def __enter__(self) -> ArrowFile:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def is_numeric(self, column: int) -> bool:
        """Tell whether a column holds numbers."""
        from pyarrow import types

        kind = self.schema.field(column).type
        return types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)

    def batches(self, columns: Sequence[int]) -> Iterator[Any]:
        """Yield record batches of some columns."""
        import pyarrow as pa

        try:
            yield from self._batches(columns)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptFileError(self.path, f"cannot be read to its end ({error}).") from error

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        raise NotImplementedError

    def _opened(self, path: Path, open_file: Callable[[], Any]) -> Any:
        import pyarrow as pa

        if path.is_dir():
            raise FormatError(path, "is a folder, expected a file.")
        try:
            return open_file()
        except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
            if isinstance(error, FileNotFoundError):
                raise
            if _starts_with(path, self.magic) and not _ends_with(path, self.magic):
                raise TruncatedFileError(path, "ends too early: no closing bytes.") from error
            raise CorruptFileError(path, f"is damaged or of another format ({error}).") from error


def _starts_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _ends_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - len(magic)))
        return file.read() == magic


class ParquetFile(ArrowFile):
    """A Parquet file."""

    magic = b"PAR1"

    def __init__(self, path: Path) -> None:
        require("pyarrow", "io")
        from pyarrow import parquet

        self.path = path
        self._file = self._opened(path, lambda: parquet.ParquetFile(path))
        self.schema, self.n_rows = self._file.schema_arrow, self._file.metadata.num_rows

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        names = [self.names[j] for j in columns]
        return self._file.iter_batches(batch_size=_BATCH_ROWS, columns=names)

    @staticmethod
    def write(path: Path, batches: Callable[[], Iterator[Any]]) -> None:
        """Write record batches."""
        require("pyarrow", "io")
        from pyarrow import parquet

        _write(path, batches(), parquet.ParquetWriter)


class IpcFile(ArrowFile):
    """An Arrow IPC file (Feather version 2) or stream."""

    magic = b"ARROW1"

    def __init__(self, path: Path) -> None:
        require("pyarrow", "io")
        import pyarrow as pa

        self.path = path
        self._map = self._opened(path, lambda: pa.memory_map(str(path)))
        self._is_file = _starts_with(path, self.magic)
        reader = self._opened(path, lambda: self._reader(None))
        self.schema = reader.schema
        self.n_rows = reader.count_rows() if hasattr(reader, "count_rows") else 0

    def _reader(self, columns: Sequence[int] | None) -> Any:
        from pyarrow import ipc

        self._map.seek(0)
        options = ipc.IpcReadOptions(included_fields=None if columns is None else list(columns))
        opener = ipc.open_file if self._is_file else ipc.open_stream
        return opener(self._map, options=options)

    def __exit__(self, *exception: object) -> None:
        self._map.close()

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        reader = self._reader(sorted(columns))
        if not self._is_file:
            yield from reader
            return
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)

    @staticmethod
    def write(path: Path, batches: Callable[[], Iterator[Any]]) -> None:
        """Write record batches."""
        require("pyarrow", "io")
        from pyarrow import ipc

        _write(path, batches(), ipc.new_file)


def _write(path: Path, batches: Iterator[Any], open_writer: Any) -> None:
    """Write all batches; the file appears under its name only when it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        first = next(batches)
        with open_writer(str(partial), first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def as_array(column: Any) -> Any:
    """Return an Arrow column as NumPy: texts as texts, not objects."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    if isinstance(column, pa.ChunkedArray):
        return column.to_numpy()
    return column.to_numpy(zero_copy_only=False)


def to_arrow(path: Path, name: str, values: Any) -> Any:
    """Return a column as Arrow; one of mixed types is refused."""
    import pyarrow as pa

    try:
        return pa.array(values.tolist() if values.dtype.kind in "OU" else values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FormatError(path, f"cannot hold {name}: {error}", column=name) from error
