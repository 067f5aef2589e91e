"""Kernels of bags without each instance, updated, against ones computed anew."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import BagKernelSVC, Bags
from bagwise.kernels.bag import affinity_weights
from bagwise.kernels.without import affinity_weights_without_each, equal_weights_without_each


def some_bags(seed=0):
    rng = np.random.default_rng(seed)
    offsets = np.cumsum([0, *rng.integers(1, 6, 12)])
    X = rng.normal(size=(offsets[-1], 3))
    X[::3] = X[::3].round()  # ties
    return Bags(X, offsets)


@pytest.mark.parametrize("threshold", ["mean", 0.0, 1.5, 100.0])
def test_weights_of_migraph(threshold):
    for bag in some_bags():
        bag = np.concatenate([bag, bag[:1], [[1.0, 2.0, 3.0]]])  # a copy, and three or more
        found = affinity_weights_without_each(bag, threshold)
        for i, weights in enumerate(found):
            left = Bags.from_list([np.delete(bag, i, axis=0)])
            expected = affinity_weights(left, threshold)
            np.testing.assert_allclose(np.delete(weights, i), expected, atol=1e-14)
            assert weights[i] == 0


def test_copies_of_one_instance_are_all_neighbors():
    bag = np.array([[0.1, 0.2]] * 3 + [[5.0, 0.3]])
    np.testing.assert_allclose(affinity_weights_without_each(bag, "mean")[3], [1 / 3] * 3 + [0])


def test_equal_weights():
    np.testing.assert_array_equal(
        equal_weights_without_each(3), [[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]]
    )


def test_half_precision():
    bags, y = Bags.from_list(np.random.default_rng(0).normal(size=(8, 3, 2))), [0, 1] * 4
    half = bags.replace(X=bags.X.astype(np.float16))
    models = [BagKernelSVC(bag_kernel="statistics").fit(each, y) for each in (bags, half)]
    expected, found = (model.instance_decision_function(half) for model in models)
    np.testing.assert_allclose(found, expected, atol=0.05)  # half precision has three digits
