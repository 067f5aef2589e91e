"""Indexing: every kind of key, every attribute, and what is shared with the whole."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bag_helpers import assert_is_selection, dense, full_bags
from bagwise import Bags, check_bags
from bagwise.bags.forms import PER_INSTANCE
from bagwise.bags.selection import resolve

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
