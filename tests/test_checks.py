"""Every bad input, and the message that names the bag, the place and the remedy."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bagwise import Bags, check_bags
from bagwise._checks import csr_view

X = np.arange(12.0).reshape(6, 2)
OFFSETS = [0, 1, 3, 6]


def says(message):
    """Match the message literally, anywhere in the error."""
    return re.escape(message)


# Instances and offsets ---------------------------------------------------------------------------

BAD_ROWS = {
    "one dimension": (np.zeros(6), "got 1 dimension(s). Use Bags.from_list for one array a bag."),
    "three dimensions": (np.zeros((6, 1, 1)), "got 3 dimension(s)"),
    "no dimension": (3.0, "got 0 dimension(s)"),
    "sparse, one dimension": (sp.coo_array(np.ones(6)), "got 1 dimension(s)"),
    "objects": (X.astype(object), "have dtype object, expected float64, float32, float16"),
    "strings": (X.astype(str), "or encode the columns that are not numeric."),
    "complex": (X.astype(complex), "have dtype complex128"),
    "sparse complex": (sp.csr_array(X.astype(complex)), "have dtype complex128"),
    "long double": (X.astype(np.longdouble), "convert with .astype(float)"),
    "dates": (X.astype("datetime64[s]"), "have dtype datetime64[s]"),
    "ragged": ([[1.0], [1.0, 2.0]], "The array of instances is ragged"),
    "masked": (np.ma.masked_less(X, 3), "is masked: write what is missing as NaN"),
}


@pytest.mark.parametrize(("rows", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_bad_instances_are_refused(rows, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags(rows, OFFSETS)


BAD_OFFSETS = {
    "unsorted": ([0, 3, 1, 6], "offsets are not sorted: bag 1 starts at 3 and ends at 1."),
    "unsorted unsigned": (np.array([0, 3, 1, 6], np.uint64), "not sorted: bag 1"),
    "late start": ([1, 3, 6], "start at 0 and end at the number of instances (6), they run from 1"),
    "short": ([0, 3, 5], "they run from 0 to 5."),
    "long": ([0, 3, 7], "they run from 0 to 7."),
    "floats": ([0.0, 3.0, 6.0], "offsets must be a 1-D array of integers"),
    "booleans": ([False, True], "offsets must be a 1-D array of integers"),
    "none": ([], "offsets must be a 1-D array of integers"),
    "a number": (6, "offsets must be a 1-D array of integers"),
    "two dimensions": ([[0, 6]], "offsets must be a 1-D array of integers"),
}


@pytest.mark.parametrize(("offsets", "message"), BAD_OFFSETS.values(), ids=BAD_OFFSETS)
def test_bad_offsets_are_refused(offsets, message):
    with pytest.raises(ValueError, match=says(message)):
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
    with pytest.raises(ValueError, match=says(name)):
        Bags.from_list([X[:1], X[:0], X[1:]], ids=ids)


def test_an_empty_bag_is_named_by_every_constructor():
    with pytest.raises(ValueError, match=says("Bag 2 (id 'c') is empty.")):
        Bags(X, [0, 1, 6, 6], ids=["a", "b", "c"])
    with pytest.raises(ValueError, match=says("Bag 1 is empty.")):
        check_bags([[[1.0]], []])
    with pytest.raises(ValueError, match=says("Bag 0 (id 'a') is empty.")):
        Bags.from_padded(np.zeros((2, 2, 1)), mask=[[0, 0], [1, 1]], ids=["a", "b"])


def test_an_empty_bag_beyond_the_ids_given_is_still_numbered():
    with pytest.raises(ValueError, match=says("Bag 2 is empty.")):
        Bags(X, [0, 1, 6, 6], ids=["a"])


# NaN and infinity --------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_not_finite_names_bag_instance_and_feature(store, value, what):
    broken = np.where(np.eye(6, 2) > 0, 0.0, X)
    broken[4, 1] = value
    bags = Bags(store(broken), OFFSETS, ids=["a", "b", "c"])
    message = f"Bag 2 (id 'c') contains {what} in its instance 1, feature 1. Impute or drop it"
    with pytest.raises(ValueError, match=says(message)):
        check_bags(bags)
    named = bags.replace(feature_names=["size", "mass"])
    with pytest.raises(ValueError, match=says("instance 1, feature 'mass'.")):
        check_bags(named)
    assert check_bags(bags, finite=False) is bags


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_largest_floats_are_finite(dtype):
    top = np.full((4, 2), np.finfo(dtype).max, dtype=dtype)
    assert check_bags(Bags(top, [0, 4])).dtype == dtype


def test_infinities_that_cancel_to_nan_are_seen():
    with pytest.raises(ValueError, match=says("Bag 0 (id 0) contains infinity in its instance 0")):
        check_bags([np.array([[np.inf], [-np.inf]])])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_not_finite_is_found_in_any_block(store, monkeypatch):
    monkeypatch.setattr("bagwise._checks._BLOCK_VALUES", 4)
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


# Lists of bags -----------------------------------------------------------------------------------

BAD_LISTS = {
    "no bags": ([], "There are no bags: the list is empty."),
    "widths": ([X, X[:, :1]], "Bag 1 has 1 features, bag 0 has 2: every bag needs the same"),
    "one dimension": ([X, X[0]], "Bag 1 has 1 dimension(s), expected a 2-D array"),
    "first one dimension": ([X[0], X], "Bag 0 has 1 dimension(s)"),
    "three dimensions": ([X, X[None]], "Bag 1 has 3 dimension(s)"),
    "a number": ([X, 3.0], "Bag 1 has 0 dimension(s)"),
    "ragged": ([X, [[1.0, 2.0], [3.0]]], "Bag 1 is ragged: every row needs the same number"),
    "sparse and dense": ([X, sp.csr_array(X)], "Bag 1 and bag 0 differ: one is sparse"),
    "objects": ([X, X.astype(object)], "Bag 1 has dtype object, expected numbers"),
    "strings": ([X, [["a", "b"]]], "Bag 1 has dtype <U1, expected numbers"),
    "empty": ([X, X[:0]], "Bag 1 is empty."),
    "sparse, one dimension": ([sp.coo_array(X[0])], "Bag 0 has 1 dimension(s)"),
}


@pytest.mark.parametrize(("arrays", "message"), BAD_LISTS.values(), ids=BAD_LISTS)
def test_bad_lists_are_refused(arrays, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags.from_list(arrays)


def test_a_bad_member_is_called_by_its_id():
    with pytest.raises(ValueError, match=says("Bag 1 (id 'b') has 1 features, bag 0 has 2")):
        Bags.from_list([X, X[:, :1]], ids=["a", "b"])


def test_too_few_ids_are_counted():
    with pytest.raises(ValueError, match=says("ids has 1 entries, there are 2 bags.")):
        Bags.from_list([X, X], ids=["a"])


# Attributes --------------------------------------------------------------------------------------

BAD_ATTRIBUTES = {
    "ids short": ({"ids": ["a"]}, "ids has 1 entries, there are 3 bags."),
    "ids long": ({"ids": list("abcd")}, "ids has 4 entries, there are 3 bags."),
    "ids NaN": ({"ids": [1.0, np.nan, 2.0]}, "ids contains NaN or None at position 1."),
    "ids None": ({"ids": ["a", "b", None]}, "ids contains NaN or None at position 2."),
    "ids NA": ({"ids": [1, pd.NA, 2]}, "ids contains NaN or None at position 1."),
    "ids NaT": ({"ids": np.array(["NaT"] * 3, "M8[s]")}, "ids contains NaN or None at position 0."),
    "ids 2-D": ({"ids": np.zeros((3, 2))}, "ids must be 1-D, one value a bag, got shape (3, 2)."),
    "ids a number": ({"ids": 3}, "Expected a sequence of names, got 3."),
    "ids lists": ({"ids": [1, 2, [3]]}, "position 2 is a list, which cannot be hashed"),
    "groups short": ({"groups": [1, 2]}, "groups has 2 entries, there are 3 bags."),
    "groups None": ({"groups": [1, None, 2]}, "groups contains NaN or None at position 1."),
    "instance_ids": ({"instance_ids": [1, 2]}, "instance_ids has 2 entries, there are 6 instances"),
    "instance_labels": (
        {"instance_labels": [1, 0, 1]},
        "instance_labels has 3 entries, there are 6 instances.",
    ),
    "instance_labels 2-D": ({"instance_labels": X}, "instance_labels must be 1-D, one value a"),
    "priors short": ({"priors": [0.5]}, "priors has 1 entries, there are 3 bags."),
    "priors high": (
        {"priors": [0, 1, 1.5], "ids": list("ABC")},
        "Bag 2 (id 'C') has the prior 1.5, which is not in [0, 1].",
    ),
    "priors low": ({"priors": [-0.1, 1, 1]}, "Bag 0 (id 0) has the prior -0.1, which is not in"),
    "priors NaN": ({"priors": [0.5, np.nan, 1]}, "Bag 1 (id 1) has the prior nan, which is not in"),
    "priors strings": ({"priors": ["a", "b", "c"]}, "priors must be numbers, got dtype <U1."),
    "priors None": ({"priors": [0.1, None, 0.2]}, "priors must be numbers, got dtype object."),
    "priors a number": ({"priors": 0.5}, "priors must be 1-D, one value a bag, got shape ()."),
    "priors 2-D": ({"priors": np.ones((3, 1))}, "priors must be 1-D, one value a bag"),
    "bag_features 1-D": ({"bag_features": [1, 2, 3]}, "bag_features must be 2-D, one row a bag"),
    "bag_features short": ({"bag_features": [[1]]}, "bag_features has 1 entries, there are 3 bags"),
    "bag_features str": ({"bag_features": [["a"]] * 3}, "bag_features must be numbers"),
    "feature_names short": ({"feature_names": ["f"]}, "feature_names has shape (1,), there are 2"),
    "feature_names str": ({"feature_names": "fg"}, "feature_names has shape (), there are 2"),
}


@pytest.mark.parametrize(("attributes", "message"), BAD_ATTRIBUTES.values(), ids=BAD_ATTRIBUTES)
def test_bad_attributes_are_refused(attributes, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags(X, OFFSETS, **attributes)


# Flat rows, frames, padding, parts ---------------------------------------------------------------

BAD_GROUPS = {
    "short ids": ((X, ["a"]), {}, "bag_ids has 1 entries, X has 6 rows."),
    "NaN id": ((X, [0, 0, np.nan, 1, 1, 1]), {}, "The bag id of row 2 is NaN or missing."),
    "None id": ((X, [0, 0, 1, 1, 1, None]), {}, "The bag id of row 5 is NaN or missing."),
    "NA id": ((X, [0, pd.NA, 1, 1, 1, 1]), {}, "The bag id of row 1 is NaN or missing."),
    "list id": ((X, [0, 0, 0, 0, [1], 1]), {}, "position 4 is a list, which cannot be hashed"),
    "2-D ids": ((X, X), {}, "bag_ids must be 1-D, one id a row of X, got shape (6, 2)."),
    "no rows": ((X[:0], []), {}, "There are no bags: X has no rows."),
    "long y": ((X, [0] * 6), {"y": [1] * 7}, "y has 7 entries, X has 6 rows."),
    "short y": ((X, [0] * 6), {"y": [1] * 5}, "y has 5 entries, X has 6 rows."),
    "scalar y": ((X, [0] * 6), {"y": 1}, "y has 1 entries, X has 6 rows."),
    "two labels": (
        (X, list("abbaab")),
        {"y": [1, 0, 0, 1, 0, 0]},
        "Bag 0 (id 'a') has two values of the label: 1 and 0. It must be the same on all rows",
    ),
    "two groups": (
        (X, [1, 1, 1, 2, 2, 2]),
        {"groups": ["p", "p", "p", "q", "q", "r"]},
        "Bag 1 (id 2) has two values of groups: q and r.",
    ),
    "two rows of bag features": (
        (X, [1, 1, 1, 2, 2, 2]),
        {"bag_features": [[1, 2]] * 5 + [[1, 3]]},
        "Bag 1 (id 2) has two values of bag_features: [1 2] and [1 3].",
    ),
    "long labels": (
        (X, [0] * 6),
        {"instance_labels": [0] * 8},
        "instance_labels has 8 entries, X has 6 rows.",
    ),
}


@pytest.mark.parametrize(("given", "named", "message"), BAD_GROUPS.values(), ids=BAD_GROUPS)
def test_bad_flat_rows_are_refused(given, named, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags.from_groups(*given, **named)


FRAME = pd.DataFrame({"bag": [1, 1, 2], "y": [0, 0, 1], "f": [0.1, 0.2, 0.3], "s": list("abc")})

BAD_FRAMES = {
    "no such bag": ({"bag": "slide"}, "The frame has no column 'slide'; it has ['bag', 'y',"),
    "no such label": ({"bag": "bag", "label": "z"}, "The frame has no column 'z'"),
    "no such feature": ({"bag": "bag", "features": ["f", "g"]}, "The frame has no column 'g'"),
    "no such group": ({"bag": "bag", "groups": "patient"}, "The frame has no column 'patient'"),
    "not numeric": ({"bag": "bag"}, "Column 's' is not numeric. Encode it, or leave it out"),
    "no features": ({"bag": "bag", "features": []}, "No feature columns are left"),
    "text bag feature": (
        {"bag": "bag", "features": ["f"], "bag_features": "s"},
        "Column 's' is not numeric.",
    ),
}


@pytest.mark.parametrize(("named", "message"), BAD_FRAMES.values(), ids=BAD_FRAMES)
def test_bad_frames_are_refused(named, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags.from_frame(FRAME, **named)


def test_a_frame_with_a_column_twice_is_refused():
    twice = pd.concat([FRAME, FRAME[["f"]]], axis=1)
    with pytest.raises(ValueError, match=says("two columns named 'f': rename one.")):
        Bags.from_frame(twice, bag="bag")


def test_bad_padding_is_refused():
    with pytest.raises(ValueError, match=says("has 3 dimensions, this one has 2.")):
        Bags.from_padded(X)
    with pytest.raises(ValueError, match=says("The mask's shape (3, 1) is not (3, 2).")):
        Bags.from_padded(np.zeros((3, 2, 1)), mask=np.ones((3, 1)))
    with pytest.raises(ValueError, match=says("The padded array is masked")):
        Bags.from_padded(np.ma.masked_less(np.zeros((3, 2, 1)), 1))


ONE = Bags(X, OFFSETS)

BAD_PARTS = {
    "none": ([], "There is nothing to join"),
    "widths": ([ONE, Bags(X[:, :1], OFFSETS)], "different widths: [1, 2]."),
    "sparse": ([ONE, Bags(sp.csr_array(X), OFFSETS)], "Cannot join dense and sparse bags."),
    "groups": ([ONE, ONE.replace(groups=[1, 2, 3])], "Part 0 has no groups, part 1 has."),
    "names": (
        [ONE.replace(feature_names=["f", "g"]), ONE],
        "Part 1 has the feature_names None, part 0 has ['f', 'g'].",
    ),
    "bag features": (
        [ONE.replace(bag_features=np.ones((3, k))) for k in (1, 2)],
        "The parts' bag_features differ in width: [1, 2].",
    ),
}


@pytest.mark.parametrize(("parts", "message"), BAD_PARTS.values(), ids=BAD_PARTS)
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags.concat(parts)


def test_only_bags_can_be_joined():
    with pytest.raises(TypeError, match=says("Part 1 is a ndarray, expected Bags.")):
        Bags.concat([ONE, X])


# Indexing and use --------------------------------------------------------------------------------

BAD_KEYS = {
    "high": (3, "Bag 3 of 3 bags."),
    "low": (-4, "Bag -4 of 3 bags."),
    "high in array": ([0, 5], "Bag 5 of 3 bags."),
    "low in array": (np.array([0, -4]), "Bag -4 of 3 bags."),
    "huge": (np.array([2**63], np.uint64), "Bag 9223372036854775808 of 3 bags."),
    "float": ([0.0, 1.0], "Bags take integers, slices, index arrays or boolean arrays"),
    "string": ("a", "Bags take integers"),
    "boolean": (True, "Bags take integers"),
    "None": (None, "Bags take integers"),
    "Ellipsis": (..., "Bags take integers"),
    "2-D": (np.zeros((1, 1), int), "Bags take integers"),
    "empty 2-D": (np.zeros((0, 3), int), "Bags take integers"),
    "short mask": ([True], "The boolean index has 1 entries for 3 bags."),
    "empty mask": (np.zeros(0, bool), "The boolean index has 0 entries for 3 bags."),
    "features": ((0, 1), "Bags are indexed by bag only; select features on bags.X."),
    "feature slice": ((0, slice(0, 1)), "Bags are indexed by bag only"),
    "two arrays": ((np.arange(2), np.arange(2)), "Bags are indexed by bag only"),
    "empty tuple": ((), "Bags are indexed by bag only"),
}


@pytest.mark.parametrize(("key", "message"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_keys_are_refused(key, message):
    with pytest.raises(IndexError, match=says(message)):
        ONE[key]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ([0, 2, 0], "Bag 1 (id 'b') has no instance 2."),
        ([0, -1, 0], "Bag 1 (id 'b') has no instance -1."),
        ([0, 0], "Expected one position a bag (3), got shape (2,)."),
        ([0.0, 0.5, 1.0], "Expected integer positions, got dtype float64."),
    ],
)
def test_bad_key_instances_are_refused(key, message):
    with pytest.raises(ValueError, match=says(message)):
        Bags(X, OFFSETS, ids=["a", "b", "c"]).flat(key)


BAD_INPUTS = {
    "no bags": ([], "There are no bags: the list is empty."),
    "no rows": (np.zeros((0, 2)), "0 sample(s)"),
    "no bags in Bags": (ONE[:0], "There are no bags: 0 sample(s) were given"),
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
    with pytest.raises(ValueError, match=says(message)):
        check_bags(data)


def test_bags_have_no_array_form():
    with pytest.raises(TypeError, match=says("use bags.X for the flat instances")):
        np.asarray(ONE)


def test_entries_of_one_place_are_summed():
    twice = sp.csr_array(([1.0, 2.0, 4.0], [2, 2, 0], [0, 3]), shape=(1, 3))
    rows = Bags(twice, [0, 1]).X
    np.testing.assert_array_equal(rows.data, [4.0, 3.0])
    assert twice.nnz == 3  # the user's own matrix is left alone


def test_csr_view_is_an_ordinary_csr_array():
    rows = sp.random_array((9, 5), density=0.4, format="csr", rng=np.random.default_rng(0))
    view = csr_view(rows.data, rows.indices, rows.indptr, 5)
    view.check_format(full_check=True)
    np.testing.assert_array_equal((view.T @ view).toarray(), (rows.T @ rows).toarray())
