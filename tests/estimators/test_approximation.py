"""Approximated kernels in every kernel estimator: limits, certificates, data, files."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.svm import SVC

import bagwise
from bag_helpers import grouped
from bagwise import (
    DDSVM,
    MICA,
    ODM,
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    BagKernelSVC,
    ContentLinkSVC,
    GraphSVC,
    InstanceSVC,
    KernelOptions,
    KeyInstanceSVC,
    LabelProportionSVC,
    LabelSVC,
    MeanSVC,
    MissSVM,
    OptimalMarginSVC,
    SemiProximalSVC,
    SparseMIL,
    WitnessSVC,
)
from bagwise.estimators import rows as approximation
from bagwise.kernels import Kernel
from bagwise.testing._problems import planted_bags

EVERY = {
    "SIL": InstanceSVC(C=2.0),
    "SIL, hinge": InstanceSVC(C=2.0, loss="hinge"),
    "mi-SVM": LabelSVC(C=2.0),
    "MI-SVM": WitnessSVC(gamma="scale"),
    "AL": AnnealedLabelSVC(kernel="poly", degree=2, kernel_options=KernelOptions(coef0=1.0)),
    "AW": AnnealedWitnessSVC(),
    "ALP": AnnealedProportionSVC(),
    "MICA": MICA(),
    "MICA, l1": MICA(penalty="l1"),
    "MI-ODM": OptimalMarginSVC(threshold=0.0, relax=False),
    "KI": KeyInstanceSVC(threshold=0.0, relax=False, negatives="bags"),
    "ODM": ODM(),
    "MissSVM": MissSVM(),
    "sMIL": SparseMIL(),
    "stMIL": SparseMIL(variant="transductive"),
    "mi-SPSVM": SemiProximalSVC(kernel="rbf"),
    "MILSD": GraphSVC(kernel="rbf"),
    "mean": MeanSVC(),
    "DD-SVM": DDSVM(),
    "LC-MF": ContentLinkSVC(),
}
PLAIN = grouped(WitnessSVC, approx="nystroem", n_components=12, gamma=0.5)


@pytest.fixture(scope="module")
def data():
    return planted_bags(n_bags=40)


def approximated(model, n_components=15, **changes):
    chosen = {"kernel_options__approx": "nystroem", "kernel_options__n_components": n_components}
    return clone(model).set_params(**chosen, **changes)


def test_the_list_has_every_kernel_estimator():
    listed = {type(model) for model in EVERY.values()}
    public = {getattr(bagwise, name) for name in bagwise.__all__}
    kinds = {k for k in public if "kernel_options" in getattr(k, "_groups", ())}
    # The first has a test of its own, the second refuses it.
    assert kinds - {LabelProportionSVC, BagKernelSVC} == listed


# Limits and certificates --------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_all_rows_as_landmarks_are_the_exact_fit(name, data):
    bags, _ = data
    exact = clone(EVERY[name]).fit(*data)
    assert not hasattr(exact, "kernel_error_")
    model = approximated(EVERY[name], 1000).fit(*data)
    np.testing.assert_allclose(model.objective_, exact.objective_, rtol=1e-5)
    scores = exact.decision_function(bags)
    np.testing.assert_allclose(model.decision_function(bags), scores, atol=2e-4)
    assert model.kernel_error_ < 1e-9


@pytest.mark.parametrize("name", EVERY)
def test_few_landmarks_are_certified_and_kept_as_support(name, data):
    bags, _ = data
    model = approximated(EVERY[name]).fit(*data)
    tolerance = 2e-2 if "MILSD" in name else 1e-5
    assert np.all(model.gap_ <= tolerance * model.objective_)
    assert len(model.support_) <= 15
    assert 0 <= model.kernel_error_ < 0.5
    assert np.all(np.isfinite(model.decision_function(bags)))


def explicit_features(model, X):
    """Return the features of the approximated kernel, from the model's landmarks alone."""
    Z = model.support_vectors_
    values, vectors = np.linalg.eigh(model.kernel_(Z, Z))
    kept = values > 1e-12 * values[-1]
    return model.kernel_(X, Z) @ vectors[:, kept] / np.sqrt(values[kept])


def test_the_objective_is_that_of_an_svm_on_the_explicit_features(data):
    bags, y = data
    model = grouped(InstanceSVC, C=2.0, loss="hinge", approx="nystroem", n_components=12).fit(
        bags, y
    )
    features, labels = explicit_features(model, bags.X), np.repeat(y, bags.sizes)
    svm = SVC(kernel="linear", C=2.0, tol=1e-8).fit(features, labels)
    w = svm.coef_[0]
    margins = np.where(labels == 1, 1, -1) * svm.decision_function(features)
    objective = 0.5 * w @ w + 2.0 * np.maximum(0, 1 - margins).sum()
    assert model.objective_[0] == pytest.approx(objective, rel=1e-5)
    assert model.gap_[0] <= 1e-6 * objective
    np.testing.assert_allclose(
        model.instance_decision_function(bags), svm.decision_function(features), atol=1e-3
    )


def test_the_error_is_the_trace_that_is_left_out(data):
    bags, y = data
    model = clone(PLAIN).fit(bags, y)
    kept = np.square(explicit_features(model, bags.X)).sum()
    assert model.kernel_error_ == pytest.approx(1 - kept / bags.n_instances, rel=1e-6)
    assert model.kernel_error_ > 1e-3


# Data ---------------------------------------------------------------------------------------------


def test_a_bag_without_weight_is_no_landmark(data):
    bags, y = data
    weight = np.where(np.arange(len(bags)) % 3, 1.0, 0.0)
    weighted = clone(PLAIN).fit(bags, y, weight)
    without = clone(PLAIN).fit(bags[weight > 0], y[weight > 0])
    np.testing.assert_allclose(
        weighted.decision_function(bags), without.decision_function(bags), atol=1e-8
    )
    assert weighted.kernel_error_ == pytest.approx(without.kernel_error_, rel=1e-9)


@pytest.mark.parametrize("kind", ["float32", "float16", "sparse", "sparse32"])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_other_kinds_of_instances(kind, kernel, data):
    bags, y = data
    X = bags.X.astype(np.float16)
    kinds = {"sparse": sp.csr_array(X.astype(float)), "float32": X.astype(np.float32)}
    kinds |= {"float16": X, "sparse32": sp.csr_array(X.astype(np.float32))}
    model = clone(PLAIN).set_params(kernel=kernel, kernel_options__coef0=1.0)
    wide, given = bags.replace(X=X.astype(float)), bags.replace(X=kinds[kind])
    expected = clone(model).fit(wide, y).decision_function(wide)
    scores = clone(model).fit(given, y).decision_function(given)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


@pytest.fixture
def seen(monkeypatch):
    """Return the list to which every approximation adds its number of rows."""
    numbers, original = [], approximation.nystroem_design

    def spy(pairs, weights, *sizes, **options):
        numbers.append(pairs.n_rows)
        return original(pairs, weights, *sizes, **options)

    monkeypatch.setattr(approximation, "nystroem_design", spy)
    return numbers


def test_landmarks_of_the_folds_of_a_calibration_are_training_rows(data, seen):
    bags, y = data
    model = clone(PLAIN).set_params(probability="sigmoid", calibration_cv=4).fit(bags, y)
    assert seen[0] == bags.n_instances
    assert len(seen) == 5
    assert sum(seen[1:]) == 3 * bags.n_instances
    assert np.all(np.abs(model.predict_proba(bags).sum(axis=1) - 1) < 1e-12)


@pytest.mark.torch
@pytest.mark.parametrize("model", [PLAIN, grouped(LabelSVC, approx="nystroem", n_components=9)])
def test_rows_of_a_device_give_the_same_bits(model, data):
    bags, y = data
    placed = bags.to("cpu")
    expected = clone(model).fit(bags, y).decision_function(bags)
    np.testing.assert_array_equal(clone(model).fit(placed, y).decision_function(placed), expected)


def test_pools_of_assignments_need_no_matrix_between_instances(data, monkeypatch):
    monkeypatch.setattr("bagwise.kernels.instance.memory_limit", lambda: 30_000.0)
    model = OptimalMarginSVC(threshold=0.0)
    with pytest.raises(MemoryError, match="Gram matrix of 103 x 103"):
        clone(model).fit(*data)
    fitted = approximated(model).fit(*data)
    assert fitted.gap_[0] <= 1e-5 * fitted.objective_[0]


@pytest.mark.parametrize(
    ("kernel", "model", "said"),
    [
        ("linear", WitnessSVC(), "linear"),
        ("precomputed", WitnessSVC(), "precomputed"),
        ("linear", DDSVM(), "linear"),
        ("rbf", BagKernelSVC(), "kernels of instances; leave it out"),
    ],
)
def test_kernels_without_features_are_refused(kernel, model, said, data):
    with pytest.raises(ValueError, match=rf"kernel_options__approx='nystroem' is for .*{said}"):
        approximated(model, kernel=kernel).fit(*data)


def test_a_callable_kernel_and_slopes_are_those_of_the_named_one(data):
    bags, y = data
    called = clone(PLAIN).set_params(kernel=Kernel("rbf", 0.5)).fit(bags, y)
    expected = clone(PLAIN).fit(bags, y)
    scores = expected.decision_function(bags)
    np.testing.assert_allclose(called.decision_function(bags), scores, atol=1e-8)
    assert called.kernel_error_ == pytest.approx(expected.kernel_error_, rel=1e-6)
    whole, exact = approximated(PLAIN, 999), clone(PLAIN).set_params(kernel_options__approx=None)
    slopes = [model.fit(bags, y)._slopes(bags.X, 0) for model in (whole, exact)]
    np.testing.assert_allclose(*slopes, atol=1e-6)
    assert len(expected.explain(bags)) == bags.n_instances
