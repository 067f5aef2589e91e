"""`check_bags`: every accepted form of data, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from bagwise import Bags, check_bags
from bagwise.errors import SingleInstanceWarning
from bagwise.io import read_bags, write_bags

X = np.arange(12.0).reshape(6, 2)
OFFSETS = [0, 1, 3, 6]

A, B = np.ones((2, 3)), np.zeros((1, 3))
OBJECTS = np.empty(2, dtype=object)
OBJECTS[:] = [A, B]

RAGGED_FORMS = {
    "list": [A, B],
    "tuple": (A, B),
    "nested lists": [A.tolist(), B.tolist()],
    "object array": OBJECTS,
    "series": pd.Series([A, B], index=[4, 5]),
    "sparse": [sp.csr_array(A), sp.csr_array(B)],
    "pandas frames": [pd.DataFrame(A), pd.DataFrame(B)],
    "polars frames": [pl.DataFrame(A), pl.DataFrame(B)],
}


@pytest.mark.parametrize("data", RAGGED_FORMS.values(), ids=RAGGED_FORMS)
def test_every_ragged_form_ends_in_the_same_bags(data):
    bags = check_bags(data)
    np.testing.assert_array_equal(bags.sizes, [2, 1])
    X = bags.X.toarray() if sp.issparse(bags.X) else bags.X
    np.testing.assert_array_equal(X, np.concatenate([A, B]))


TABLES = {
    "array": A,
    "lists": A.tolist(),
    "rows": list(A),
    "objects": A.astype(object),
    "pandas": pd.DataFrame(A),
    "polars": pl.DataFrame(A),
    "sparse": sp.coo_array(A),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_row_of_a_table_is_a_bag_of_one(table):
    with pytest.warns(SingleInstanceWarning, match=r"a bag of one instance .* Bags.from_frame"):
        bags = check_bags(table)
    np.testing.assert_array_equal(bags.offsets, [0, 1, 2])
    np.testing.assert_array_equal(bags.X.toarray() if sp.issparse(bags.X) else bags.X, A)


def test_a_3d_array_holds_bags_of_one_size():
    np.testing.assert_array_equal(check_bags(np.ones((4, 2, 3))).sizes, [2, 2, 2, 2])


def test_bags_pass_the_door_untouched():
    bags = Bags(A, [0, 2])
    assert check_bags(bags) is bags


# NaN and infinity --------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_not_finite_names_bag_instance_and_feature(store, value, what):
    broken = np.where(np.eye(6, 2) > 0, 0.0, X)
    broken[4, 1] = value
    bags = Bags(store(broken), OFFSETS, ids=["a", "b", "c"])
    remedy = "Impute or drop it" if what == "NaN" else "Correct the value, or leave out"
    message = f"Bag 2 (id 'c') contains {what} in its instance 1, feature 1. {remedy}"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_bags(bags)
    named = bags.replace(feature_names=["size", "mass"])
    with pytest.raises(ValueError, match=re.escape("instance 1, feature 'mass'.")):
        check_bags(named)
    assert check_bags(bags, finite=False) is bags
    if what == "NaN":
        assert check_bags(bags, finite="allow-nan") is bags
        return
    with pytest.raises(ValueError, match=re.escape(message)):
        check_bags(bags, finite="allow-nan")


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_largest_floats_are_finite(dtype):
    top = np.full((4, 2), np.finfo(dtype).max, dtype=dtype)
    assert check_bags(Bags(top, [0, 4])).dtype == dtype


def test_infinities_that_cancel_to_nan_are_seen():
    with pytest.raises(
        ValueError, match=re.escape("Bag 0 (id 0) contains infinity in its instance 0")
    ):
        check_bags([np.array([[np.inf], [-np.inf]])])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_not_finite_is_found_in_any_block(store, monkeypatch):
    monkeypatch.setattr("bagwise.rowstores.base.BLOCK_BYTES", 8 * 4)
    for row in range(6):
        broken = X + 1
        broken[row, 0] = np.nan
        bag = [0, 1, 1, 2, 2, 2][row]
        position = row - OFFSETS[bag]
        with pytest.raises(ValueError, match=f"Bag {bag} .* instance {position}, feature 0"):
            check_bags(Bags(store(broken), OFFSETS))


def test_what_lies_behind_the_last_entry_of_a_csr_is_no_data():
    rows = sp.csr_array(np.eye(2))
    rows.data = np.append(rows.data, np.nan)
    rows.indices = np.append(rows.indices, 0).astype(rows.indices.dtype)
    np.testing.assert_array_equal(check_bags(Bags(rows, [0, 2])).X.toarray(), np.eye(2))


# What is no bags --------------------------------------------------------------------------------

BAD_INPUTS = {
    "no bags": ([], "There are no bags: the list is empty."),
    "no rows": (np.zeros((0, 2)), "0 sample(s)"),
    "no bags in Bags": (Bags(X, OFFSETS)[:0], "There are no bags: 0 sample(s) were given"),
    "no features": ([np.zeros((2, 0))], "0 feature(s), a minimum of 1 is required."),
    "ragged table": ([[1.0, 2.0], [1.0]], "The table is ragged"),
    "one dimension": (np.zeros(3), "Expected 2D array, got 1D array"),
    "four dimensions": (np.zeros((1, 1, 1, 1)), "dim 4"),
    "a string": ("bags", "could not convert string to float: 'bags'"),
    "None": (None, "Expected 2D array"),
    "equal bags as objects": (np.array([X, X], dtype=object), "convert with .astype(float)"),
}


@pytest.mark.parametrize(("data", "message"), BAD_INPUTS.values(), ids=BAD_INPUTS)
def test_the_door_refuses(data, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        check_bags(data)


def test_bags_of_several_instances_are_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_bags([np.eye(3)])
        check_bags(np.ones((2, 3, 4)))
        check_bags(Bags(np.eye(3), [0, 1, 2, 3]))


@pytest.mark.parametrize("sparse", [False, True])
def test_stored_bags_are_checked(sparse, tmp_path):
    for value in (5.0, np.nan):
        rows = np.where(X == 5.0, value, X)
        bags = Bags(sp.csr_array(rows) if sparse else rows, OFFSETS)
        write_bags(tmp_path / f"{value}.bags", bags)
    assert len(check_bags(read_bags(tmp_path / "5.0.bags")[0])) == 3
    with pytest.raises(ValueError, match="contains NaN in its instance 1, feature 1"):
        check_bags(read_bags(tmp_path / "nan.bags")[0])
