"""The parts of `Bags`: every bad one, and the message that names the bag, place and remedy."""

from __future__ import annotations

import re
from copy import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bagwise import Bags, check_bags
from bagwise.bags import arrays
from bagwise.bags.arrays import small_csr

X = np.arange(12.0).reshape(6, 2)
OFFSETS = [0, 1, 3, 6]

BAD_ROWS = {
    "one dimension": (
        np.zeros(6),
        "got 1 dimension(s). Use Bags.from_list for a list with one array per bag.",
    ),
    "sparse, one dimension": (sp.coo_array(np.ones(6)), "got 1 dimension(s)"),
    "objects": (X.astype(object), "have dtype object, expected float64, float32, float16"),
    "strings": (X.astype(str), "or encode the columns that are not numeric."),
    "sparse complex": (sp.csr_array(X.astype(complex)), "have dtype complex128"),
    "long double": (X.astype(np.longdouble), "convert with .astype(float)"),
    "dates": (X.astype("datetime64[s]"), "have dtype datetime64[s]"),
    "ragged": ([[1.0], [1.0, 2.0]], "The array of instances is ragged"),
    "masked": (np.ma.masked_less(X, 3), "is masked: write missing values as NaN"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_instances_are_refused(rows, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags(rows, OFFSETS)


BAD_OFFSETS = {
    "unsorted": ([0, 3, 1, 6], "offsets are not sorted: bag 1 runs from 3 to 1."),
    "unsorted unsigned": (np.array([0, 3, 1, 6], np.uint64), "not sorted: bag 1"),
    "late start": ([1, 3, 6], "start at 0 and end at the number of instances (6), they run from 1"),
    "short": ([0, 3, 5], "they run from 0 to 5."),
    "floats": ([0.0, 3.0, 6.0], "offsets must be a 1-D array of n_bags + 1 integers"),
    "none": ([], "offsets must be a 1-D array of n_bags + 1 integers"),
    "a number": (6, "offsets must be a 1-D array of n_bags + 1 integers"),
    "two dimensions": ([[0, 6]], "offsets must be a 1-D array of n_bags + 1 integers"),
}


@pytest.mark.parametrize(("offsets", "message"), BAD_OFFSETS.values(), ids=BAD_OFFSETS)
def test_bad_offsets_are_refused(offsets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags(X, offsets)


@pytest.mark.parametrize(
    ("ids", "name"),
    [
        (None, "Bag 1 is empty. Drop it"),
        (["a", "b", "c"], "Bag 1 (id 'b') is empty."),
        (np.array(["a", "b", "c"]), "Bag 1 (id 'b') is empty."),
        ([7, 8, 9], "Bag 1 (id 8) is empty."),
        ([("p", 1), ("p", 2), ("p", 3)], "Bag 1 (id ('p', 2)) is empty."),
        (pd.Series([7, 8, 9], index=[5, 6, 7]), "Bag 1 (id 8) is empty."),
        (iter("abc"), "Bag 1 (id 'b') is empty."),
    ],
)
def test_an_empty_bag_is_named(ids, name):
    with pytest.raises(ValueError, match=re.escape(name)):
        Bags.from_list([X[:1], X[:0], X[1:]], ids=ids)


def test_an_empty_bag_is_named_by_every_constructor():
    with pytest.raises(ValueError, match=re.escape("Bag 2 (id 'c') is empty.")):
        Bags(X, [0, 1, 6, 6], ids=["a", "b", "c"])
    with pytest.raises(ValueError, match=re.escape("Bag 1 is empty.")):
        check_bags([[[1.0]], []])
    with pytest.raises(ValueError, match=re.escape("Bag 0 (id 'a') is empty.")):
        Bags.from_padded(np.zeros((2, 2, 1)), mask=[[0, 0], [1, 1]], ids=["a", "b"])


BAD_LISTS = {
    "no bags": ([], "There are no bags: the list is empty."),
    "widths": ([X, X[:, :1]], "Bag 1 has 1 features, bag 0 has 2: they must be the same."),
    "one dimension": ([X, X[0]], "Bag 1 has 1 dimension(s), expected 2 (instances x features)"),
    "first one dimension": ([X[0], X], "Bag 0 has 1 dimension(s)"),
    "a number": ([X, 3.0], "Bag 1 has 0 dimension(s)"),
    "ragged": ([X, [[1.0, 2.0], [3.0]]], "Bag 1 is ragged: all rows must have the same length"),
    "sparse and dense": ([X, sp.csr_array(X)], "Bag 1 and bag 0 differ: one is sparse"),
    "objects": ([X, X.astype(object)], "Bag 1 has dtype object, expected numbers"),
    "strings": ([X, [["a", "b"]]], "Bag 1 has dtype <U1, expected numbers"),
    "empty": ([X, X[:0]], "Bag 1 is empty."),
    "sparse, one dimension": ([sp.coo_array(X[0])], "Bag 0 has 1 dimension(s)"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD_LISTS.values(), ids=BAD_LISTS)
def test_bad_lists_are_refused(arrays, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags.from_list(arrays)


BAD_ATTRIBUTES = {
    "ids short": ({"ids": ["a"]}, "ids has 1 entries, there are 3 bags."),
    "ids NaN": ({"ids": [1.0, np.nan, 2.0]}, "ids contains NaN or None at position 1."),
    "ids None": ({"ids": ["a", "b", None]}, "ids contains NaN or None at position 2."),
    "ids NA": ({"ids": [1, pd.NA, 2]}, "ids contains NaN or None at position 1."),
    "ids NaT": ({"ids": np.array(["NaT"] * 3, "M8[s]")}, "ids contains NaN or None at position 0."),
    "ids 2-D": ({"ids": np.zeros((3, 2))}, "ids must be 1-D, one value per bag, got shape (3, 2)."),
    "ids a number": ({"ids": 3}, "Expected a sequence of names, got 3."),
    "ids lists": ({"ids": [1, 2, [3]]}, "position 2 is a list, which cannot be hashed"),
    "groups None": ({"groups": [1, None, 2]}, "groups contains NaN or None at position 1."),
    "instance_ids": ({"instance_ids": [1, 2]}, "instance_ids has 2 entries, there are 6 instances"),
    "instance_labels": (
        {"instance_labels": [1, 0, 1]},
        "instance_labels has 3 entries, there are 6 instances.",
    ),
    "instance_labels 2-D": (
        {"instance_labels": X},
        "instance_labels must be 1-D, one value per instance",
    ),
    "priors high": (
        {"priors": [0, 1, 1.5], "ids": list("ABC")},
        "Bag 2 (id 'C') has the prior 1.5, which is not in [0, 1].",
    ),
    "priors NaN": ({"priors": [0.5, np.nan, 1]}, "Bag 1 (id 1) has the prior nan, which is not in"),
    "priors strings": ({"priors": ["a", "b", "c"]}, "priors must be numbers, got dtype <U1."),
    "priors None": ({"priors": [0.1, None, 0.2]}, "priors must be numbers, got dtype object."),
    "priors a number": ({"priors": 0.5}, "priors must be 1-D, one value per bag, got shape ()."),
    "bag_features 1-D": ({"bag_features": [1, 2, 3]}, "bag_features must be 2-D, one row per bag"),
    "coords 1-D": ({"coords": [1, 2, 3]}, "coords must be 2-D, one position (x, y) per instance"),
    "coords 3 wide": ({"coords": [[1, 2, 3]] * 6}, "coords must be 2-D, one position (x, y)"),
    "bag_features str": ({"bag_features": [["a"]] * 3}, "bag_features must be numbers"),
    "feature_names short": ({"feature_names": ["f"]}, "feature_names has shape (1,), there are 2"),
    "feature_names str": ({"feature_names": "fg"}, "feature_names has shape (), there are 2"),
}


@pytest.mark.parametrize(("attributes", "message"), BAD_ATTRIBUTES.values(), ids=BAD_ATTRIBUTES)
def test_bad_attributes_are_refused(attributes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags(X, OFFSETS, **attributes)


def test_entries_of_one_place_are_summed():
    twice = sp.csr_array(([1.0, 2.0, 4.0], [2, 2, 0], [0, 3]), shape=(1, 3))
    rows = Bags(twice, [0, 1]).X
    np.testing.assert_array_equal(rows.data, [4.0, 3.0])
    assert twice.nnz == 3  # the user's own matrix is left alone


def test_small_csr_has_sorted_indices_of_32_bits():
    rows = small_csr([1, 2, 3], [2, 0, 1], [0, 2, 3], (2, 3))
    np.testing.assert_array_equal(rows.toarray(), [[2, 0, 1], [0, 3, 0]])
    assert (rows.indices.dtype, rows.indptr.dtype, rows.dtype) == (np.int32, np.int32, np.float64)
    np.testing.assert_array_equal(rows.indices, [0, 2, 1])
    assert small_csr([1], [0], [0, 1], (1, 2**31)).indices.dtype == np.int64


def damaged(form, part, value):
    X = sp.coo_array(np.eye(4, 3)).asformat(form)
    target = X.coords[part] if form == "coo" else getattr(X, part)
    target[-1 if part == "indptr" else 0] = value
    return X


@pytest.mark.parametrize(
    ("form", "part", "value"),
    [
        *((form, "indices", value) for form in ("csr", "csc", "bsr") for value in (10**9, -1)),
        *((form, "indptr", value) for form in ("csr", "csc", "bsr") for value in (10**9, -1, 0)),
        ("coo", 0, 10**9),
        ("coo", 1, -1),
    ],
)
def test_sparse_indices_outside_of_the_matrix_are_refused_at_every_door(form, part, value):
    X = damaged(form, part, value)
    for door in (
        lambda: Bags(X, [0, 4]),
        lambda: Bags.from_list([X, X]),
        lambda: check_bags(X),
        lambda: Bags.from_groups(X, [0, 0, 1, 1]),
        lambda: Bags(np.eye(4, 3), [0, 4]).replace(X=X),
    ):
        with pytest.raises(ValueError, match=r"The sparse matrix is damaged: .+\. Build it again"):
            door()


def test_pointers_whose_differences_overflow_are_refused():
    X = sp.csr_array((4, 3))
    X.indptr = np.array([0, 2**31 - 1, -(2**31), 0, 0], dtype=np.int32)
    with pytest.raises(ValueError, match="must not decrease"):
        Bags(X, [0, 4])
    X.indptr = np.array([0.0, 0, 0, 0, 0])
    with pytest.raises(ValueError, match="not an integer"):
        Bags(X, [0, 4])


def test_stale_flags_do_not_hide_duplicates():
    X = sp.csr_array(np.ones((1, 3)))
    assert X.has_canonical_format
    X.indices[1] = 0
    np.testing.assert_array_equal(Bags(X, [0, 1]).X.toarray(), [[2.0, 0.0, 1.0]])


def test_rows_are_checked_once(monkeypatch):
    bags = Bags(sp.csr_array(np.eye(4, 3)), [0, 2, 4])
    monkeypatch.setattr(arrays, "in_range", lambda X: pytest.fail("checked again"))
    assert bags[1:].replace(priors=[0.5]).X.shape == (2, 3)
    monkeypatch.undo()
    changed = copy(bags.X)
    changed.indices = changed.indices + 2
    with pytest.raises(ValueError, match="damaged"):
        bags.replace(X=changed)


def test_feature_names_do_not_repeat():
    with pytest.raises(ValueError, match=r"feature_names has 'a' at positions 0 and 2: give every"):
        Bags(np.eye(3), [0, 3], feature_names=["a", "b", "a"])
    with pytest.raises(ValueError, match="cannot be hashed"):
        Bags(np.eye(2), [0, 2], feature_names=np.array([{}, {}], dtype=object))
