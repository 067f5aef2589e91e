"""KI-SVM: its limits, and what stands for a negative bag."""

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from bag_helpers import grouped
from bagwise import Bags, KeyInstanceSVC


def planted(n_bags=16, seed=0, size=3):
    rng = np.random.RandomState(seed)
    X = rng.randn(n_bags * size, 3)
    y = np.arange(n_bags) % 2
    X[size * np.flatnonzero(y == 1) + 2] += 2.5
    return Bags(X, np.arange(0, len(X) + 1, size)), y


def quick(negatives="instances", **options):
    usual = {"C": 2.0, "threshold": 0.0, "tol": 1e-6}
    return grouped(KeyInstanceSVC, negatives=negatives, **{**usual, **options})


def test_bags_of_one_give_liblinear_with_a_penalized_bias():
    rng = np.random.RandomState(0)
    y = np.arange(40) % 2
    X = rng.randn(40, 4) + y[:, None]
    ours = quick(kernel="linear", C=6.0).fit(X, y)
    theirs = LinearSVC(C=3.0, loss="squared_hinge", tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


def test_bags_as_negatives_are_their_means():
    bags, y = planted()
    model = quick("bags", kernel="linear").fit(bags, y)
    rows = [bags[i] if label else bags[i].mean(axis=0, keepdims=True) for i, label in enumerate(y)]
    by_hand = quick("instances", kernel="linear").fit(rows, y)
    np.testing.assert_allclose(model.coef_, by_hand.coef_, atol=1e-5)
    assert model.objective_ == pytest.approx(by_hand.objective_, rel=1e-6)


@pytest.mark.parametrize("negatives", ["instances", "bags"])
def test_the_planted_instances_are_found(negatives):
    bags, y = planted(30, seed=1)
    model = quick(negatives).fit(bags, y)
    assert np.mean(model.key_instances(bags)[y == 1] == 2) >= 0.9
    assert model.gap_[0] <= 1e-6
    assert model.heuristic_gap_[0] <= 1e-5 * model.objective_[0]


def test_products_that_overflow_are_named():
    bags = [np.array([[1e300, i], [0.0, 1.0]]) for i in range(6)]
    with pytest.raises(FloatingPointError, match="overflow"):
        KeyInstanceSVC(kernel="linear", threshold=0.0).fit(bags, [0, 1] * 3)
