"""The other forms of data, all of which must end in the same `Bags`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bagwise import Bags, check_bags

FRAMES = pytest.mark.parametrize("frame_of", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])

ID_KINDS = {
    "str": lambda code: f"bag-{code}",
    "int": lambda code: 100 - code,
    "float": lambda code: code / 4,
    "tuple": lambda code: ("patient", code),
    "mixed": lambda code: [code, f"bag-{code}", (code,)][code % 3],
}


def by_hand(X, bag_ids):
    """Group rows with a dictionary."""
    grouped = {}
    for row, bag in enumerate(bag_ids):
        grouped.setdefault(bag, []).append(row)
    return grouped


# from_list ---------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=6), sparse=st.booleans())
def test_a_list_is_stacked_in_order(sizes, sparse):
    arrays = [np.full((size, 2), i + 1.0) for i, size in enumerate(sizes)]
    bags = Bags.from_list([sp.csc_array(a) for a in arrays] if sparse else arrays, groups=sizes)
    assert sp.issparse(bags.X) == sparse
    for array, bag in zip(arrays, bags, strict=True):
        np.testing.assert_array_equal(bag.toarray() if sparse else bag, array)
    np.testing.assert_array_equal(bags.groups, sizes)
    assert bags.has_ids is False


def test_a_list_of_frames_and_of_lists():
    frame = pd.DataFrame({"f": [1, 2], "g": [0.5, 1.5]})
    bags = Bags.from_list([frame, [[3, 4]], np.ones((1, 2), dtype=np.float32)])
    np.testing.assert_array_equal(bags.X, [[1, 0.5], [2, 1.5], [3, 4], [1, 1]])


# from_groups -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ID_KINDS)
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@given(codes=st.lists(st.integers(0, 4), min_size=1, max_size=20))
def test_rows_in_any_order_are_grouped_by_first_appearance(kind, store, codes):
    bag_ids = [ID_KINDS[kind](code) for code in codes]
    X = np.arange(1.0, 2 * len(codes) + 1).reshape(-1, 2)
    grouped = by_hand(X, bag_ids)
    bags, y = Bags.from_groups(store(X), bag_ids, y=codes, groups=codes, instance_labels=X[:, 0])
    assert list(bags.ids) == list(grouped)
    rows = np.concatenate(list(grouped.values()))
    np.testing.assert_array_equal(bags.instance_ids, rows)
    np.testing.assert_array_equal(bags.X.toarray() if sp.issparse(bags.X) else bags.X, X[rows])
    np.testing.assert_array_equal(bags.sizes, [len(r) for r in grouped.values()])
    np.testing.assert_array_equal(bags.instance_labels, X[rows, 0])
    np.testing.assert_array_equal(y, [codes[r[0]] for r in grouped.values()])
    np.testing.assert_array_equal(bags.groups, y)


@pytest.mark.parametrize("dtype", ["<U3", "S3", "f4", "u2", "M8[D]", "m8[s]", "O", "?"])
def test_arrays_and_lists_of_ids_give_the_same_bags(dtype):
    ids = np.array([1, 0, 1, 1, 0]).astype("i8").astype(dtype)
    from_array = Bags.from_groups(np.arange(5.0)[:, None], ids)
    from_list = Bags.from_groups(np.arange(5.0)[:, None], list(ids))
    np.testing.assert_array_equal(from_array.X.ravel(), [0, 2, 3, 1, 4])
    np.testing.assert_array_equal(from_list.X, from_array.X)
    np.testing.assert_array_equal(from_array.ids, ids[:2])
    np.testing.assert_array_equal(from_list.ids, ids[:2])


def test_rows_that_are_in_order_are_not_copied():
    X = np.arange(8.0).reshape(4, 2)
    assert np.shares_memory(Bags.from_groups(X, list("bbaa")).X, X)
    assert not np.shares_memory(Bags.from_groups(X, list("baab")).X, X)


def test_given_instance_ids_are_sorted_with_their_rows():
    bags = Bags.from_groups(np.ones((3, 1)), list("aba"), instance_ids=["x", "y", "z"])
    assert list(bags.instance_ids) == ["x", "z", "y"]
    assert bags.has_instance_ids is True


def test_tuples_may_be_groups():
    bags = Bags.from_groups(np.ones((3, 1)), list("aba"), groups=[("p", 1), ("p", 2), ("p", 1)])
    assert list(bags.groups) == [("p", 1), ("p", 2)]


def test_every_attribute_of_the_bag_is_taken_once_a_bag():
    bags = Bags.from_groups(
        np.ones((3, 2)),
        list("aba"),
        priors=[0.1, 0.2, 0.1],
        bag_features=[[1, np.nan], [2, 0], [1, np.nan]],
        feature_names=["f", "g"],
    )
    np.testing.assert_array_equal(bags.priors, [0.1, 0.2])
    np.testing.assert_array_equal(bags.bag_features, [[1, np.nan], [2, 0]])
    assert list(bags.feature_names) == ["f", "g"]


def test_a_bag_without_label_keeps_its_nan():
    _, y = Bags.from_groups(np.ones((3, 1)), list("aba"), y=[np.nan, 1, np.nan])
    np.testing.assert_array_equal(y, [np.nan, 1])


# from_frame --------------------------------------------------------------------------------------


@FRAMES
def test_a_frame_gives_bags_labels_and_attributes(frame_of):
    frame = frame_of(
        {
            "slide": ["s", "t", "s"],
            "y": ["bad", "good", "bad"],
            "patient": [7, 8, 7],
            "truth": [0, 0, 1],
            "patch": ["p0", "p1", "p2"],
            "fraction": [0.5, 0.0, 0.5],
            "age": [50, 60, 50],
            "f": [0.1, 0.2, 0.3],
            "g": [1, 2, 3],
        }
    )
    bags, y = Bags.from_frame(
        frame,
        bag="slide",
        label="y",
        groups="patient",
        instance_labels="truth",
        instance_ids="patch",
        priors="fraction",
        bag_features="age",
    )
    assert list(bags.feature_names) == ["f", "g"]
    np.testing.assert_array_equal(bags.X, [[0.1, 1], [0.3, 3], [0.2, 2]])
    assert (list(bags.ids), list(y)) == (["s", "t"], ["bad", "good"])
    assert (list(bags.groups), list(bags.priors)) == ([7, 8], [0.5, 0.0])
    assert (list(bags.instance_labels), list(bags.instance_ids)) == ([0, 1, 0], ["p0", "p2", "p1"])
    np.testing.assert_array_equal(bags.bag_features, [[50], [60]])


@FRAMES
def test_chosen_features_keep_their_order(frame_of):
    frame = frame_of({"b": [1, 1], "f": [1.0, 2.0], "text": ["x", "y"], "g": [3.0, 4.0]})
    bags = Bags.from_frame(frame, bag="b", features=["g", "f"])
    np.testing.assert_array_equal(bags[0], [[3, 1], [4, 2]])
    np.testing.assert_array_equal(bags.instance_ids, [0, 1])


@FRAMES
def test_booleans_integers_floats_and_gaps_become_numbers(frame_of):
    frame = frame_of({"b": [1, 1], "flag": [True, False], "count": [1, None], "value": [0.5, None]})
    np.testing.assert_array_equal(
        Bags.from_frame(frame, bag="b").X, [[1, 1, 0.5], [0, np.nan, np.nan]]
    )


def test_nullable_pandas_columns():
    frame = pd.DataFrame(
        {
            "b": pd.array([1, 1, 2], dtype="Int64"),
            "y": pd.array([True, True, False], dtype="boolean"),
            "f": pd.array([1, None, 3], dtype="Int32"),
            "g": pd.Series([0.5, pd.NA, 1], dtype=object),
        }
    )
    bags, y = Bags.from_frame(frame, bag="b", label="y")
    np.testing.assert_array_equal(bags.X, [[1, 0.5], [np.nan, np.nan], [3, 1]])
    assert (list(bags.ids), list(y)) == ([1, 2], [True, False])
    frame.loc[2, "b"] = pd.NA
    with pytest.raises(ValueError, match="The bag id of row 2 is NaN or missing"):
        Bags.from_frame(frame, bag="b", label="y")


@FRAMES
def test_float32_frames_stay_float32(frame_of):
    X = np.ones((2, 2), dtype=np.float32)
    frame = frame_of({"b": ["u", "v"], "f": X[:, 0], "g": X[:, 1]})
    assert Bags.from_frame(frame, bag="b").dtype == np.float32


def test_categories_and_an_odd_index_of_a_pandas_frame():
    frame = pd.DataFrame(
        {"b": pd.Categorical(["u", "v", "u"]), "f": [1.0, 2.0, 3.0]}, index=[9, 9, 4]
    )
    bags = Bags.from_frame(frame, bag="b")
    assert list(bags.ids) == ["u", "v"]
    np.testing.assert_array_equal(bags.instance_ids, [0, 2, 1])


# from_padded -------------------------------------------------------------------------------------


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=5), rng=st.integers(0, 99))
def test_padding_is_dropped_wherever_it_stands(sizes, rng):
    random = np.random.default_rng(rng)
    padded = random.normal(size=(len(sizes), 4, 3)).astype(np.float32)
    mask = np.stack([random.permutation(np.arange(4) < size) for size in sizes])
    bags = Bags.from_padded(padded, mask, priors=np.zeros(len(sizes)))
    assert bags.dtype == np.float32
    for bag, rows, keep in zip(bags, padded, mask, strict=True):
        np.testing.assert_array_equal(bag, rows[keep])


def test_without_a_mask_nothing_is_copied():
    full = np.arange(12.0).reshape(2, 3, 2)
    bags = Bags.from_padded(full)
    assert np.shares_memory(bags.X, full)
    np.testing.assert_array_equal(bags[1], full[1])


# concat ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_joining_what_was_cut_gives_the_whole(store):
    rows = store(np.arange(1.0, 13.0).reshape(6, 2))
    bags = Bags(
        rows,
        [0, 1, 3, 6],
        ids=["a", "b", "c"],
        instance_ids=list("uvwxyz"),
        groups=[0, 0, 1],
        priors=[0.1, 0.2, 0.3],
        bag_features=np.eye(3),
        instance_labels=[0, 1, 0, 1, 0, 1],
        feature_names=["f", "g"],
    )
    whole = Bags.concat(bags[i : i + 1] for i in range(3))
    for name in ("X", "offsets", "ids", "instance_ids", "groups", "priors", "bag_features"):
        left, right = getattr(whole, name), getattr(bags, name)
        assert (left != right).sum() == 0
        assert left.dtype == right.dtype
    assert list(whole.instance_labels) == list(bags.instance_labels)
    assert list(whole.feature_names) == ["f", "g"]
    assert (whole.has_ids, whole.has_instance_ids) == (True, True)


def test_ids_are_made_anew_unless_every_part_has_its_own():
    plain = Bags(np.ones((2, 1)), [0, 1, 2])
    named = plain.replace(ids=["a", "b"])
    both = Bags.concat([named, plain])
    np.testing.assert_array_equal(both.ids, np.arange(4))
    assert both.has_ids is False
    np.testing.assert_array_equal(Bags.concat([named, named]).instance_ids, np.arange(4))
    pointed = plain.replace(instance_ids=["x", "y"])
    assert list(Bags.concat([pointed, pointed]).instance_ids) == ["x", "y", "x", "y"]


def test_ids_of_different_kinds_are_not_turned_into_strings():
    one, other = (Bags([[1.0]], [0, 1], ids=[i]) for i in (1, "1"))
    assert list(Bags.concat([one, other]).ids) == [1, "1"]


# check_bags --------------------------------------------------------------------------------------

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
    bags = check_bags(table)
    np.testing.assert_array_equal(bags.offsets, [0, 1, 2])
    np.testing.assert_array_equal(bags.X.toarray() if sp.issparse(bags.X) else bags.X, A)


def test_a_3d_array_holds_bags_of_one_size():
    np.testing.assert_array_equal(check_bags(np.ones((4, 2, 3))).sizes, [2, 2, 2, 2])


def test_bags_pass_the_door_untouched():
    bags = Bags(A, [0, 2])
    assert check_bags(bags) is bags
