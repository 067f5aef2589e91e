"""Weights of bags and of classes: what they multiply, and what is refused by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise import Bags, WitnessSVC
from bagwise.estimators.weights import check_weight, class_weights
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


# Functions ---------------------------------------------------------------------------------------

BAGS = Bags(np.zeros((6, 1)), np.array([0, 2, 3, 6]), ids=["a", "b", "c"])


def test_no_weights_are_ones_and_a_number_is_for_all():
    assert check_weight(BAGS, None).tolist() == [1.0, 1.0, 1.0]
    assert check_weight(BAGS, 2).tolist() == [2.0, 2.0, 2.0]
    assert check_weight(BAGS, [1, 0, 3]).dtype == np.float64


@pytest.mark.parametrize(
    ("weight", "told"),
    [
        ([1.0, np.nan, 1.0], r"bag 1 \(id 'b'\) is nan"),
        ([1.0, 1.0, np.inf], r"bag 2 \(id 'c'\) is inf"),
        ([-1.0, 1.0, 1.0], r"bag 0 \(id 'a'\) is -1\.0: weights must be finite and not negative"),
        ([1.0, 2.0], r"sample_weight.shape == \(2,\), expected \(3,\): one per bag"),
        (np.ones(6), r"\(6,\) \(that is one per instance\), expected \(3,\)"),
        (np.ones((3, 1)), "1D array or scalar"),
        ([0.0, 0.0, 0.0], "at least one non-zero number"),
    ],
)
def test_bad_weights_of_bags_are_refused(weight, told):
    with pytest.raises(ValueError, match=told):
        check_weight(BAGS, weight)


@given(st.lists(st.tuples(st.integers(0, 2), st.floats(0.1, 5.0)), min_size=6, max_size=15))
def test_balanced_classes_have_equal_totals(drawn):
    codes = np.array([0, 1, 2, *(code for code, _ in drawn)])
    weight = np.array([1.0, 1.0, 1.0, *(value for _, value in drawn)])
    of_class = class_weights("balanced", np.arange(3), codes, weight)
    totals = np.bincount(codes, weight * of_class[codes])
    np.testing.assert_allclose(totals, weight.sum() / 3, rtol=1e-9)
