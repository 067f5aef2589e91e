"""From bags to columns, and what a format cannot store."""

from pathlib import Path

import numpy as np
import pytest

from bag_helpers import full_bags
from bagwise.io import DuplicateColumnError
from bagwise.io._flatten import name_features, names_as_rows, rows_as_names

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


def test_feature_names_must_differ_from_all_columns():
    assert name_features(PATH, BAGS, ["bag"]) == ["f", "g"]
    assert name_features(PATH, BAGS.replace(feature_names=None), []) == ["f1", "f2"]
    for names, keys in (([1, "1"], []), (["bag", "f"], ["bag"])):
        with pytest.raises(DuplicateColumnError, match="two columns would be named"):
            name_features(PATH, BAGS.replace(feature_names=names), keys)
