"""The parts of `Bags`: every bad one, and the message that names the bag, place and remedy."""

import re
from copy import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bag_helpers import assert_is_selection, dense, full_bags
from bagwise import Bags, check_bags
from bagwise.bags import arrays
from bagwise.bags.arrays import resolve, small_csr
from bagwise.bags.forms import PER_INSTANCE

X = np.arange(12.0).reshape(6, 2)
OFFSETS = [0, 1, 3, 6]

# tests/bad_inputs has the most usual mistakes.
BAD_ROWS = [
    (sp.coo_array(np.ones(6)), "got 1 dimension(s)"),
    (X.astype(object), "have dtype object, expected float64, float32, float16"),
    (X.astype(str), "or encode the columns that are not numeric."),
    (sp.csr_array(X.astype(complex)), "have dtype complex128"),
    (X.astype(np.longdouble), "convert with .astype(float)"),
    (X.astype("datetime64[s]"), "have dtype datetime64[s]"),
]
BAD_OFFSETS = [
    (np.array([0, 3, 1, 6], np.uint64), "not sorted: bag 1"),
    ([0, 3, 5], "they run from 0 to 5."),
    *((bad, "offsets must be a 1-D array of n_bags + 1 integers") for bad in ([], 6, [[0, 6]])),
]
BAD_PARTS = [(rows, OFFSETS, message) for rows, message in BAD_ROWS]
BAD_PARTS += [(X, offsets, message) for offsets, message in BAD_OFFSETS]


@pytest.mark.parametrize(("rows", "offsets", "message"), BAD_PARTS)
def test_bad_instances_and_offsets_are_refused(rows, offsets, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags(rows, offsets)


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


BAD_LISTS = [
    ([X, X[0]], "Bag 1 has 1 dimension(s), expected 2 (instances x features)"),
    ([X[0], X], "Bag 0 has 1 dimension(s)"),
    ([X, [[1.0, 2.0], [3.0]]], "Bag 1 is ragged: all rows must have the same length"),
    ([X, sp.csr_array(X)], "Bag 1 and bag 0 differ: one is sparse"),
    ([X, X.astype(object)], "Bag 1 has dtype object, expected numbers"),
    ([X, [["a", "b"]]], "Bag 1 has dtype <U1, expected numbers"),
    ([sp.coo_array(X[0])], "Bag 0 has 1 dimension(s)"),
]


@pytest.mark.parametrize(("arrays", "message"), BAD_LISTS)
def test_bad_lists_are_refused(arrays, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags.from_list(arrays)


BAD_ATTRIBUTES = [
    ("ids", [1.0, np.nan, 2.0], "ids contains NaN or None at position 1."),
    ("ids", [1, pd.NA, 2], "ids contains NaN or None at position 1."),
    ("ids", np.array(["NaT"] * 3, "M8[s]"), "ids contains NaN or None at position 0."),
    ("ids", np.zeros((3, 2)), "ids must be 1-D, one value per bag, got shape (3, 2)."),
    ("ids", 3, "Expected a sequence of names, got 3."),
    ("groups", [1, None, 2], "groups contains NaN or None at position 1."),
    ("instance_labels", [1, 0, 1], "instance_labels has 3 entries, there are 6 instances."),
    ("instance_labels", X, "instance_labels must be 1-D, one value per instance"),
    ("priors", [0.5, np.nan, 1], "Bag 1 (id 1) has the prior nan, which is not in"),
    ("priors", ["a", "b", "c"], "priors must be numbers, got dtype <U1."),
    ("priors", [0.1, None, 0.2], "priors must be numbers, got dtype object."),
    ("priors", 0.5, "priors must be 1-D, one value per bag, got shape ()."),
    ("bag_features", [1, 2, 3], "bag_features must be 2-D, one row per bag"),
    ("bag_features", [[b"a"]] * 3, "bag_features must be numbers"),
    ("coords", [1, 2, 3], "coords must be 2-D, one position (x, y) per instance"),
    ("coords", [[1, 2, 3]] * 6, "coords must be 2-D, one position (x, y)"),
    ("feature_names", "fg", "feature_names has shape (), there are 2"),
    ("feature_names", np.array([{}, {}], dtype=object), "cannot be hashed"),
]


@pytest.mark.parametrize(("name", "values", "message"), BAD_ATTRIBUTES)
def test_bad_attributes_are_refused(name, values, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags(X, OFFSETS, **{name: values})


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


STORES = st.sampled_from([np.asarray, sp.csr_array])
SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=8)


@st.composite
def keys(draw, n):
    """Draw a key of any accepted kind and the bag numbers it stands for."""
    index = st.integers(-n, n - 1)
    ends = st.none() | st.integers(-n - 2, n + 2)
    steps = st.none() | st.integers(-3, 3).filter(bool)
    key = draw(
        st.builds(slice, ends, ends, steps)
        | st.lists(index, max_size=6)
        | st.lists(index, max_size=6).map(lambda k: np.array(k, dtype=np.int8))
        | st.lists(st.integers(0, n - 1), max_size=6).map(lambda k: np.array(k, dtype=np.uint8))
        | st.lists(st.booleans(), min_size=n, max_size=n)
        | st.lists(st.booleans(), min_size=n, max_size=n).map(np.array)
    )
    plain = key if isinstance(key, slice) or len(key) else np.array([], dtype=np.int64)
    chosen = np.arange(n)[plain]
    return draw(st.sampled_from([key, (key,), (key, ...), (key, slice(None))])), chosen


@given(data=st.data(), sizes=SIZES, store=STORES)
def test_every_attribute_follows_every_kind_of_indexing(data, sizes, store):
    bags = full_bags(sizes, store)
    key, chosen = data.draw(keys(len(bags)))
    assert_is_selection(bags[key], bags, chosen)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_narrow_indices_reach_more_bags_than_they_can_count(dtype):
    bags = full_bags([1] * 300)
    key = np.array([7 if np.dtype(dtype).kind == "u" else -1, 1], dtype)
    assert_is_selection(bags[key], bags, np.arange(300)[key])


@given(sizes=SIZES, store=STORES, data=st.data())
def test_an_integer_gives_the_bags_own_rows(sizes, store, data):
    bags = full_bags(sizes, store)
    i = data.draw(st.integers(-len(bags), len(bags) - 1))
    rows = slice(bags.offsets[:-1][i], bags.offsets[1:][i])
    for key in (i, np.int16(i), (i, ...)):
        np.testing.assert_array_equal(dense(bags[key]), dense(bags.X)[rows])


@pytest.mark.parametrize("key", [[2, 3], np.array([2, 3]), [False, False, True, True, False]])
def test_consecutive_bags_become_a_slice(key):
    assert resolve(key, 5) == slice(2, 4)
    assert resolve(slice(2, 4, None), 5) == slice(2, 4)
    assert resolve(np.int8(-1), 5) == 4


@pytest.mark.parametrize("key", [slice(1, 3), slice(0, 1), [1, 2], np.array([0, 0, 0, 1], bool)])
def test_a_contiguous_slice_shares_memory(key):
    bags = full_bags([2, 3, 1, 9])
    part = bags[key]
    assert np.shares_memory(part.X, bags.X)
    for name in PER_INSTANCE:
        assert np.shares_memory(getattr(part, name), getattr(bags, name))
    assert np.shares_memory(bags[1], bags.X)


@pytest.mark.parametrize("matrix", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("key", [slice(1, 3), slice(0, 1), slice(4, 5), [1, 2, 3]])
def test_a_contiguous_slice_of_csr_shares_memory(matrix, key):
    rows = matrix(sp.random(60, 20, density=0.3, random_state=0))
    bags = Bags(rows, np.arange(0, 61, 10))
    for part in (bags[key], bags[key][:1]):
        assert np.shares_memory(part.X.data, rows.data)
        assert np.shares_memory(part.X.indices, rows.indices)
    assert np.shares_memory(bags[5].data, rows.data)
    np.testing.assert_array_equal(bags[5].toarray(), rows.toarray()[50:])


def test_a_contiguous_slice_of_a_memory_map_stays_one(tmp_path):
    np.save(tmp_path / "X.npy", np.arange(24, dtype=np.float32).reshape(12, 2))
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    bags = Bags(stored, [0, 4, 8, 12])
    assert isinstance(bags[1:].X, np.memmap)
    assert np.shares_memory(bags[1:].X, stored)
    assert check_bags(bags[1:]).dtype == np.float32
    np.testing.assert_array_equal(bags[[2, 0]].X, stored[[8, 9, 10, 11, 0, 1, 2, 3]])


BAD_KEYS = {
    "high": (3, "Bag index 3 is out of range for 3 bags."),
    "low": (-4, "Bag index -4 is out of range"),
    "high in array": ([0, 5], "Bag index 5 is out of range"),
    "low in array": (np.array([0, -4]), "Bag index -4 is out of range"),
    "huge": (np.array([2**63], np.uint64), "Bag index 9223372036854775808 is out of range"),
    "float": ([0.0, 1.0], "Bags are indexed by integers, slices, index arrays or boolean arrays"),
    "string": ("a", "Bags are indexed by integers"),
    "boolean": (True, "Bags are indexed by integers"),
    "None": (None, "Bags are indexed by integers"),
    "Ellipsis": (..., "Bags are indexed by integers"),
    "2-D": (np.zeros((1, 1), int), "Bags are indexed by integers"),
    "empty 2-D": (np.zeros((0, 3), int), "Bags are indexed by integers"),
    "short mask": ([True], "The boolean index has 1 entries for 3 bags."),
    "empty mask": (np.zeros(0, bool), "The boolean index has 0 entries for 3 bags."),
    "features": ((0, 1), "Bags are indexed by bag only; select features on bags.X."),
    "feature slice": ((0, slice(0, 1)), "Bags are indexed by bag only"),
    "two arrays": ((np.arange(2), np.arange(2)), "Bags are indexed by bag only"),
    "empty tuple": ((), "Bags are indexed by bag only"),
}


@pytest.mark.parametrize(("key", "message"), BAD_KEYS.values(), ids=BAD_KEYS)
def test_bad_keys_are_refused(key, message):
    with pytest.raises(IndexError, match=re.escape(message)):
        full_bags([1, 2, 3])[key]
