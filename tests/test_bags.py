"""`Bags`: what is kept, what is shared, and what follows every kind of indexing."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    train_test_split,
)
from sklearn.utils import _safe_indexing, shuffle

from bagwise import Bags, check_bags

PER_BAG = ("ids", "groups", "bag_features", "priors")
PER_INSTANCE = ("instance_ids", "instance_labels")


def full_bags(sizes, store=np.asarray, dtype=np.float64):
    """Make bags whose every value tells which bag and row it belongs to."""
    n, n_bags = int(np.sum(sizes)), len(sizes)
    X = np.arange(1.0, 2 * n + 1).reshape(n, 2).astype(dtype)
    return Bags(
        store(X),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        ids=[f"bag{i}" for i in range(n_bags)],
        groups=np.arange(n_bags) // 2,
        bag_features=np.arange(3.0 * n_bags).reshape(n_bags, 3),
        priors=np.linspace(0, 1, n_bags),
        instance_ids=np.arange(n) * 10,
        instance_labels=np.arange(n) % 2,
        feature_names=["f", "g"],
    )


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def assert_is_selection(part, bags, chosen):
    """Check a selection, attribute by attribute, against the bags chosen one after another."""
    rows = [r for i in chosen for r in range(bags.offsets[i], bags.offsets[i + 1])]
    np.testing.assert_array_equal(dense(part.X), dense(bags.X)[rows])
    np.testing.assert_array_equal(part.sizes, bags.sizes[chosen])
    for name in PER_BAG:
        np.testing.assert_array_equal(getattr(part, name), getattr(bags, name)[chosen])
    for name in PER_INSTANCE:
        np.testing.assert_array_equal(getattr(part, name), getattr(bags, name)[rows])
    np.testing.assert_array_equal(part.feature_names, bags.feature_names)
    assert part.has_ids is bags.has_ids
    assert part.has_instance_ids is bags.has_instance_ids
    assert (part.dtype, sp.issparse(part.X)) == (bags.dtype, sp.issparse(bags.X))


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


@given(data=st.data(), sizes=SIZES, store=STORES)
def test_indexing_twice_is_indexing_once(data, sizes, store):
    bags = full_bags(sizes, store)
    key, chosen = data.draw(keys(len(bags)))
    part = bags[key]
    if len(part):
        again, rechosen = data.draw(keys(len(part)))
        assert_is_selection(part[again], bags, chosen[rechosen])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_narrow_indices_reach_more_bags_than_they_can_count(dtype):
    bags = full_bags([1] * 300)
    key = (
        np.array([7, 1], dtype=dtype)
        if dtype in (np.uint8, np.uint64)
        else np.array([-1, 1], dtype)
    )
    assert_is_selection(bags[key], bags, np.arange(300)[key])


@given(sizes=SIZES, store=STORES, data=st.data())
def test_an_integer_gives_the_bags_own_rows(sizes, store, data):
    bags = full_bags(sizes, store)
    i = data.draw(st.integers(-len(bags), len(bags) - 1))
    rows = slice(bags.offsets[:-1][i], bags.offsets[1:][i])
    for key in (i, np.int16(i), (i, ...)):
        np.testing.assert_array_equal(dense(bags[key]), dense(bags.X)[rows])


@given(sizes=SIZES, store=STORES)
def test_iteration_gives_the_bags_in_order(sizes, store):
    bags = full_bags(sizes, store)
    spans = [dense(bags.X)[a:b] for a, b in pairwise(bags.offsets)]
    assert len(bags) == len(spans)
    for bag, span in zip(bags, spans, strict=True):
        np.testing.assert_array_equal(dense(bag), span)


def test_what_is_not_given_stays_none_in_slices():
    part = Bags(np.ones((3, 1)), [0, 1, 2, 3])[[2, 0]]
    for name in ("groups", "bag_features", "priors", "instance_labels", "feature_names"):
        assert getattr(part, name) is None


# Ids ---------------------------------------------------------------------------------------------


def test_ids_that_were_made_follow_but_do_not_count_as_given():
    bags = Bags(np.ones((4, 1)), [0, 1, 3, 4])
    for part in (bags, bags[1:], bags[[2, 0]], bags.replace(priors=[0, 0, 0]), copy.copy(bags)):
        assert (part.has_ids, part.has_instance_ids) == (False, False)
    np.testing.assert_array_equal(bags[[2, 0]].ids, [2, 0])
    np.testing.assert_array_equal(bags[1:].instance_ids, [1, 2, 3])


def test_replacing_ids_changes_whether_they_were_given():
    bags = Bags(np.ones((2, 1)), [0, 1, 2])
    named = bags.replace(ids=["a", "b"])
    assert named.has_ids is True
    assert named[1:].has_ids is True
    assert named.has_instance_ids is False
    assert named.replace(ids=None).has_ids is False
    np.testing.assert_array_equal(named.replace(ids=None).ids, [0, 1])


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["a", "bb"], "U"),
        ([3, 4], "i"),
        ([0.5, 1.5], "f"),
        ([("a", 1), ("b", 2)], "O"),
        ([1, "a"], "O"),
        ([2**70, 1], "O"),
        (["a\0", "a"], "O"),
        (np.array(["2020", "2021"], dtype="M8[Y]"), "M"),
    ],
)
def test_ids_of_any_hashable_kind_are_kept(ids, kind):
    bags = Bags.from_list([np.ones((1, 1))] * 2, ids=ids)
    assert bags.ids.dtype.kind == kind
    assert list(bags.ids) == list(ids)
    assert list(bags[::-1].ids) == list(ids)[::-1]


# Sharing, types, immutability --------------------------------------------------------------------


@pytest.mark.parametrize("key", [slice(1, 3), slice(0, 1), [1, 2], np.array([0, 0, 0, 1], bool)])
def test_a_contiguous_slice_shares_memory(key):
    bags = full_bags([2, 3, 1, 9])
    part = bags[key]
    assert np.shares_memory(part.X, bags.X)
    for name in (*PER_BAG, *PER_INSTANCE):
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


def test_what_the_user_passed_is_shared_and_stays_writeable():
    X, offsets, labels = np.ones((4, 2)), np.array([0, 1, 4]), np.zeros(4)
    bags = Bags(
        X, offsets, instance_labels=labels, feature_names=(names := np.array(["a", "b"], object))
    )
    assert np.shares_memory(bags.X, X)
    X[0, 0], offsets[0], labels[0], names[0] = 2.0, 0, 1.0, "c"


@pytest.mark.parametrize("matrix", [sp.csr_array, sp.csr_matrix])
def test_the_users_csr_stays_writeable(matrix):
    rows = matrix(np.eye(3))
    bags = Bags(rows, [0, 3])
    rows.data[0] = 5.0
    rows[1, 1] = 6.0
    assert all(part.flags.writeable for part in (rows.data, rows.indices, rows.indptr))
    assert bags.X[0, 0] == 5.0  # the values are shared, not copied


def arrays_of(bags):
    parts = (bags.X.data, bags.X.indices, bags.X.indptr) if sp.issparse(bags.X) else (bags.X,)
    names = ("offsets", "feature_names", *PER_BAG, *PER_INSTANCE)
    return [*parts, *(getattr(bags, name) for name in names)]


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_nothing_in_bags_can_be_written(store):
    bags = full_bags([1, 2, 3], store)
    versions = [bags, bags[1:], bags[[2, 0]], pickle.loads(pickle.dumps(bags)), copy.deepcopy(bags)]
    for version in versions:
        assert [a.flags.writeable for a in arrays_of(version)] == [False] * len(arrays_of(version))
    with pytest.raises(FrozenInstanceError):
        bags.X = None
    with pytest.raises(ValueError, match="read-only"):
        bags[0][0, 0] = 7.0


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("protocol", [2, 5])
def test_a_pickle_brings_everything_back(store, protocol):
    bags = full_bags([1, 2, 3], store)
    back = pickle.loads(pickle.dumps(bags, protocol))
    assert_is_selection(back, bags, [0, 1, 2])
    made = pickle.loads(pickle.dumps(Bags(np.ones((2, 1)), [0, 1, 2]), protocol))
    assert made.has_ids is False


def test_the_pickle_of_a_slice_holds_only_the_slice():
    bags = full_bags([1000, 1, 1])
    assert len(pickle.dumps(bags[1:])) < 3000 < len(pickle.dumps(bags))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats_are_kept(dtype):
    bags = full_bags([1, 2], dtype=dtype)
    assert {bags.dtype, bags[1:].dtype, bags[[1, 0]].dtype, bags[0].dtype} == {np.dtype(dtype)}
    assert check_bags(bags.X).dtype == dtype
    assert Bags.concat([bags, bags]).dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_floats_are_kept(dtype):
    bags = full_bags([1, 2], sp.csr_array, dtype)
    assert {bags.dtype, bags[1:].dtype, bags[[1, 0]].dtype, bags[0].dtype} == {np.dtype(dtype)}


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_integers_become_float64(dtype, store):
    X = np.array([[0, 1], [1, 0]], dtype=dtype)
    bags = Bags(store(X), [0, 2])
    assert bags.dtype == np.float64
    np.testing.assert_array_equal(dense(bags.X), X)


def test_a_table_of_integers_keeps_its_values():
    table = np.array([[70_000, 2_049], [-(2**40), 1]])
    np.testing.assert_array_equal(check_bags(table).X, table)


def test_the_other_byte_order_is_read():
    X = np.array([[1.5, 2.5]], dtype=">f4")
    assert Bags(X, [0, 1]).dtype == np.dtype("float32")
    np.testing.assert_array_equal(Bags(X, [0, 1]).X, X)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_a_matrix_becomes_an_array():
    assert type(Bags(np.asmatrix(np.ones((2, 2))), [0, 2]).X) is np.ndarray


def test_nan_may_travel_in_bags():
    bags = Bags([[np.nan]], [0, 1])
    assert np.isnan(check_bags(bags, finite=False).X[0, 0])


# Properties and methods --------------------------------------------------------------------------


@given(sizes=SIZES, store=STORES)
def test_counts(sizes, store):
    bags = full_bags(sizes, store)
    assert (len(bags), bags.n_instances, bags.n_features) == (len(sizes), sum(sizes), 2)
    assert bags.shape == (len(sizes), 2)
    np.testing.assert_array_equal(bags.sizes, sizes)


def test_repr_of_sparse_and_of_no_bags():
    bags = full_bags([1, 3], sp.csr_array, np.float32)
    assert repr(bags) == (
        "Bags(2 bags, 4 instances, 2 features, 1-3 instances a bag, sparse float32)"
    )
    assert repr(bags[:0]) == "Bags(0 bags, 0 instances, 2 features, sparse float32)"


def test_replace_keeps_the_rest():
    bags = full_bags([1, 2])
    wider = bags.replace(X=np.ones((3, 5)))
    assert wider.feature_names is None
    assert np.shares_memory(wider.groups, bags.groups)
    assert list(bags.replace(X=-bags.X).feature_names) == ["f", "g"]
    assert bags.replace(X=[[1, 2]] * 3).dtype == np.float64


@given(sizes=SIZES, data=st.data())
def test_flat_points_at_the_row_of_the_key_instance(sizes, data):
    bags = full_bags(sizes)
    key = [data.draw(st.integers(0, size - 1)) for size in sizes]
    rows = bags.flat(key)
    np.testing.assert_array_equal(bags.X[rows], [bag[k] for bag, k in zip(bags, key, strict=True)])
    assert rows.dtype == np.int64


def test_flat_of_no_bags():
    assert len(full_bags([1])[:0].flat([])) == 0


# scikit-learn ------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_train_test_split(store):
    bags, y = full_bags([1, 2, 3, 1, 2, 3, 1, 2], store), np.arange(8)
    train, test, y_train, y_test = train_test_split(bags, y, random_state=0, stratify=y % 2)
    assert isinstance(train, Bags)
    assert_is_selection(train, bags, y_train)
    assert_is_selection(test, bags, y_test)


@pytest.mark.parametrize("splitter", [KFold(3), StratifiedKFold(3), GroupKFold(3)])
def test_folds(splitter):
    bags = full_bags([1, 2, 3, 1, 2, 3])
    y = np.array([0, 1, 0, 1, 0, 1])
    groups = bags.groups if isinstance(splitter, GroupKFold) else None
    for train, test in splitter.split(bags, y, groups):
        assert_is_selection(bags[train], bags, train)
        assert_is_selection(_safe_indexing(bags, test), bags, test)


@pytest.mark.parametrize("key", [[2, 0], np.array([True, False, True]), slice(1, 3), (0, 1)])
def test_safe_indexing(key):
    bags = full_bags([1, 2, 3])
    expected = np.arange(3)[list(key) if isinstance(key, tuple) else key]
    assert_is_selection(_safe_indexing(bags, key), bags, expected)


def test_shuffle_moves_bags_and_labels_together():
    bags, y = full_bags([1, 2, 3, 4]), np.arange(4)
    mixed, labels = shuffle(bags, y, random_state=3)
    assert_is_selection(mixed, bags, labels)


def test_cross_validation_hands_bags_to_the_estimator():
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Sizes(ClassifierMixin, BaseEstimator):
        def fit(self, bags, y):
            assert isinstance(bags, Bags)
            self.classes_ = np.unique(y)
            return self

        def predict(self, bags):
            return (bags.sizes > 2).astype(int)

    bags, y = full_bags([1, 3, 2, 4, 1, 5]), np.array([0, 1, 0, 1, 0, 1])
    np.testing.assert_array_equal(cross_val_predict(Sizes(), bags, y, cv=3), y)
