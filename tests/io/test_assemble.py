"""From columns to bags: choosing columns, order, and values that must be constant."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.bags.ids import factorize
from bagwise.io import DuplicateColumnError, FormatError, LabelError
from bagwise.io._assemble import Coded, assemble, lay_out

PATH = Path("a.csv")


def coded(values):
    return Coded(*factorize(values))


def test_chosen_features_win_over_habit():
    layout = lay_out(PATH, ["bag", "prior", "f"], features=["prior", 2])
    assert (layout.keys, layout.features) == ({"bag": 0}, [1, 2])


@pytest.mark.parametrize(
    ("names", "named", "error", "message"),
    [
        (["bag", "f"], {"label": "labl"}, FormatError, "has no column 'labl'. Known names: bag"),
        (["bag", "f"], {"label": 7}, FormatError, "has no column 7: numbers go from 0 to 1"),
        (["bag", "f"], {"label": -1}, FormatError, "has no column -1: numbers go from 0 to 1"),
        (["id", "f"], {"bag": "id", "label": 0}, FormatError, "Name another one with bag=... or"),
        (["label", "f"], {"bag": "label"}, FormatError, "is the column of the bags and of the"),
        (["bag", "f"], {"features": ["f", 1]}, DuplicateColumnError, "'f': is named twice in feat"),
    ],
)
def test_headers_that_do_not_fit_are_refused(names, named, error, message):
    with pytest.raises(error) as caught:
        lay_out(PATH, names, **named)
    assert message in str(caught.value)


@given(codes=st.lists(st.integers(0, 3), min_size=1, max_size=12))
def test_scattered_rows_are_collected_in_the_order_of_first_appearance(codes):
    X = np.arange(len(codes), dtype=float)[:, None]
    columns = {"bag": coded(codes), "label": coded(codes), "instance_labels": np.array(codes)}
    bags, y = assemble(PATH, X, columns, ["f"], regroup=True)
    assert bags.ids.tolist() == y.tolist() == list(dict.fromkeys(codes))
    for name, rows in zip(bags.ids, bags, strict=True):
        np.testing.assert_array_equal(rows.ravel(), np.flatnonzero(np.array(codes) == name))
    np.testing.assert_array_equal(bags.instance_labels, np.repeat(bags.ids, bags.sizes))


def test_rows_in_order_are_not_copied():
    X = np.ones((3, 1))
    bags, y = assemble(PATH, X, {"bag": coded([5, 5, 6])}, None)
    assert np.shares_memory(bags.X, X)
    assert (bags.sizes.tolist(), y) == ([2, 1], None)


def test_two_values_of_a_bag_are_named():
    X = np.ones((3, 1))
    columns = {"bag": coded(["a", "b", "a"]), "bag_feature_1": np.array([1.0, 2.0, 3.0])}
    with pytest.raises(LabelError, match=r"row 3: bag 'a' has the bag_features \[1\.0\] and here"):
        assemble(PATH, X, columns, None, regroup=True)
