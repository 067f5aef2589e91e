"""The exact kernel map: kernel values, new instances, networks on it, scikit-learn's contract."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

import bagwise
from bagwise import MarkovNetworkClassifier
from bagwise.datasets import make_gaussian_bags
from bagwise.kernels.features import KernelFeatures


@parametrize_with_checks([KernelFeatures(), KernelFeatures(kernel="linear")])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("sparse", [False, True])
def test_products_are_kernel_values(sparse):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(40, 5)), rng.normal(size=(7, 5))
    given = sp.csr_array(X) if sparse else X
    phi = KernelFeatures(gamma=0.3).fit(given)
    np.testing.assert_allclose(
        phi.transform(new) @ phi.transform(X).T, rbf_kernel(new, X, 0.3), atol=1e-8
    )
    poly = KernelFeatures(kernel="poly", gamma=0.5, degree=2, coef0=1.0).fit(X)
    assert poly.components_.shape[1] <= 21  # the monomials of degree two in five features
    np.testing.assert_allclose(
        poly.transform(new) @ poly.transform(X).T, polynomial_kernel(new, X, 2, 0.5, 1.0), atol=1e-8
    )


def test_a_network_on_a_linear_kernel_is_the_linear_network():
    bags, y = make_gaussian_bags(24, 4, random_state=0)
    options = {"alpha": 1.0, "unit_norm": False, "tol": 1e-4}
    plain = MarkovNetworkClassifier(**options).fit(bags, y)
    mapped = MarkovNetworkClassifier(feature_map=KernelFeatures(kernel="linear"), **options)
    mapped.fit(bags, y)
    assert mapped.objective_[0] == pytest.approx(plain.objective_[0], rel=1e-3)
    np.testing.assert_allclose(
        mapped.decision_function(bags), plain.decision_function(bags), atol=0.05
    )


def test_a_kernelized_network_does_what_no_linear_one_can(tmp_path):
    rng = np.random.default_rng(1)
    sizes, y = np.full(60, 4), np.arange(60) % 2
    X = rng.normal(size=(240, 2)) * 0.3
    rows = 4 * np.flatnonzero(y)
    angle = rng.uniform(0, 2 * np.pi, len(rows))
    X[rows] = 2 * np.column_stack([np.cos(angle), np.sin(angle)])  # a ring around the others
    bags = bagwise.Bags(X, np.concatenate([[0], np.cumsum(sizes)]))
    seen, new = np.arange(60) < 40, np.arange(60) >= 40
    linear = MarkovNetworkClassifier(fit_intercept=True).fit(bags[seen], y[seen])
    ring = MarkovNetworkClassifier(feature_map=KernelFeatures(), fit_intercept=True, alpha=0.1)
    ring.fit(bags[seen], y[seen])
    assert linear.score(bags[new], y[new]) < 0.8
    assert ring.score(bags[new], y[new]) == 1.0
    bagwise.save(ring, tmp_path / "ring.bagwise")
    again = bagwise.load(tmp_path / "ring.bagwise")
    np.testing.assert_array_equal(
        again.decision_function(bags[new]), ring.decision_function(bags[new])
    )


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="'gamma' parameter"):
        KernelFeatures(gamma=-1.0).fit(np.ones((3, 2)))
