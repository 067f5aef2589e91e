"""The nested form: one row per bag."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import FormatError, read, write
from bagwise.io._arrowfiles import ParquetFile
from bagwise.io._nested import find_instances

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

LISTS = [[[1.0, 2.0]], [[3.0, 4.0], [5.0, 6.0]]]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda inner: pa.list_(inner, 2)])
def test_lists_of_every_kind(kind, tmp_path):
    column = pa.array(LISTS, pa.list_(kind(pa.float64())))
    parquet.write_table(pa.table({"bag": ["a", "b"], "x": column}), tmp_path / "b.parquet")
    bags, y = read(tmp_path / "b.parquet")
    np.testing.assert_array_equal(bags.X, [[1, 2], [3, 4], [5, 6]])
    assert (bags.sizes.tolist(), y) == ([1, 2], None)


def test_columns_by_position_and_without_ids(tmp_path):
    parquet.write_table(pa.table({"x": LISTS, "dx": ["p", "n"]}), tmp_path / "b.parquet")
    bags, y = read(tmp_path / "b.parquet", label=1)
    assert (y.tolist(), bags.has_ids) == (["p", "n"], False)
    with pytest.raises(FormatError, match=r"has no column 'd'\. Known names: x, dx"):
        read(tmp_path / "b.parquet", label="d")


def test_the_column_of_instances_is_found_or_named(tmp_path):
    table = pa.table({"u": LISTS, "v": LISTS, "flat": [[1], [2]]})
    parquet.write_table(table, tmp_path / "b.parquet")
    with ParquetFile(tmp_path / "b.parquet") as file:
        assert find_instances(file, "v") == "v"
        with pytest.raises(FormatError, match="u, v hold lists of lists: name one with instances="):
            find_instances(file, None)
        with pytest.raises(FormatError, match="column 'flat': holds no lists of lists; these do"):
            find_instances(file, "flat")
    write(tmp_path / "long.parquet", Bags.from_list([np.eye(2)]))
    with ParquetFile(tmp_path / "long.parquet") as file:
        assert find_instances(file, None) is None


def test_a_file_with_an_empty_batch_holds_no_rows(tmp_path):
    batch = pa.record_batch({"instances": pa.array([], pa.list_(pa.list_(pa.float64())))})
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(FormatError, match=r"a\.arrow: holds no rows"):
        read(tmp_path / "a.arrow")
