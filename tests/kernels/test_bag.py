"""Kernels and distances between bags against plain double loops, across block boundaries."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise import BagKernelSVC, Bags
from bagwise.kernels import Kernel, bag as bag_module
from bagwise.kernels.bag import (
    affinity_weights,
    bag_statistics,
    hausdorff,
    kernel_scores,
    nearest_squared,
    set_kernel,
    set_norms,
)

KERNELS = [Kernel("rbf", 0.3), Kernel("linear"), Kernel("poly", 0.5, 2, 1.0)]


def some_bags(seed: int, n_bags: int = 7, n_features: int = 3) -> Bags:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, n_bags)
    return Bags(rng.normal(size=(sizes.sum(), n_features)), np.concatenate([[0], np.cumsum(sizes)]))


@pytest.fixture(params=[2048, 1, 3, 5])
def side(request, monkeypatch):
    monkeypatch.setattr(bag_module, "_SIDE", request.param)
    return request.param


def pairs(A: Bags, B: Bags, value) -> np.ndarray:
    return np.array([[value(a, b) for b in B] for a in A])


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_set_kernel_equals_a_double_loop(kernel, side):
    A, B = some_bags(0), some_bags(1, 5)
    rng = np.random.default_rng(2)
    u, v = rng.random(A.n_instances), rng.random(B.n_instances)
    K = kernel(A.X, B.X) * u[:, None] * v
    expected = [
        [
            K[A.offsets[i] : A.offsets[i + 1], B.offsets[j] : B.offsets[j + 1]].sum()
            for j in range(5)
        ]
        for i in range(7)
    ]
    np.testing.assert_allclose(set_kernel(kernel, A, u, B, v), expected, rtol=1e-12, atol=1e-12)


def directed(a, b):
    return np.sqrt(((a[:, None] - b) ** 2).sum(axis=2)).min(axis=1)


NAIVE = {
    "minimal": lambda a, b: directed(a, b).min(),
    "maximal": lambda a, b: max(directed(a, b).max(), directed(b, a).max()),
    "average": lambda a, b: (directed(a, b).sum() + directed(b, a).sum()) / (len(a) + len(b)),
}


@pytest.mark.parametrize("kind", NAIVE)
def test_hausdorff_equals_a_double_loop(kind, side):
    A, B = some_bags(0), some_bags(1, 5)
    np.testing.assert_allclose(hausdorff(A, B, kind), pairs(A, B, NAIVE[kind]), rtol=1e-9)
    within = hausdorff(A, A, kind)
    np.testing.assert_array_equal(within, within.T)
    np.testing.assert_array_equal(np.diag(within), 0)


def test_copies_are_at_distance_zero_though_rounding_parts_them():
    X = np.random.default_rng(0).normal(size=(40, 7)) + 3
    bags = Bags(X, np.arange(41))
    twin = Bags(X[::-1].copy(), np.arange(41))
    distances = hausdorff(bags, twin)
    np.testing.assert_array_equal(distances[np.arange(40), 39 - np.arange(40)], 0)


def test_nearest_squared_equals_a_loop(side):
    bags, X = some_bags(0), some_bags(1).X
    expected = [[min(((x - b) ** 2).sum(axis=1)) for b in bags] for x in X]
    np.testing.assert_allclose(nearest_squared(X, bags), expected, rtol=1e-9, atol=1e-12)


@given(st.integers(0, 1000), st.sampled_from(KERNELS))
def test_set_kernels_are_positive_semi_definite(seed, kernel):
    bags = some_bags(seed)
    for weights in (np.ones(bags.n_instances), affinity_weights(bags)):
        K = set_kernel(kernel, bags, weights, bags, weights)
        np.testing.assert_allclose(K, K.T, rtol=1e-12)
        assert np.linalg.eigvalsh(K)[0] > -1e-10 * np.trace(K)
        norms = np.sqrt(np.diag(K))
        np.testing.assert_allclose(set_norms(kernel, bags, weights), norms, rtol=1e-7)


def test_affinity_weights_by_hand(side):
    bags = Bags.from_list([[[0.0], [0.1], [5.0]], [[2.0]]])
    # Mean distance 2 (0.1 + 5 + 4.9) / 9 = 2.2: the first two instances are neighbors.
    np.testing.assert_allclose(affinity_weights(bags), [0.25, 0.25, 0.5, 1.0])


def test_statistics_dense_and_sparse():
    bags = some_bags(3)
    expected = [np.concatenate([bag.min(axis=0), bag.max(axis=0)]) for bag in bags]
    np.testing.assert_array_equal(bag_statistics(bags), expected)
    sparse = bag_statistics(bags.replace(X=sp.csr_array(bags.X)))
    np.testing.assert_array_equal(sparse.toarray(), expected)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernel_scores_equal_the_product(kernel, side):
    X, Z = some_bags(0).X, some_bags(1).X
    coef = np.random.default_rng(0).normal(size=(len(Z), 2))
    expected = kernel(X, Z) @ coef
    np.testing.assert_allclose(kernel_scores(kernel, X, Z, coef), expected, rtol=1e-10, atol=1e-12)
    sparse = kernel_scores(kernel, sp.csr_array(X), sp.csr_array(Z), coef)
    np.testing.assert_allclose(sparse, expected, rtol=1e-10, atol=1e-12)


def test_blocks_bound_the_memory(monkeypatch):
    seen = []

    class Watching(Kernel):
        def __call__(self, A, B):
            seen.append(len(A) * len(B))
            return super().__call__(A, B)

    monkeypatch.setattr(bag_module, "_SIDE", 16)
    bags = Bags(np.random.default_rng(0).normal(size=(200, 2)), [0, 150, 200])
    ones = np.ones(200)
    set_kernel(Watching("rbf", 1.0), bags, ones, bags, ones)
    assert max(seen) == 16 * 16
    assert sum(seen) == 200 * 200


def test_half_precision():
    bags, y = Bags.from_list(np.random.default_rng(0).normal(size=(8, 3, 2))), [0, 1] * 4
    half = bags.replace(X=bags.X.astype(np.float16))
    models = [BagKernelSVC(bag_kernel="statistics").fit(each, y) for each in (bags, half)]
    expected, found = (model.instance_decision_function(half) for model in models)
    np.testing.assert_allclose(found, expected, atol=0.05)  # half precision has three digits


def test_no_bags_have_no_columns():
    bags = Bags.from_list([np.eye(2), np.ones((3, 2))])
    for found in (hausdorff(bags, bags[:0]), nearest_squared(bags.X, bags[:0])):
        assert found.shape[1] == 0
