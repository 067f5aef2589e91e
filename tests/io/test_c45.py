"""The C4.5 files of the musk data."""

import gzip

import numpy as np
import pytest

from bagwise import Bags
from bagwise.io import CorruptFileError, FormatError, read, write


def test_musk_c45_files_with_names(tmp_path):
    (tmp_path / "clean1.data").write_text(
        "MUSK-188,188_1+1,42,-198,1.\nMUSK-188,188_1+2,42,-191,1.\nNON-MUSK-11,11_1,-2,3,0.\n"
    )
    (tmp_path / "clean1.names").write_text(
        "| the musk data\n0,1.  | classes\nmolecule_name: MUSK-188, NON-MUSK-11.\n"
        "conformation_name: 188_1+1, 188_1+2, 11_1.\nf1: continuous.\nf2: continuous.\n"
    )
    for name in ("clean1.data", "clean1.names"):
        bags, y = read(tmp_path / name)
        assert bags.ids.tolist() == ["MUSK-188", "NON-MUSK-11"]
        assert bags.instance_ids.tolist() == ["188_1+1", "188_1+2", "11_1"]
        assert list(bags.feature_names) == ["f1", "f2"]
        np.testing.assert_array_equal(bags.X, [[42, -198], [42, -191], [-2, 3]])
        assert y.tolist() == [1, 0]


def test_compressed_data_finds_its_names(tmp_path):
    (tmp_path / "c.data.gz").write_bytes(gzip.compress(b"m1,1_1,42,-198,1.\n"))
    assert list(read(tmp_path / "c.data.gz")[0].feature_names) == ["f1", "f2"]
    (tmp_path / "c.names").write_text("0,1.\nmolecule: m1.\nconformation: 1_1.\nu: c.\nv: c.\n")
    bags, y = read(tmp_path / "c.data.gz")
    assert (list(bags.feature_names), y.tolist()) == (["u", "v"], [1])
    (tmp_path / "c.names").write_text("0,1.\nmolecule: m1.\n")
    with pytest.raises(FormatError, match=r"c\.names: declares 1 columns, expected 4"):
        read(tmp_path / "c.data.gz")


def test_scattered_bags_and_other_columns(tmp_path):
    text = "1.5,x1,a,0.\n\n2.5,x2,b,1. | a comment\n3.5,x3,a,0.\n"
    (tmp_path / "b.data").write_text(text)
    bags, y = read(tmp_path / "b.data", bag=2, regroup=True)
    np.testing.assert_array_equal(bags.X.ravel(), [1.5, 3.5, 2.5])
    assert bags.ids.tolist() == ["a", "b"]
    assert bags.instance_ids.tolist() == ["x1", "x3", "x2"]
    assert y.tolist() == [0, 1]


def test_names_belong_to_the_data_beside_them(tmp_path):
    bags = Bags.from_list([[[1.5], [2.0]], [[3.0]]], feature_names=["red"])
    for name in ("b.data", "z.data.gz"):
        write(tmp_path / name, bags, [1, 0])
        assert list(read(tmp_path / name)[0].feature_names) == ["red"]
    (tmp_path / "b.data").write_text("a,0,1.5,1.\n")
    with pytest.raises(CorruptFileError, match=r"b\.names: was not written together with b\.data"):
        read(tmp_path / "b.data")
    (tmp_path / "c.data").write_text("a,0,1.5,1.\n")  # a copy under another name is not compared
    (tmp_path / "c.names").write_text((tmp_path / "b.names").read_text())
    assert list(read(tmp_path / "c.data")[0].feature_names) == ["red"]
