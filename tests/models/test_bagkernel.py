"""BagKernelSVC: its problem and its instance scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC

from bagwise import BagKernelSVC, Bags, MeanSVC
from bagwise.bags.segments import segment_sum
from bagwise.datasets import load_digits_bags

ADDITIVE = ["mean", "sum", "migraph"]


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(digit=3, n_bags=60, random_state=1)


def mean_kernel(A: Bags, B: Bags, gamma: float) -> np.ndarray:
    def value(a, b):
        return np.exp(-gamma * ((a[:, None] - b) ** 2).sum(axis=2)).mean()

    return np.array([[value(a, b) for b in B] for a in A])


def test_hinge_equals_libsvm_on_the_naive_mean_kernel(digits):
    bags, y = digits
    train, test = bags[:40], bags[40:]
    model = BagKernelSVC(bag_kernel="mean", gamma=0.1, loss="hinge").fit(train, y[:40])
    svc = SVC(kernel="precomputed").fit(mean_kernel(train, train, 0.1), y[:40])
    expected = svc.decision_function(mean_kernel(test, train, 0.1))
    np.testing.assert_allclose(model.decision_function(test), expected, atol=2e-3)


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kernel", ADDITIVE)
@pytest.mark.parametrize("instance_kernel", ["rbf", "linear"])
def test_bag_scores_are_weighted_sums_of_instance_scores(
    kernel, normalize, instance_kernel, digits
):
    bags, y = digits
    model = BagKernelSVC(bag_kernel=kernel, normalize=normalize, kernel=instance_kernel)
    model.fit(bags[:40], y[:40])
    test = bags[40:]
    parts = model.instance_decision_function(test) - model.intercept_
    expected = segment_sum(model._shares(test) * parts, test.offsets) + model.intercept_
    np.testing.assert_allclose(model.decision_function(test), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("loss", "atol"), [("squared_hinge", 1e-8), ("hinge", 1e-3)])
def test_the_linear_mean_kernel_is_mean_svc(loss, atol, digits, monkeypatch):
    bags, y = digits
    monkeypatch.setattr("bagwise.models.bagkernel.Gram", None)  # no matrix between bags is formed
    labels = y + (np.arange(len(y)) % 3 == 0)  # three classes
    for X in (bags.X, sp.csr_array(bags.X), bags.X + 1e4):  # an offset costs six of the digits
        given, atol = bags.replace(X=X), max(atol, 1e-5 * (X.min() > 0))
        kernel = BagKernelSVC(kernel="linear", loss=loss).fit(given, labels)
        mean = MeanSVC(kernel="linear", loss=loss).fit(given, labels)
        np.testing.assert_allclose(kernel.objective_, mean.objective_, rtol=1e-9)
        expected = mean.decision_function(given)
        np.testing.assert_allclose(kernel.decision_function(given), expected, atol=atol)
        expected = mean.instance_decision_function(given)
        np.testing.assert_allclose(kernel.instance_decision_function(given), expected, atol=atol)


@pytest.mark.parametrize("kernel", ["statistics", "distribution"])
def test_kernels_of_whole_bags_point_at_instances_without_labeling_them(kernel, digits):
    model = BagKernelSVC(bag_kernel=kernel).fit(*digits)
    assert model.key_instances(digits[0]).shape == (len(digits[0]),)
    with pytest.raises(AttributeError) as caught:
        model.predict_instances(digits[0])
    assert "scores whole bags: its instances have no labels" in str(caught.value.__cause__)


def test_normalized_kernel_has_a_unit_diagonal(digits):
    bags = digits[0]
    model = BagKernelSVC(bag_kernel="sum", normalize=True).fit(*digits)
    shares = model._shares(bags)
    np.testing.assert_allclose(np.diag(model._between(bags, shares, bags, shares)), 1.0)


def test_pairwise_kernels_refuse_normalize(digits):
    with pytest.raises(ValueError, match="normalize=True is for sums"):
        BagKernelSVC(bag_kernel="distribution", normalize=True).fit(*digits)


def test_training_bags_score_as_in_the_problem_solved(digits):
    bags, y = digits
    model = BagKernelSVC(bag_kernel="migraph", C=3.0).fit(bags, y)
    scores = model.decision_function(bags)
    # Squared hinge: the dual is twice the weighted margin violation; these are sums of it.
    slack = np.maximum(0, 1 - np.where(y == 1, 1, -1) * scores)
    beta = 2 * 3.0 * np.where(y == 1, 1, -1) * slack
    np.testing.assert_allclose(beta.sum(), 0, atol=1e-8)
    assert model.objective_[0] == pytest.approx(
        0.5 * beta @ (scores - model.intercept_) + 3 * slack @ slack
    )
