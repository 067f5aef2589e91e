"""Parquet and Arrow files behind one interface."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.io import FormatError
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
