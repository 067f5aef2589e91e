"""Parquet and Arrow files behind one interface."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.io import CorruptFileError, FormatError
from bagwise.io._arrowfiles import IpcFile, ParquetFile, as_array, to_arrow

pa = pytest.importorskip("pyarrow")

TABLE = pa.table({"t": ["x", "y"], "i": [1, 2], "f": [0.5, 1.5], "b": [True, False]})


@pytest.mark.parametrize("kind", [ParquetFile, IpcFile])
def test_chosen_columns_are_read_in_batches(kind, tmp_path):
    kind.write(tmp_path / "a", iter(TABLE.to_batches(max_chunksize=1)))
    with kind(tmp_path / "a") as file:
        assert (file.names, file.n_rows) == (["t", "i", "f", "b"], 2)
        assert [file.is_numeric(j) for j in range(4)] == [False, True, True, True]
        read = pa.Table.from_batches(file.batches([1, 2]))
    assert read.select(["i", "f"]).equals(TABLE.select(["i", "f"]))
    assert "t" not in read.column_names


@pytest.mark.parametrize("kind", [ParquetFile, IpcFile])
def test_missing_files_and_folders_are_named(kind, tmp_path):
    with pytest.raises(FileNotFoundError):
        kind(tmp_path / "nothing")
    with pytest.raises(FormatError, match="is a folder, expected a file"):
        kind(tmp_path)


@pytest.mark.parametrize("kind", [ParquetFile, IpcFile])
def test_a_failed_write_leaves_nothing_behind(kind, tmp_path):
    def batches():
        yield TABLE.to_batches()[0]
        raise RuntimeError("full")

    with pytest.raises(RuntimeError, match="full"):
        kind.write(tmp_path / "a", batches())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "values", [np.array(["a", "bc"]), np.array([1, 2]), np.float16([1, 2]), np.array([True, False])]
)
def test_columns_come_back_with_their_type(values, tmp_path):
    column = to_arrow(tmp_path, "x", values)
    for made in (column, pa.chunked_array([column])):
        back = as_array(made)
        np.testing.assert_array_equal(back, values)
        assert back.dtype.kind == values.dtype.kind


def test_mixed_types_are_refused(tmp_path):
    with pytest.raises(FormatError, match="column 'x': cannot store x"):
        to_arrow(tmp_path, "x", np.array(["a", 1], dtype=object))


def test_a_flipped_bit_in_a_parquet_page_is_found(tmp_path):
    path = tmp_path / "a.parquet"
    values = np.random.default_rng(0).random(1000)
    ParquetFile.write(path, iter([pa.record_batch({"f": values})]))
    with ParquetFile(path) as file:
        assert sum(batch.num_rows for batch in file.batches([0])) == 1000
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    with ParquetFile(path) as file, pytest.raises(CorruptFileError, match="page"):
        list(file.batches([0]))


def test_a_name_that_changed_in_the_footer_is_found(tmp_path):
    path = tmp_path / "a.parquet"
    ParquetFile.write(path, iter([pa.record_batch({"feature_one": np.ones(3)})]))
    content = path.read_bytes()
    path.write_bytes(content.replace(b"feature_one", b"feature_two"))
    with pytest.raises(CorruptFileError, match="the checksum of the names is wrong"):
        ParquetFile(path)
