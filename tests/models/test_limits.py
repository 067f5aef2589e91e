"""Limits in which the estimators are models of scikit-learn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC, LinearSVC

from bagwise import (
    EMDD,
    MILES,
    BagKernelSVC,
    Bags,
    CitationKNN,
    DiverseDensity,
    InstanceSVC,
    KernelOptions,
    LabelSVC,
    MILBoost,
    MissSVM,
    SparseMIL,
    WitnessSVC,
)
from bagwise.datasets import load_digits_bags

MODELS = [InstanceSVC, LabelSVC, WitnessSVC]
every_model = pytest.mark.parametrize("model", MODELS)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    return X, (X[:, 0] + 0.6 * rng.normal(size=120) > 0.2).astype(int)


@pytest.fixture(scope="module")
def fresh():
    return np.random.default_rng(1).normal(size=(50, 5))


def singletons(X):
    return Bags(X, np.arange(len(X) + 1))


@every_model
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_bags_of_one_with_the_hinge_are_an_svc(model, C, kernel, rows, fresh):
    X, y = rows
    svc = SVC(C=C, kernel=kernel, gamma=0.2, degree=2, coef0=1.0, tol=1e-8).fit(X, y)
    options = KernelOptions(coef0=1.0)
    ours = model(C=C, kernel=kernel, gamma=0.2, degree=2, kernel_options=options, loss="hinge")
    scores = ours.fit(singletons(X), y).decision_function(singletons(fresh))
    assert np.allclose(scores, svc.decision_function(fresh), atol=3e-3)


@every_model
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_bags_of_one_with_the_squared_hinge_are_a_linear_svc(model, C, rows, fresh):
    X, y = rows
    # The constant feature's weight is penalized; the larger the feature, the less.
    svc = LinearSVC(C=C, loss="squared_hinge", intercept_scaling=1e4, dual=False, tol=1e-12)
    svc.fit(X, y)
    ours = model(C=C, kernel="linear").fit(singletons(X), y)
    assert np.allclose(ours.coef_, svc.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(svc.intercept_, abs=1e-5)
    assert np.allclose(
        ours.decision_function(singletons(fresh)), svc.decision_function(fresh), atol=1e-4
    )


@every_model
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_a_linear_kernel_matrix_is_the_linear_svm(model, loss, rows):
    labels = np.arange(40) % 2
    X = rows[0] + 0.8 * np.repeat(labels, 3)[:, None]
    bags = Bags(X, np.arange(0, 121, 3))
    linear = model(kernel="linear", loss=loss).fit(bags, labels)
    called = model(kernel=lambda A, B: A @ B.T, loss=loss).fit(bags, labels)
    given = model(kernel="precomputed", loss=loss).fit(Bags(X @ X.T, bags.offsets), labels)
    tol = 1e-3 if loss == "hinge" else 1e-8
    for other in (called, given):
        assert other.objective_ == pytest.approx(linear.objective_, rel=tol)
        assert np.allclose(other.instance_weights_, linear.instance_weights_)


# Digits ------------------------------------------------------------------------------------------

# The models, the fraction of key instances that hold the digit, and the area under the curve.
DIGITS = {
    "diverse density": (DiverseDensity(), 0.9, 0.88),
    "most likely cause": (DiverseDensity(likelihood="most_likely_cause"), 0.9, 0.88),
    "EM-DD": (EMDD(), 0.9, 0.88),
    "citation kNN": (CitationKNN(metric="average"), 0.9, 0.88),
    "MILBoost": (MILBoost(n_estimators=60, max_depth=2), 0.85, 0.88),
    "MILES": (MILES(C=10), 0.9, 0.88),
    "MissSVM": (MissSVM(C=10), 0.9, 0.9),
    **{
        name: (SparseMIL(variant=name, C=10, positive_fraction=0.2), 0.9, 0.9)
        for name in ("sparse", "transductive", "balanced")
    },
    "mean kernel": (BagKernelSVC(bag_kernel="mean", C=10), 0.8, 0.88),
}


@pytest.mark.parametrize("name", DIGITS)
def test_key_instances_are_the_sought_digits_on_fresh_bags(name):
    bags, y = load_digits_bags(digit=0, n_bags=100, subset="train", random_state=0)
    test, labels = load_digits_bags(digit=0, n_bags=100, subset="test", random_state=1)
    model, found, area = DIGITS[name]
    model, positive = clone(model).fit(bags, y), test[labels == 1]
    hit = positive.instance_labels[positive.flat(model.key_instances(positive))]
    assert hit.mean() >= found
    # An area: margins below 0 let whole positive bags of sMIL score below 0.
    assert roc_auc_score(labels, model.decision_function(test)) >= area
