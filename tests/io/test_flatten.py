"""From bags to columns, and what a format cannot store."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bag_helpers import full_bags
from bagwise.io import DuplicateColumnError, FormatError, _flatten
from bagwise.io._flatten import (
    bag_columns,
    checked_labels,
    dense_blocks,
    instance_columns,
    long_columns,
    names_as_rows,
    refuse_special,
    rows_as_names,
    warn_left_out,
    written_feature_names,
)

PATH = Path("a.csv")
BAGS = full_bags([1, 2])


def test_coordinates_become_names_and_back():
    coordinates = np.array([[1, 2], [3, 4]])
    names = rows_as_names(coordinates)
    assert list(names) == [(1, 2), (3, 4)]
    np.testing.assert_array_equal(names_as_rows(names), coordinates)
    plain = np.array(["a", "b"])
    assert rows_as_names(plain) is plain
    assert names_as_rows(plain) is plain


@pytest.mark.parametrize("names", [[(1, 2), (3,)], [(1, 2), "a"], [("a", 1), ("b", 2)]])
def test_names_that_are_no_coordinates_stay(names):
    objects = np.empty(2, dtype=object)
    objects[:] = names
    assert names_as_rows(objects) is objects


def test_columns_have_the_names_that_readers_look_for():
    assert list(bag_columns(BAGS, [0, 1])) == [
        *("bag", "label", "group", "prior", "patch_size"),
        *("bag_feature_1", "bag_feature_2", "bag_feature_3"),
    ]
    assert list(instance_columns(BAGS)) == [
        *("instance_label", "instance_parent", "instance", "coord_x", "coord_y")
    ]
    columns = long_columns(BAGS, ["x", "y"])
    assert columns["label"].tolist() == ["x", "y", "y"]
    assert columns["bag_feature_3"].tolist() == [2, 5, 5]
    assert {len(values) for values in columns.values()} == {3}


def test_ids_that_only_count_are_left_out():
    assert "instance" not in instance_columns(BAGS.replace(instance_ids=None))


def test_labels_are_one_per_bag():
    assert checked_labels(BAGS, None) is None
    assert checked_labels(BAGS, [1, 0]).tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"Expected one label per bag \(2\), got shape \(3,\)"):
        checked_labels(BAGS, [1, 0, 0])


def test_feature_names_must_differ_from_all_columns():
    assert written_feature_names(PATH, BAGS, ["bag"]) == ["f", "g"]
    assert written_feature_names(PATH, BAGS.replace(feature_names=None), []) == ["f1", "f2"]
    for names, keys in (([1, "1"], []), (["bag", "f"], ["bag"])):
        with pytest.raises(DuplicateColumnError, match="two columns would be named"):
            written_feature_names(PATH, BAGS.replace(feature_names=names), keys)


def test_what_cannot_be_written_is_named():
    with pytest.raises(FormatError, match=r"the bag 'a,b' cannot be written as text\."):
        refuse_special(PATH, {"bag": np.array(["a", "a,b"])}, re.compile(","), "as text")
    with pytest.warns(UserWarning, match=r"a\.csv: the format cannot store groups, priors; left"):
        warn_left_out(PATH, BAGS, ("groups", "priors"))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_blocks_of_dense_rows(store, monkeypatch):
    monkeypatch.setattr(_flatten, "_BLOCK_VALUES", 4)
    bags = full_bags([1, 2, 2], store)
    starts, blocks = zip(*dense_blocks(bags), strict=True)
    assert starts == (0, 2, 4)
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(1.0, 11).reshape(5, 2))
