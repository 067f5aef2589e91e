"""MeanSVC: the SVM on the bags' means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from bagwise import Bags, MeanSVC
from bagwise.datasets import load_digits_bags


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(digit=3, rule="majority", n_bags=60, random_state=1)


def test_hinge_equals_libsvm_on_means(digits):
    bags, y = digits
    means = np.array([bag.mean(axis=0) for bag in bags])
    model = MeanSVC(gamma=0.1, loss="hinge").fit(bags[:40], y[:40])
    svc = SVC(gamma=0.1).fit(means[:40], y[:40])
    np.testing.assert_allclose(
        model.decision_function(bags[40:]), svc.decision_function(means[40:]), atol=2e-3
    )
    assert model.gap_[0] <= 1e-3 * model.objective_[0]


def test_with_a_linear_kernel_an_instance_is_a_bag_of_one(digits):
    bags, y = digits
    model = MeanSVC(kernel="linear").fit(bags, y)
    alone = Bags(bags.X, np.arange(bags.n_instances + 1))
    np.testing.assert_array_equal(
        model.instance_decision_function(bags), model.decision_function(alone)
    )


def test_half_precision_means_do_not_overflow():
    X = np.full((4000, 1), 60.0, dtype=np.float16)
    X[2000:] = 10.0
    bags = Bags(X, [0, 1000, 2000, 3000, 4000])
    model = MeanSVC(kernel="linear", C=100).fit(bags, [1, 1, 0, 0])
    np.testing.assert_array_equal(model.predict(bags), [1, 1, 0, 0])
