"""The other forms of data, all of which must end in the same `Bags`."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from anndata import AnnData
from hypothesis import given, strategies as st

from bag_helpers import assert_is_selection, dense, full_bags
from bagwise import Bags

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
        np.testing.assert_array_equal(dense(bag), array)
    np.testing.assert_array_equal(bags.groups, sizes)
    assert bags.has_ids is False


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
    np.testing.assert_array_equal(dense(bags.X), X[rows])
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
        coords=["f", "g"],
        features=["f", "g"],
    )
    np.testing.assert_array_equal(bags.coords, bags.X)
    assert list(bags.feature_names) == ["f", "g"]
    np.testing.assert_array_equal(bags.X, [[0.1, 1], [0.3, 3], [0.2, 2]])
    assert (list(bags.ids), list(y)) == (["s", "t"], ["bad", "good"])
    assert (list(bags.groups), list(bags.priors)) == ([7, 8], [0.5, 0.0])
    assert (list(bags.instance_labels), list(bags.instance_ids)) == ([0, 1, 0], ["p0", "p2", "p1"])
    np.testing.assert_array_equal(bags.bag_features, [[50], [60]])


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
    bags = full_bags([1, 2, 3], store)
    assert_is_selection(Bags.concat(bags[i : i + 1] for i in range(3)), bags, [0, 1, 2])


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


# What is refused ---------------------------------------------------------------------------------

X = np.arange(12.0).reshape(6, 2)
OFFSETS = [0, 1, 3, 6]

FRAME = pd.DataFrame({"bag": [1, 1, 2], "y": [0, 0, 1], "f": [0.1, 0.2, 0.3], "s": list("abc")})
TWICE = pd.concat([FRAME, FRAME[["f"]]], axis=1)
ONE = Bags(X, OFFSETS)
SIX = [1, 1, 1, 2, 2, 2]

# tests/bad_inputs has the most usual mistakes.
BAD = [
    (
        lambda: Bags.from_groups(X, [0, 0, np.nan, 1, 1, 1]),
        "The bag id of row 2 is NaN or missing.",
    ),
    (lambda: Bags.from_groups(X, [0, pd.NA, 1, 1, 1, 1]), "The bag id of row 1 is NaN or missing."),
    (lambda: Bags.from_groups(X, [0, 0, 0, 0, [1], 1]), "position 4 is a list, which cannot be"),
    (lambda: Bags.from_groups(X, X), "bag_ids must be 1-D, one id per row of X, got shape (6, 2)."),
    (lambda: Bags.from_groups(X[:0], []), "There are no bags: X has no rows."),
    (lambda: Bags.from_groups(X, [0] * 6, y=[1] * 5), "y has 5 entries, X has 6 rows."),
    (lambda: Bags.from_groups(X, [0] * 6, y=1), "y has 1 entries, X has 6 rows."),
    (
        lambda: Bags.from_groups(X, list("abbaab"), y=[1, 0, 0, 1, 0, 0]),
        "Bag 0 (id 'a') has two values of the label: 1 and 0. It must be the same on all rows",
    ),
    (
        lambda: Bags.from_groups(X, SIX, bag_features=[[1, 2]] * 5 + [[1, 3]]),
        "Bag 1 (id 2) has two values of bag_features: [1 2] and [1 3].",
    ),
    (lambda: Bags.from_groups(X, SIX, instance_labels=[0] * 8), "instance_labels has 8 entries"),
    (lambda: Bags.from_frame(FRAME, "bag"), "Column 's' is not numeric. Encode it, or name the"),
    (lambda: Bags.from_frame(FRAME, "bag", features=[]), "No feature columns are left"),
    (lambda: Bags.from_frame(FRAME, "bag", features="f", coords="s"), "'s' is not numeric."),
    (lambda: Bags.from_frame(TWICE, "bag"), "two columns named 'f': rename one."),
    (lambda: Bags.from_frame(FRAME, "bag", features=["f", "f"]), "'f' is named twice among the"),
    (lambda: Bags.from_padded(X), "must have 3 dimensions, it has 2."),
    (lambda: Bags.from_padded(np.ma.masked_less(np.zeros((3, 2, 1)), 1)), "padded array is masked"),
    (lambda: Bags.concat([]), "There is nothing to concatenate"),
    (lambda: Bags.concat([ONE, Bags(sp.csr_array(X), OFFSETS)]), "Part 1 and Part 0 differ in th"),
    (lambda: Bags.concat([ONE, ONE.replace(groups=[1, 2, 3])]), "Part 0 has no groups, but Part 1"),
    (
        lambda: Bags.concat([ONE.replace(feature_names=["f", "g"]), ONE]),
        "Part 1 and Part 0 differ in their feature_names: f, g and None.",
    ),
    (
        lambda: Bags.concat([ONE.replace(bag_features=np.ones((3, k))) for k in (1, 2)]),
        "The parts have bag_features of different widths: [1, 2].",
    ),
]


@pytest.mark.parametrize(("build", "message"), BAD, ids=[message for _, message in BAD])
def test_what_is_no_bags_is_refused(build, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        build()


@pytest.mark.parametrize("frame", [np.eye(2), {"b": [1]}, "b"])
def test_only_frames_are_frames(frame):
    with pytest.raises(TypeError, match="from_frame takes a pandas or polars data frame, got a"):
        Bags.from_frame(frame, "b")


@pytest.fixture
def adata():
    obs = pd.DataFrame(
        {
            "patient": pd.Categorical(["q", "p", "q", "p", "r"]),
            "status": ["ill", "well", "ill", "well", "ill"],
            "site": ["a", "b", "a", "b", "a"],
            "kind": ["T", "B", "B", "T", "T"],
        },
        index=[f"cell{i}" for i in range(5)],
    )
    data = AnnData(sp.csr_matrix(np.arange(10.0).reshape(5, 2)), obs)
    data.var_names = ["CD3", "CD19"]
    data.obsm["X_pca"] = np.arange(15.0).reshape(5, 3)
    data.layers["counts"] = np.ones((5, 2), dtype=np.float32)
    return data


def test_the_cells_of_a_patient_are_a_bag(adata):
    bags, y = Bags.from_anndata(
        adata, bag="patient", label="status", groups="site", instance_labels="kind"
    )
    assert bags.ids.tolist() == ["q", "p", "r"]
    assert y.tolist() == ["ill", "well", "ill"]
    assert bags.groups.tolist() == ["a", "b", "a"]
    assert bags.instance_ids.tolist() == ["cell0", "cell2", "cell1", "cell3", "cell4"]
    assert bags.instance_labels.tolist() == ["T", "B", "B", "T", "T"]
    assert bags.feature_names.tolist() == ["CD3", "CD19"]
    assert sp.issparse(bags.X)
    assert bags.X.toarray()[1].tolist() == [4.0, 5.0]


def test_features_from_obsm_and_layers_and_positions_from_spatial(adata):
    adata.obsm["spatial"] = np.arange(10.0).reshape(5, 2)
    bags = Bags.from_anndata(adata, bag="patient", obsm="X_pca")
    assert bags.feature_names.tolist() == ["X_pca_0", "X_pca_1", "X_pca_2"]
    assert bags.coords[1].tolist() == [4.0, 5.0]
    assert Bags.from_anndata(adata, bag="patient", layer="counts").X.dtype == np.float32


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bag": "patiant"}, "no column 'patiant'.*Did you mean 'patient'"),
        ({"bag": "patient", "obsm": "X_pcs"}, "adata.obsm has no 'X_pcs'.*X_pca"),
        ({"bag": "patient", "layer": "raw"}, "adata.layers has no 'raw'"),
        ({"bag": "patient", "layer": "a", "obsm": "b"}, "not with both"),
        ({"bag": "patient", "label": "patient"}, "bags and the labels"),
        ({"bag": "patient", "label": "kind"}, "two values of the label"),
    ],
)
def test_mistakes_are_named(adata, options, match):
    with pytest.raises(ValueError, match=match):
        Bags.from_anndata(adata, **options)


def test_a_frame_is_no_anndata(adata):
    with pytest.raises(TypeError, match="takes an AnnData object, got a DataFrame"):
        Bags.from_anndata(adata.obs, bag="patient")
