"""Bags of digits follow their rule and hold the images they name."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.datasets import load_digits

from bagwise.bags.segments import segment_sum
from bagwise.datasets import load_digits_bags

SETTINGS = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**31)
SIZES = st.tuples(st.integers(1, 6), st.integers(0, 9)).map(lambda p: (p[0], p[0] + p[1]))


def _counts(bags):
    return segment_sum(bags.instance_labels, bags.offsets)


@SETTINGS
@given(seed=SEEDS, digit=st.integers(0, 9), sizes=SIZES, ratio=st.sampled_from([0.1, 0.3, 0.7, 1]))
@pytest.mark.parametrize("rule", ["any", "majority", "ratio"])
def test_digit_bags_follow_their_rule(rule, seed, digit, sizes, ratio):
    bags, y = load_digits_bags(
        digit, rule, n_bags=30, bag_size=sizes, ratio=ratio, random_state=seed
    )
    count, size = _counts(bags), bags.sizes
    is_positive = {
        "any": count >= 1,
        "majority": 2 * count > size,
        "ratio": (count >= ratio * size - 1e-9) & (count >= 1),
    }[rule]
    np.testing.assert_array_equal(y, is_positive)
    assert y.sum() == 15
    assert sizes[0] <= size.min() <= size.max() <= sizes[1]


def test_digit_instances_are_the_images_they_name():
    bags, _ = load_digits_bags(digit=3, n_bags=40)
    data = load_digits()
    np.testing.assert_array_equal(bags.X * 16, data.data[bags.instance_ids])
    np.testing.assert_array_equal(bags.instance_labels, data.target[bags.instance_ids] == 3)


@SETTINGS
@given(one=SEEDS, other=SEEDS)
def test_train_and_test_digits_are_disjoint(one, other):
    train, _ = load_digits_bags(subset="train", random_state=one)
    test, _ = load_digits_bags(subset="test", random_state=other)
    assert not np.intersect1d(train.instance_ids, test.instance_ids).size


def test_digit_witness_rate_and_size_distribution():
    bags, y = load_digits_bags(
        n_bags=2000, witness_rate=0.4, bag_size=lambda rng, n: 1 + rng.poisson(19, n)
    )
    assert bags.sizes.mean() == pytest.approx(20, rel=0.03)
    rate = (_counts(bags) / bags.sizes)[y == 1].mean()
    assert rate == pytest.approx(0.4, rel=0.05)
