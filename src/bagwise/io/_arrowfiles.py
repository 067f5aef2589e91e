"""Parquet and Arrow IPC files behind one interface: names, types, batches of chosen columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import IO, Any, ClassVar
from zlib import crc32

import numpy as np

from bagwise.io._atomic import writing
from bagwise.io._limits import BLOCK_BYTES, rows_per_block
from bagwise.io._source import require
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

FEATURES = b"bagwise.feature_names"  # key of the metadata, in nested files
# Between data and footer, where other readers do not look: this text and a CRC-32 in 8 bytes.
_SEAL = b"bagwise:"
_SEAL_BYTES = len(_SEAL) + 8


class ArrowFile:
    """A columnar file whose schema has been read, but not its data."""

    magic: bytes
    writer: tuple[str, str]  # module and name
    writer_options: ClassVar[dict[str, Any]] = {}
    schema: Any
    _file: Any

    def __init__(self, path: Path) -> None:
        require("pyarrow", "io")
        import pyarrow as pa

        self.path = path
        if path.is_dir():
            raise FormatError(path, "is a folder, expected a file.")
        with self.name_damage():
            self._open()
            if not self._is_intact():
                raise pa.ArrowInvalid("its checksum is wrong: restore it, or write it again")

    @contextmanager
    def name_damage(self) -> Iterator[None]:
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

    def _is_intact(self) -> bool:
        """Compare a file with its seal; one that others wrote, or wrote again, has none."""
        with self.path.open("rb") as file:
            start = _footer_start(file, self.magic)
            file.seek(max(0, start - _SEAL_BYTES))
            seal = file.read(_SEAL_BYTES)
            is_sealed = seal.startswith(_SEAL)
            return not is_sealed or seal == self._make_seal(file, start - _SEAL_BYTES, start)

    @classmethod
    def _make_seal(cls, file: IO[bytes], stop: int, start: int) -> bytes:
        """Return the seal of a file whose data end at ``stop`` and whose footer is at ``start``."""
        raise NotImplementedError

    @classmethod
    def _seal(cls, file: IO[bytes]) -> None:
        """Put a seal before the footer of a file that is complete."""
        file.flush()
        with open(file.name, "rb") as written:
            start = _footer_start(written, cls.magic)
            seal = cls._make_seal(written, start, start)
            written.seek(start)
            footer = written.read()
        file.seek(start)
        file.write(seal + footer)

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

    def read_names(self, n_features: int) -> Any:
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
        with writing(path) as file:
            with open_writer(file, first.schema, **cls.writer_options) as writer:
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
        self.schema = self._file.schema_arrow

    @classmethod
    def _make_seal(cls, file: IO[bytes], stop: int, start: int) -> bytes:
        file.seek(start)
        return _seal_of(crc32(file.read()))  # of the footer: pages have their own

    def _batches(self, columns: Sequence[int]) -> Iterator[Any]:
        names = [self.names[j] for j in columns]
        return self._file.iter_batches(batch_size=rows_per_block(len(names)), columns=names)


class IpcFile(ArrowFile):
    """An Arrow IPC file (Feather version 2) or stream."""

    magic = b"ARROW1"
    writer = ("pyarrow.ipc", "new_file")

    def _open(self) -> None:
        import pyarrow as pa

        self._file = pa.memory_map(str(self.path))
        self._is_file = self._file.read(len(self.magic)) == self.magic
        self.schema = self._reader(None).schema

    def _is_intact(self) -> bool:
        return not self._is_file or super()._is_intact()

    @classmethod
    def _make_seal(cls, file: IO[bytes], stop: int, start: int) -> bytes:
        file.seek(0)
        blocks = iter(lambda: file.read(min(BLOCK_BYTES, stop - file.tell())), b"")
        crc = reduce(lambda found, block: crc32(block, found), blocks, 0)
        file.seek(start)
        return _seal_of(crc32(file.read(), crc))

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


def _footer_start(file: IO[bytes], magic: bytes) -> int:
    """Return where the description at the end of a file begins; length and magic bytes follow."""
    tail = 4 + len(magic)
    file.seek(-tail, os.SEEK_END)
    return file.seek(-tail - int.from_bytes(file.read(4), "little"), os.SEEK_END)


def _seal_of(crc: int) -> bytes:
    return _SEAL + crc.to_bytes(8, "little")  # 8 bytes keep the alignment


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
