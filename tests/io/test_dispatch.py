"""The format follows from the suffix, else from the content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import FormatError, read, write
from bagwise.io.dispatch import READERS, SUFFIXES, recognize, suffix_of

pytest.importorskip("pyarrow")

BAGS = Bags.from_list([np.arange(6.0).reshape(3, 2), np.ones((2, 2))], ids=["a", "b"])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.arrow", "b.arff", "b.mat", "b.svm"])
def test_format_by_content(name, tmp_path):
    bags = Bags.from_list([np.eye(2), np.ones((1, 2))])
    write(tmp_path / name, bags, [1, 0])
    (tmp_path / name).rename(tmp_path / "unnamed")
    back, y = read(tmp_path / "unnamed")
    assert len(back) == 2
    assert y.tolist() == [1, 0]


def test_unknown_and_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read(tmp_path / "nothing.csv")
    (tmp_path / "b.bin").write_bytes(b"\0\1\2")
    with pytest.raises(FormatError, match="of no known format"):
        read(tmp_path / "b.bin")
    with pytest.raises(ValueError, match=r"suffix '\.bin' belongs to no format\. Pass format="):
        write(tmp_path / "c.bin", BAGS)
    with pytest.raises(ValueError, match=r"no format 'word'\. Known names: csv, excel, parquet"):
        read(tmp_path / "b.bin", format="word")
    with pytest.raises(ValueError, match=r"no format 'parkuet'\. Did you mean 'parquet'\?"):
        write(tmp_path / "b.bin", BAGS, format="parkuet")


def test_every_suffix_belongs_to_a_format():
    assert set(SUFFIXES.values()) == set(READERS) - {"folder", "slides"}
    assert suffix_of(Path("a.b/Data.CSV.gz")) == ".csv"


def test_folders_and_listings_are_recognized(tmp_path):
    write(tmp_path / "b.bags", BAGS)
    write(tmp_path / "slides", BAGS)
    assert recognize(tmp_path / "b.bags") == "bags"
    assert recognize(tmp_path / "slides") == "folder"
    assert recognize(tmp_path / "slides" / "bags.csv") == "csv"  # it has a column "bag", too
    (tmp_path / "list.csv").write_text("path,label\na.npy,1\n")
    assert recognize(tmp_path / "list.csv") == "folder"


@pytest.mark.parametrize("name", ["b.data", "b.svm", "slides"])
def test_what_a_format_cannot_store_is_said(name, tmp_path):
    with pytest.warns(UserWarning, match="cannot store bag_features; left out"):
        write(tmp_path / name, BAGS.replace(bag_features=np.ones((2, 1))), [1, 0])
    with pytest.warns(UserWarning, match="cannot store coords; left out"):
        write(tmp_path / f"2{name}", BAGS.replace(coords=np.ones((BAGS.n_instances, 2))), [1, 0])


@pytest.mark.parametrize("name", ["b.csv", "b.parquet", "b.svm", "b.data"])
def test_ids_that_a_format_cannot_store(name, tmp_path):
    ids = np.array(["a", ""]) if name != "b.parquet" else np.array(["a", 1], dtype=object)
    with pytest.raises(FormatError, match="cannot"):
        write(tmp_path / name, BAGS.replace(ids=ids), [1, 0])
    assert not (tmp_path / name).exists()
