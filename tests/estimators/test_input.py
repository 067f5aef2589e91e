"""What estimators are given: weights, the meaning of labels, spreads of features."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import MILES, AnnealedWitnessSVC, BagKernelSVC, Bags, LabelSVC, PerInstance, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import PositiveClassWarning, ScaleWarning, message_of
from bagwise.estimators.input import (
    class_weights,
    far_apart,
    feature_spreads,
    order_is_meaning,
)
from bagwise.testing._problems import planted_bags


@pytest.mark.parametrize(
    ("class_weight", "told"),
    [
        ({"normal": -1.0}, r"class 'normal' is -1\.0: weights must be finite numbers and not neg"),
        ({"tumor": np.nan}, r"class 'tumor' is nan: weights must be finite"),
        ({"tumor": np.inf}, r"class 'tumor' is inf: weights must be finite"),
        ({"tumor": "2"}, r"class 'tumor' is '2': weights must be finite numbers"),
        ({"normal": 0.0, "tumor": 0.0}, r"class 'normal' is 0, .* give it a small weight"),
        ({"normal": 1.0, "tumor": 0}, r"class 'tumor' is 0, .* fit without its bags"),
        ({"Tumor": 2.0}, r"names class 'Tumor', .* labels \['normal', 'tumor'\]: remove it"),
    ],
)
def test_wrong_class_weights_are_named(class_weight, told):
    bags, y = planted_bags()
    with pytest.raises(ValueError, match=told):
        WitnessSVC(class_weight=class_weight).fit(bags, np.array(["normal", "tumor"])[y])


def test_class_weights_multiply_the_weights_of_bags_and_are_one_where_not_given():
    bags, y = planted_bags()
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    by_bag = WitnessSVC(gamma=0.3).fit(bags, y, weight * np.where(y == 1, 4.0, 1.0))
    for chosen in ({1: 4}, {0: 1.0, 1: np.float32(4.0)}):
        by_class = WitnessSVC(gamma=0.3, class_weight=chosen).fit(bags, y, weight)
        np.testing.assert_array_equal(by_class.dual_coef_, by_bag.dual_coef_)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.1, 5.0)), min_size=6, max_size=15))
def test_balanced_classes_have_equal_totals(drawn):
    codes = np.array([0, 1, 2, *(code for code, _ in drawn)])
    weight = np.array([1.0, 1.0, 1.0, *(value for _, value in drawn)])
    of_class = class_weights("balanced", np.arange(3), codes, weight)
    totals = np.bincount(codes, weight * of_class[codes])
    np.testing.assert_allclose(totals, weight.sum() / 3, rtol=1e-9)


# Positive classes --------------------------------------------------------------------------------

DRAWN, LABELS = make_gaussian_bags(30, 3, shift=4.0)

CLEAR = [
    *([0, 1], [-1, 1], [False, True], [2.0, 7.0], ["neg", "pos"], ["Negative", "positive"]),
    *(["no", "yes"], ["NO", "YES"], ["absent", "present"], ["0", "1"], ["-1", "1"], ["n", "y"]),
    *(["False", "True"], ["neg. bag", "pos. bag"], ["a", "b", "c"]),
]
UNCLEAR = [
    *(["mut", "wt"], ["Yes", "no"], ["normal", "tumor"], ["+", "-"], ["1", "0"], ["a", "b"]),
    *(["present", "wanting"], ["negative", "tumor"]),
]


@pytest.mark.parametrize("classes", [*CLEAR, *UNCLEAR], ids=str)
def test_labels_whose_order_is_their_meaning(classes):
    assert order_is_meaning(classes) == (classes in CLEAR)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_label_names_its_bag(missing):
    y = np.array(["yes", "no", "yes", missing], dtype=object)
    with pytest.raises(ValueError, match=r"Bag 3 \(id 'd'\) has no label, but (None|nan|<NA>): "):
        LabelSVC().fit(Bags(np.arange(4.0)[:, None], range(5), ids=list("abcd")), y)


def test_fit_names_the_class_taken_and_how_to_name_the_other():
    with pytest.warns(PositiveClassWarning, match="'wt' is taken as the positive class") as caught:
        WitnessSVC(kernel="linear").fit(DRAWN, np.array(["mut", "wt"])[LABELS])
    assert "pass pos_label='mut'; pos_label='wt' confirms." in str(caught[0].message)
    worded = message_of(caught[0].message).reword(lambda a: f"--positive {a.value}")
    assert "pass --positive 'mut'; --positive 'wt' confirms." in worded


@pytest.mark.parametrize("settings", [{}, {"threshold": "calibrated"}, {"probability": "sigmoid"}])
def test_it_is_said_once_even_if_folds_are_fitted(settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        AnnealedWitnessSVC(kernel="linear", **settings).fit(DRAWN, np.array(["mut", "wt"])[LABELS])
    assert [w.category for w in caught].count(PositiveClassWarning) == 1


def test_a_named_class_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PositiveClassWarning)
        WitnessSVC(kernel="linear", pos_label="mut").fit(DRAWN, np.array(["wt", "mut"])[LABELS])


# Spreads -----------------------------------------------------------------------------------------

BAGS, Y = make_gaussian_bags(20, 3, bag_size=4)
FAR = BAGS.replace(X=BAGS.X * [1.0, 1.0, 1e4], feature_names=["a", "texture", "area"])


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_spreads_are_standard_deviations(store):
    bags = BAGS.replace(X=store(BAGS.X))
    np.testing.assert_allclose(feature_spreads(bags), np.asarray(BAGS.X).std(axis=0))


def test_many_instances_are_sampled():
    many = Bags(np.tile([[0.0], [2.0], [0.0]], (5000, 1)), [0, 15000])
    assert feature_spreads(many)[0] == pytest.approx(0.94, abs=0.1)


@pytest.mark.parametrize(
    ("spreads", "found"),
    [
        ([1.0, 2.0, 999.0], None),
        ([1.0, 0.5, 1001.0], (1, 2)),
        ([0.0, 1.0, 5.0], None),  # a constant feature is not a small one
        ([1e-14, 1.0, 5.0], None),  # nor is rounding
        ([0.0, 0.0], None),
    ],
)
def test_a_thousand_is_far(spreads, found):
    assert far_apart(np.array(spreads)) == found


@pytest.mark.parametrize("model", [WitnessSVC(), BagKernelSVC(), MILES()], ids=repr)
def test_kernels_of_distances_warn(model):
    with pytest.warns(ScaleWarning, match="Feature 'area' varies more than 1,000 times as much"):
        model.fit(FAR, Y)


@pytest.mark.parametrize(
    "model",
    [WitnessSVC(kernel="linear"), make_pipeline(PerInstance(StandardScaler()), WitnessSVC())],
    ids=["linear", "scaled"],
)
def test_linear_and_scaled_models_are_silent(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        model.fit(FAR, Y)
