"""Parquet and Arrow IPC files behind one interface: names, types, batches of chosen columns."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from bagwise.io._atomic import writing
from bagwise.io._source import require
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

FEATURES = b"bagwise.feature_names"  # key of the metadata, in nested files
_CHECKSUM = b"bagwise.checksum"
_SEAL = b"bagwise:"  # before the CRC-32 of a Parquet footer, which stands between data and footer
_BATCH_ROWS = 1 << 14  # of a Parquet file, read at a time


class ArrowFile:
    """A columnar file whose schema has been read, but not its data."""

    magic: bytes
    writer: tuple[str, str]  # module and name
    writer_options: ClassVar[dict[str, Any]] = {}
    schema: Any
    n_rows: int
    _file: Any

    def __init__(self, path: Path) -> None:
        require("pyarrow", "io")
        import pyarrow as pa

        self.path = path
        if path.is_dir():
            raise FormatError(path, "is a folder, expected a file.")
        with self.damage_named():
            self._open()
            if not self._is_intact((self.schema.metadata or {}).get(_CHECKSUM)):
                raise pa.ArrowInvalid("the checksum of its description is wrong")

    @contextmanager
    def damage_named(self) -> Iterator[None]:
        """Turn what pyarrow raises for damaged files into errors that name the file."""
        import pyarrow as pa

        try:
            yield
        except FileNotFoundError:
            raise
        except (pa.ArrowException, UnicodeDecodeError, SystemError, OSError) as error:
            starts, ends = (_magic_at(self.path, i, self.magic) for i in (0, -len(self.magic)))
            if starts and not ends:
                raise TruncatedFileError(self.path, "ends too early: no closing bytes.") from error
            raise CorruptFileError(
                self.path, f"is damaged or of another format ({error})."
            ) from error

    def _open(self) -> None:
        raise NotImplementedError

    def _is_intact(self, stated: bytes | None) -> bool:
        return stated in (None, _checksum(self.schema))

    @classmethod
    def _seal(cls, file: IO[bytes]) -> None:
        """Add a checksum to a file that is complete."""

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
        """Yield record batches of some columns; their offsets, indices and texts are checked."""
        for batch in self._batches(columns):
            batch.validate(full=True)
            yield batch

    def stored_names(self, n_features: int) -> Any:
        """Return the names of the features that the metadata of a nested file gives, or None."""
        text = (self.schema.metadata or {}).get(FEATURES, b"null")
        try:
            names = json.loads(text)
        except ValueError as error:
            raise CorruptFileError(self.path, f"feature names: not JSON ({error}).") from error
        is_list = isinstance(names, list) and {*map(type, names)} <= {str}
        if names is not None and not (is_list and len(names) == n_features):
            raise CorruptFileError(self.path, f"feature names: {text!r} for {n_features} features.")
        return names

    @classmethod
    def write(cls, path: Path, batches: Iterator[Any]) -> None:
        """Write record batches."""
        require("pyarrow", "io")
        module, name = cls.writer
        open_writer, first = getattr(import_module(module), name), next(batches)
        metadata = (first.schema.metadata or {}) | {_CHECKSUM: _checksum(first.schema)}
        schema = first.schema.with_metadata(metadata)
        with writing(path) as file:
            with open_writer(file, schema, **cls.writer_options) as writer:
                writer.write_batch(first)
                for batch in batches:
                    writer.write_batch(batch)
            cls._seal(file)


class ParquetFile(ArrowFile):
    """A Parquet file."""

    magic = b"PAR1"
    writer = ("pyarrow.parquet", "ParquetWriter")
    writer_options: ClassVar = {"write_page_checksum": True}

    def _open(self) -> None:
        from pyarrow import parquet

        self._file = parquet.ParquetFile(self.path, page_checksum_verification=True)
        self.schema, self.n_rows = self._file.schema_arrow, self._file.metadata.num_rows

    def _is_intact(self, stated: bytes | None) -> bool:
        with self.path.open("rb") as file:
            footer, length = _footer(file), len(_sealed(b""))
            file.seek(max(0, file.tell() - len(footer) - length))
            seal = file.read(length)
        return seal == _sealed(footer) if seal.startswith(_SEAL) else stated is None

    @classmethod
    def _seal(cls, file: IO[bytes]) -> None:
        """Put a CRC-32 of the footer before it, where readers do not look: pages have their own."""
        file.flush()
        with open(file.name, "rb") as written:
            footer = _footer(written)
        file.seek(-len(footer), os.SEEK_END)
        file.write(_sealed(footer) + footer)

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


def _footer(file: IO[bytes]) -> bytes:
    """Return the description at the end of a Parquet file, with its length and magic bytes."""
    file.seek(-8, os.SEEK_END)  # 4 bytes for the length, 4 for "PAR1"
    file.seek(-8 - int.from_bytes(file.read(4), "little"), os.SEEK_END)
    return file.read()


def _sealed(footer: bytes) -> bytes:
    return _SEAL + zlib.crc32(footer).to_bytes(8, "little")  # 8 bytes keep the alignment


def _checksum(schema: Any) -> bytes:
    """Return the CRC-32 of the names of columns and features."""
    texts = [name.encode() for name in schema.names]
    return b"%d" % zlib.crc32(b"\n".join([*texts, (schema.metadata or {}).get(FEATURES, b"")]))


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
