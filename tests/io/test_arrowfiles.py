"""Parquet and Arrow files behind one interface."""

import struct

import numpy as np
import pytest

from bagwise.io import CorruptFileError, FormatError
from bagwise.io._arrowfiles import FEATURES, IPC, PARQUET, ArrowFile, to_arrow, write_batches

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
pytest.importorskip("pyarrow.feather")

TABLE = pa.table({"t": ["x", "y"], "i": [1, 2], "f": [0.5, 1.5], "b": [True, False]})


@pytest.mark.parametrize("kind", [PARQUET, IPC])
def test_chosen_columns_are_read_in_batches(kind, tmp_path):
    write_batches(tmp_path / "a", kind, iter(TABLE.to_batches(max_chunksize=1)))
    file = ArrowFile(tmp_path / "a", kind)
    assert file.names == ["t", "i", "f", "b"]
    assert [file.is_numeric(j) for j in range(4)] == [False, True, True, True]
    read = pa.Table.from_batches(file.batches([1, 2]))
    assert read.select(["i", "f"]).equals(TABLE.select(["i", "f"]))
    assert "t" not in read.column_names


@pytest.mark.parametrize("kind", [PARQUET, IPC])
def test_missing_files_and_folders_are_named(kind, tmp_path):
    with pytest.raises(FileNotFoundError):
        ArrowFile(tmp_path / "nothing", kind)
    with pytest.raises(FormatError, match="is a folder, expected a file"):
        ArrowFile(tmp_path, kind)


def test_mixed_types_are_refused(tmp_path):
    with pytest.raises(FormatError, match="column 'x': cannot store x"):
        to_arrow(tmp_path, "x", np.array(["a", 1], dtype=object))


def _all_read(kind, path):
    file = ArrowFile(path, kind)
    with file.name_damage():
        return pa.Table.from_batches(file.batches([0, 1, 2, 3]))


OTHERS = {PARQUET: (pa.parquet.read_table, pa.parquet.write_table)}
OTHERS[IPC] = (
    lambda path: pa.ipc.open_file(path).read_all(),
    lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
)


@pytest.mark.parametrize("kind", OTHERS)
def test_every_damaged_byte_is_found(kind, tmp_path):
    write_batches(tmp_path / "a", kind, iter(TABLE.to_batches()))
    sound = (tmp_path / "a").read_bytes()
    assert OTHERS[kind][0](str(tmp_path / "a")).equals(TABLE)  # others read it as well
    places = [*range(len(IPC), len(sound))]  # after the opening bytes
    if kind == PARQUET:  # its pages have checksums of their own
        seal = sound.index(b"bagwise:")  # without this word, a sound file is one that others wrote
        places = [*range(seal + 8, len(sound))]
    for at in places:
        (tmp_path / "b").write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        with pytest.raises(FormatError, match="b: "):
            _all_read(kind, tmp_path / "b")


@pytest.mark.parametrize("kind", OTHERS)
def test_a_file_that_others_wrote_or_changed_needs_no_seal(kind, tmp_path):
    read, write = OTHERS[kind]
    write(TABLE, str(tmp_path / "a"))
    assert _all_read(kind, tmp_path / "a").equals(TABLE)
    write_batches(tmp_path / "b", kind, iter(TABLE.to_batches()))
    changed = read(str(tmp_path / "b")).slice(1)
    write(changed, str(tmp_path / "a"))
    assert _all_read(kind, tmp_path / "a").equals(changed)


@pytest.mark.parametrize(
    ("old", "new"),
    [(struct.pack("<3i", 0, 1, 2), struct.pack("<3i", 0, 1, 1 << 28)), (b"xy\0\0", b"x\xff\0\0")],
)
def test_buffers_are_checked_before_they_are_used(old, new, tmp_path):
    OTHERS[IPC][1](TABLE, str(tmp_path / "a"))  # without a checksum
    content = (tmp_path / "a").read_bytes()
    assert content.count(old) == 1
    (tmp_path / "a").write_bytes(content.replace(old, new))
    with pytest.raises(CorruptFileError, match="a: is damaged or of another format"):
        _all_read(IPC, tmp_path / "a")


@pytest.mark.parametrize("text", [b"[", b'"ab"', b'["a"]', b"[1, 2]"])
def test_stored_names_must_be_one_text_per_feature(text, tmp_path):
    table = TABLE.replace_schema_metadata({FEATURES: text})
    with pa.ipc.new_file(str(tmp_path / "a"), table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(CorruptFileError, match="feature names: "):
        ArrowFile(tmp_path / "a", IPC).read_names(2)


def test_a_flipped_bit_in_a_parquet_page_is_found(tmp_path):
    path = tmp_path / "a.parquet"
    values = np.random.default_rng(0).random(1000)
    write_batches(path, PARQUET, iter([pa.record_batch({"f": values})]))
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    file = ArrowFile(path, PARQUET)
    with pytest.raises(CorruptFileError, match="page"), file.name_damage():
        list(file.batches([0]))
