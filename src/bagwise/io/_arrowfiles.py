"""Parquet and Arrow IPC files behind one interface: names, types, batches of chosen columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.io._source import replacing, require
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

_BATCH_ROWS = 1 << 14  # of a Parquet file, read at a time


class ArrowFile:
    """A columnar file whose schema has been read, but not its data."""

    magic: bytes
    writer: tuple[str, str]  # module and name
    schema: Any
    n_rows: int
    _file: Any

    def __init__(self, path: Path) -> None:
        require("pyarrow", "io")
        import pyarrow as pa

        self.path = path
        if path.is_dir():
            raise FormatError(path, "is a folder, expected a file.")
        try:
            self._open()
        except FileNotFoundError:
            raise
        except (pa.ArrowInvalid, pa.ArrowTypeError, OSError) as error:
            if _magic_at(path, 0, self.magic) and not _magic_at(path, -len(self.magic), self.magic):
                raise TruncatedFileError(path, "ends too early: no closing bytes.") from error
            raise CorruptFileError(path, f"is damaged or of another format ({error}).") from error

    def _open(self) -> None:
        raise NotImplementedError

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        raise NotImplementedError

    def __enter__(self) -> ArrowFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def is_numeric(self, column: int) -> bool:
        """Return whether a column contains numbers."""
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

    @classmethod
    def write(cls, path: Path, batches: Iterator[Any]) -> None:
        """Write record batches."""
        require("pyarrow", "io")
        module, name = cls.writer
        open_writer, first = getattr(import_module(module), name), next(batches)
        with replacing(path) as partial, open_writer(str(partial), first.schema) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)


class ParquetFile(ArrowFile):
    """A Parquet file."""

    magic = b"PAR1"
    writer = ("pyarrow.parquet", "ParquetWriter")

    def _open(self) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(self.path)
        self.schema, self.n_rows = self._file.schema_arrow, self._file.metadata.num_rows

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        names = [self.names[j] for j in columns]
        return self._file.iter_batches(batch_size=_BATCH_ROWS, columns=names)


class IpcFile(ArrowFile):
    """An Arrow IPC file (Feather version 2) or stream."""

    magic = b"ARROW1"
    writer = ("pyarrow.ipc", "new_file")

    def _open(self) -> None:
        import pyarrow as pa

        self._file = pa.memory_map(str(self.path))
        self._is_file = self._file.read(len(self.magic)) == self.magic
        reader = self._reader(None)
        self.schema = reader.schema
        self.n_rows = reader.count_rows() if hasattr(reader, "count_rows") else 0

    def _reader(self, columns: Sequence[int] | None) -> Any:
        from pyarrow import ipc

        self._file.seek(0)
        options = ipc.IpcReadOptions(included_fields=None if columns is None else list(columns))
        opener = ipc.open_file if self._is_file else ipc.open_stream
        return opener(self._file, options=options)

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        reader = self._reader(sorted(columns))
        if not self._is_file:
            return iter(reader)
        return (reader.get_batch(i) for i in range(reader.num_record_batches))


def _magic_at(path: Path, position: int, magic: bytes) -> bool:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(position % size if size >= len(magic) else 0)
        return file.read(len(magic)) == magic


def as_array(column: Any) -> Any:
    """Return an Arrow column as a NumPy array; texts as texts, not objects."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return np.array(column.to_pylist(), dtype=np.str_)
    if isinstance(column, pa.ChunkedArray):
        return column.to_numpy()
    return column.to_numpy(zero_copy_only=False)


def to_arrow(path: Path, name: str, values: Any) -> Any:
    """Return a column as an Arrow array; mixed types are refused."""
    import pyarrow as pa

    try:
        return pa.array(values.tolist() if values.dtype.kind in "OU" else values)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise FormatError(path, f"cannot store {name}: {error}", column=name) from error
