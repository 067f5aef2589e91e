"""Parquet and Arrow IPC files behind one interface: names, types, batches of chosen columns."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any
from zlib import crc32

import numpy as np

from bagwise.io._files import crc32_of, require, rows_per_block, writing
from bagwise.io.errors import CorruptFileError, FormatError, TruncatedFileError

PARQUET, IPC = b"PAR1", b"ARROW1"  # the first and the last bytes of a file
FEATURES = b"bagwise.feature_names"  # key of the metadata, in nested files
# Between data and footer, where other readers do not look: this text and a CRC-32 in 8 bytes.
_SEAL = b"bagwise:"
_SEAL_BYTES = len(_SEAL) + 8
# In the padding after the first bytes of an IPC file, where other writers have zeros: the file has
# a seal, and does not look like one of another program when damage hits the seal.
_MARK = b"bw"


class ArrowFile:
    """A columnar file whose schema has been read, but not its data."""

    def __init__(self, path: Path, magic: bytes) -> None:
        require("pyarrow", "io")
        import pyarrow as pa

        self.path, self.magic = path, magic
        if path.is_dir():
            raise FormatError(path, "is a folder, expected a file.")
        with self.name_damage():
            self._data = self._open()
            self.schema = self._data.schema
            if not self._is_intact():
                raise pa.ArrowInvalid("its checksum is wrong: restore it, or write it again")

    def _open(self) -> Any:
        import pyarrow as pa
        from pyarrow import dataset

        if self.magic == PARQUET:
            options = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
            kind: Any = dataset.ParquetFileFormat(default_fragment_scan_options=options)
        elif _has_magic(self.path, 0, IPC):
            kind = "ipc"
        else:
            return dataset.dataset(pa.ipc.open_stream(pa.memory_map(str(self.path))).read_all())
        return dataset.dataset(self.path, format=kind)

    @contextmanager
    def name_damage(self) -> Iterator[None]:
        """Turn what pyarrow raises for damaged files into errors that name the file."""
        import pyarrow as pa

        try:
            yield
        except FileNotFoundError:
            raise
        except (pa.ArrowException, UnicodeDecodeError, SystemError, OSError) as error:
            starts, ends = (_has_magic(self.path, i, self.magic) for i in (0, -len(self.magic)))
            if starts and not ends:
                raise TruncatedFileError(self.path, "ends too early: no closing bytes.") from error
            problem = f"is damaged or of another format ({error})."
            raise CorruptFileError(self.path, problem) from error

    def _is_intact(self) -> bool:
        """Compare a file with its seal; one that others wrote, or wrote again, has none."""
        if not _has_magic(self.path, 0, self.magic):  # a stream
            return True
        with self.path.open("rb") as file:
            is_marked = file.read(len(IPC + _MARK)) == IPC + _MARK
            start = _footer_start(file, self.magic)
            file.seek(max(0, start - _SEAL_BYTES))
            seal = file.read(_SEAL_BYTES)
            is_sealed = is_marked or seal.startswith(_SEAL)
            return not is_sealed or seal == _seal(file, self.magic, start - _SEAL_BYTES, start)

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
        names = [*dict.fromkeys(self.names[j] for j in columns)]
        for batch in self._data.to_batches(columns=names, batch_size=rows_per_block(len(names))):
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


def write_batches(path: Path, magic: bytes, batches: Iterator[Any]) -> None:
    """Write record batches, and the seal before the footer."""
    require("pyarrow", "io")
    from pyarrow import ipc, parquet

    first = next(batches)
    with writing(path) as file:
        with (
            parquet.ParquetWriter(file, first.schema, write_page_checksum=True)
            if magic == PARQUET
            else ipc.new_file(file, first.schema)
        ) as writer:
            writer.write_batch(first)
            for batch in batches:
                writer.write_batch(batch)
        if magic == IPC:
            file.seek(len(IPC))
            file.write(_MARK)
        file.flush()
        with open(file.name, "rb") as written:
            start = _footer_start(written, magic)
            seal = _seal(written, magic, start, start)
            written.seek(start)
            footer = written.read()
        file.seek(start)
        file.write(seal + footer)


def _seal(file: IO[bytes], magic: bytes, stop: int, start: int) -> bytes:
    """Return the seal of a file whose data end at ``stop`` and whose footer is at ``start``."""
    crc = 0 if magic == PARQUET else crc32_of(file, stop)  # pages of Parquet have their own
    file.seek(start)
    return _SEAL + crc32(file.read(), crc).to_bytes(8, "little")  # 8 bytes keep the alignment


def _footer_start(file: IO[bytes], magic: bytes) -> int:
    """Return where the description at the end of a file begins; length and magic bytes follow."""
    tail = 4 + len(magic)
    file.seek(-tail, os.SEEK_END)
    return file.seek(-tail - int.from_bytes(file.read(4), "little"), os.SEEK_END)


def _has_magic(path: Path, position: int, magic: bytes) -> bool:
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
