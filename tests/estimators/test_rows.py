"""What all models of weighted rows share: one design, one problem per class, one report."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import bagwise.estimators.rows as rows_module
from bagwise import (
    MICA,
    ODM,
    AnnealedLabelSVC,
    AnnealedWitnessSVC,
    InstanceSVC,
    KernelOptions,
    KeyInstanceSVC,
    LabelSVC,
    MissSVM,
    OptimalMarginSVC,
    SparseMIL,
    WitnessSVC,
)
from bagwise.estimators import task
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.rows import RowsClassifier
from bagwise.solvers import solve
from bagwise.testing._problems import planted_bags

# A design that is shared -------------------------------------------------------------------------

ROW_MODELS = [
    InstanceSVC(loss="hinge", C=2.0),
    LabelSVC(C=2.0),
    WitnessSVC(kernel="linear", class_weight="balanced"),
    AnnealedLabelSVC(C=2.0, kernel="poly", degree=2, kernel_options=KernelOptions(coef0=1.0)),
    AnnealedWitnessSVC(n_witnesses=2),
    MICA(kernel="linear"),
    OptimalMarginSVC(threshold=0.0),
    KeyInstanceSVC(negatives="bags", kernel="linear", threshold=0.0),
    MissSVM(unlabeled_weight=0.5),
    SparseMIL(variant="transductive"),
    ODM(C=5.0),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", ROW_MODELS, ids=lambda model: type(model).__name__)
def test_a_design_may_serve_twice(model, n_classes):
    bags, y = planted_bags(n_classes, n_bags=18)
    weight = np.where(np.arange(18) % 4 == 0, 2.0, 1.0)
    whole = clone(model).fit(bags, y, sample_weight=weight)
    by_hand = clone(model)
    checked, codes, of_bags, weighted = by_hand._check_training(bags, y, weight)
    row_weight = by_hand._loss_weight() * np.repeat(weighted, bags.sizes)
    design = by_hand._design(checked, row_weight)
    for _ in range(2):  # the design stays as it is
        by_hand._fit_on_design(design, checked, codes, weighted)
        by_hand._settle_threshold(checked, codes, of_bags, weighted)
        np.testing.assert_array_equal(
            by_hand.decision_function(bags), whole.decision_function(bags)
        )
        for name in ("objective_", "gap_", "intercept_", "instance_weights_"):
            np.testing.assert_array_equal(getattr(by_hand, name), getattr(whole, name))
        assert by_hand.n_iter_ == whole.n_iter_


# Fitted attributes -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "poly", "precomputed"])
def test_support_vectors_carry_all_of_the_score(kernel, monkeypatch):
    bags, y = planted_bags()
    if kernel == "precomputed":
        products = np.exp(-0.3 * ((bags.X[:, None] - bags.X) ** 2).sum(axis=2))
        bags = bags.replace(X=products, instance_ids=np.arange(bags.n_instances))
    model = WitnessSVC(
        kernel=kernel, gamma=0.3, C=10.0, kernel_options=KernelOptions(coef0=1.0)
    ).fit(bags, y)
    assert 0 < len(model.support_) < bags.n_instances
    assert np.all(np.any(model.dual_coef_ != 0, axis=0))
    if kernel == "precomputed":
        rows = bags.X[:, model.support_]
    else:
        rows = model.kernel_(bags.X, bags.X[model.support_])
    expected = rows @ model.dual_coef_[0] + model.intercept_[0]
    scores = model.instance_decision_function(bags)
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-12)
    monkeypatch.setattr(task, "BLOCK_VALUES", 1)  # one row at a time
    np.testing.assert_allclose(model.instance_decision_function(bags), scores, rtol=1e-9)


def test_a_solver_that_gave_up_is_named_with_its_gap(monkeypatch):
    def early(problem, start=None):
        return replace(solve(problem, start), converged=False, gap=0.125)

    monkeypatch.setattr(rows_module, "solve", early)
    with pytest.warns(ConvergenceWarning, match=r"stopped by the solver .*duality gap 0\.12"):
        model = InstanceSVC().fit(*planted_bags())
    assert model.gap_[0] == 0.125


@pytest.mark.parametrize("many_rows", [3000, 30], ids=["factored", "iterative"])
@pytest.mark.parametrize("options", [{}, {"class_weight": "balanced"}, {"kernel": "poly"}])
def test_a_calibration_computes_one_kernel_matrix(options, many_rows, monkeypatch):
    monkeypatch.setattr("bagwise.designs.gram.MANY_ROWS", many_rows)
    monkeypatch.setattr("bagwise.designs.iterative._FACTORED", 20)
    bags, y = planted_bags(n_bags=40)
    weight = np.where(np.arange(40) % 7 == 0, 0.0, 1.0 + np.arange(40) % 2)
    made, gram_matrix = [], rows_module.gram_matrix
    counted = lambda *args, **named: made.append(1) or gram_matrix(*args, **named)  # noqa: E731
    monkeypatch.setattr(rows_module, "gram_matrix", counted)
    options = {"gamma": 0.2, "calibration_cv": 3, **options}
    shared = LabelSVC(threshold="calibrated", **options).fit(bags, y, weight)
    assert len(made) == 1
    monkeypatch.setattr(RowsClassifier, "_out_of_fold", BagClassifier._out_of_fold)
    separate = LabelSVC(threshold="calibrated", **options).fit(bags, y, weight)
    assert len(made) == 5
    rtol = 1e-6 if many_rows == 3000 else 2e-3  # iterative steps end at a gap of 1e-7
    np.testing.assert_allclose(shared.threshold_, separate.threshold_, rtol=rtol)
