"""Parquet and Arrow: chosen columns, nested forms, streams, types."""

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import FormatError, _arrowfiles, read, read_arrow, read_parquet, write

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TABLE = {"bag": ["a", "a", "b"], "label": [1, 1, 0], "f": [1.0, 2.0, 3.0]}


def test_parquet_reads_only_the_needed_columns(tmp_path, monkeypatch):
    table = pa.table({"bag": ["a", "b"], "y": [1, 0], "f": [1.5, 2.5], "text": ["x", "y"]})
    parquet.write_table(table, tmp_path / "b.parquet")
    asked, original = [], _arrowfiles.ArrowFile.batches

    def batches(file, columns):
        asked.extend(columns)
        return original(file, columns)

    monkeypatch.setattr(_arrowfiles.ArrowFile, "batches", batches)
    bags, y = read(tmp_path / "b.parquet", label="y", features=["f"])
    assert sorted(asked) == [0, 1, 2]
    assert (bags.X.ravel().tolist(), y.tolist()) == ([1.5, 2.5], [1, 0])


def test_arrow_stream(tmp_path):
    table = pa.table(TABLE)
    with pa.ipc.new_stream(str(tmp_path / "b.arrow"), table.schema) as writer:
        writer.write_table(table)
    bags, y = read(tmp_path / "b.arrow")
    assert (bags.X.ravel().tolist(), y.tolist()) == ([1, 2, 3], [1, 0])


def test_mixed_widths_become_float64(tmp_path):
    columns = {"bag": ["a"], "f": np.float32([1]), "g": [2], "h": [True]}
    parquet.write_table(pa.table(columns), tmp_path / "b.parquet")
    bags, _ = read(tmp_path / "b.parquet")
    assert (bags.dtype, bags.X.tolist()) == (np.float64, [[1, 2, 1]])


@pytest.mark.parametrize("reader", [read_parquet, read_arrow])
def test_both_readers_take_the_same_options(reader, tmp_path):
    path = tmp_path / ("b.parquet" if reader is read_parquet else "b.arrow")
    bags = Bags.from_list([np.eye(2), np.ones((1, 2))], ids=["x", "y"], groups=["p", "q"])
    write(path, bags, [1, 0])
    back, y = reader(path, label="group", groups="label", features=["f2"])
    assert (back.groups.tolist(), y.tolist()) == ([1, 0], ["p", "q"])
    assert list(back.feature_names) == ["f2"]
    with pytest.raises(TypeError, match="unexpected keyword argument 'patient'"):
        reader(path, patient="group")


# The nested form --------------------------------------------------------------------------------

LISTS = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda inner: pa.list_(inner, 2)])
def test_lists_of_every_kind(kind, tmp_path):
    column = pa.array(LISTS, pa.list_(kind(pa.float64())))
    parquet.write_table(pa.table({"bag": ["a", "b"], "x": column}), tmp_path / "b.parquet")
    bags, y = read(tmp_path / "b.parquet")
    np.testing.assert_array_equal(bags.X, [[1, 2], [3, 4], [5, 6]])
    assert (bags.sizes.tolist(), y) == ([1, 2], None)


def test_the_column_of_instances_is_found_or_named(tmp_path):
    table = pa.table({"u": LISTS, "v": LISTS, "flat": [[1], [2]]})
    parquet.write_table(table, tmp_path / "b.parquet")
    assert read(tmp_path / "b.parquet", instances="v")[0].shape == (2, 2)
    with pytest.raises(FormatError, match="u, v hold lists of lists: name one with instances="):
        read(tmp_path / "b.parquet")
    with pytest.raises(FormatError, match="column 'flat': holds no lists of lists; these do"):
        read(tmp_path / "b.parquet", instances="flat")


def test_a_file_with_an_empty_batch_holds_no_rows(tmp_path):
    batch = pa.record_batch({"instances": pa.array([], pa.list_(pa.list_(pa.float64())))})
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(FormatError, match=r"a\.arrow: holds no rows"):
        read(tmp_path / "a.arrow")
