"""`Bags`: what is kept, what is shared, what cannot be written, and its methods."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bag_helpers import assert_is_selection, dense, full_bags
from bagwise import Bags, check_bags
from bagwise.bags.arrays import PER_BAG, PER_INSTANCE

STORES = st.sampled_from([np.asarray, sp.csr_array])
SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=8)

# Copies -------------------------------------------------------------------------------------------


def test_what_belongs_to_bags_is_copied():
    given = {"offsets": np.array([0, 1, 3]), "ids": np.array(["a", "b"]), "groups": np.arange(2)}
    given |= {"priors": np.array([0.1, 0.2]), "bag_features": np.ones((2, 1))}
    bags = Bags(np.ones((3, 1)), **given)
    for name, values in given.items():
        kept = getattr(bags, name).copy()
        values[:] = values[::-1].copy()
        values[0] = values[-1]
        np.testing.assert_array_equal(getattr(bags, name), kept)


# Ids ---------------------------------------------------------------------------------------------


def test_ids_that_were_made_follow_but_do_not_count_as_given():
    bags = Bags(np.ones((4, 1)), [0, 1, 3, 4])
    for part in (bags, bags[1:], bags[[2, 0]], bags.replace(priors=[0, 0, 0]), copy.copy(bags)):
        assert (part.has_ids, part.has_instance_ids) == (False, False)
    np.testing.assert_array_equal(bags[[2, 0]].ids, [2, 0])
    np.testing.assert_array_equal(bags[1:].instance_ids, [1, 2, 3])


# Sharing, types, immutability --------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        *((np.array([[0, 1], [1, 0]], kind), "f8") for kind in ("i1", "u2", "i8", "?")),
        (sp.csr_array(np.eye(2, dtype=np.int8)), "f8"),
        (np.array([[1.5, 2.5]], dtype=">f4"), "f4"),
        (np.eye(2).view(np.matrix), "f8"),
    ],
)
def test_instances_become_native_floats_of_the_same_values(X, dtype):
    bags = Bags(X, [0, X.shape[0]])
    assert (bags.dtype, type(bags.X) in (np.ndarray, sp.csr_array)) == (np.dtype(dtype), True)
    np.testing.assert_array_equal(dense(bags.X), dense(X))


@pytest.mark.filterwarnings("ignore::bagwise.errors.SingleInstanceWarning")
def test_a_table_of_integers_keeps_its_values():
    table = np.array([[70_000, 2_049], [-(2**40), 1]])
    np.testing.assert_array_equal(check_bags(table).X, table)


# Properties and methods --------------------------------------------------------------------------


def test_repr_of_sparse_and_of_no_bags():
    bags = full_bags([1, 3], sp.csr_array, np.float32)
    assert repr(bags) == (
        "Bags(2 bags, 4 instances, 2 features, 1-3 instances per bag, sparse float32)"
    )
    assert repr(bags[:0]) == "Bags(0 bags, 0 instances, 2 features, sparse float32)"


def test_replace_keeps_the_rest():
    bags = full_bags([1, 2])
    wider = bags.replace(X=np.ones((3, 5)))
    assert wider.feature_names is None
    np.testing.assert_array_equal(wider.groups, bags.groups)
    assert list(bags.replace(X=-bags.X).feature_names) == ["f", "g"]
    assert bags.replace(X=[[1, 2]] * 3).dtype == np.float64


@given(sizes=SIZES, data=st.data())
def test_flat_points_at_the_row_of_the_key_instance(sizes, data):
    bags = full_bags(sizes)
    key = [data.draw(st.integers(0, size - 1)) for size in sizes]
    rows = bags.flat(key)
    np.testing.assert_array_equal(bags.X[rows], [bag[k] for bag, k in zip(bags, key, strict=True)])
    assert rows.dtype == np.int64


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ([0, 2, 0], "Bag 1 (id 'b') has no instance 2."),
        ([0, -1, 0], "Bag 1 (id 'b') has no instance -1."),
        ([0, 0], "Expected one position per bag (3), got shape (2,)."),
        ([0.0, 0.5, 1.0], "Expected integer positions, got dtype float64."),
    ],
)
def test_bad_key_instances_are_refused(key, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Bags(np.ones((6, 2)), [0, 1, 3, 6], ids=["a", "b", "c"]).flat(key)


def test_bags_have_no_array_form():
    with pytest.raises(TypeError, match=re.escape("use bags.X for the flat instances")):
        np.asarray(full_bags([1, 2]))
