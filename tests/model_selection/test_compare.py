"""Nested cross-validation of several models: who is compared, and how the ranking is made."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bagwise import InstanceSVC, WitnessSVC
from bagwise.bags import Bags
from bagwise.catalog import METHODS
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import (
    Compared,
    candidates,
    compare_models,
    grid_points,
    search,
    standardizer,
)


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)


def test_candidates_are_all_methods_but_for_reasons(problem):
    bags, _ = problem
    models, left_out = candidates(bags)
    assert models.keys() | left_out.keys() == {method.name for method in METHODS}
    assert left_out["SVM-AtLeastOne"] == "is SIL"
    assert len({repr(model) for model in models.values()}) == len(models)


def test_large_data_gets_linear_kernels():
    bags = Bags(np.zeros((6000, 1)), np.arange(0, 6001, 10))
    models, left_out = candidates(bags)
    assert models["MI-SVM"].kernel == "linear"
    assert "all pairs of the 6000 instances" in left_out["MI-Kernel"]
    assert repr(models["SIL"]) == "InstanceSVC(kernel='linear')"


def test_test_bags_take_no_part_in_the_choice():
    """Bags without any signal: honest accuracy is chance, the best of the grid's is not."""
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(240, 3)), np.arange(0, 241, 3))
    y = rng.permutation(np.arange(80) % 2)
    (ranking,) = compare_models({"SIL": InstanceSVC()}, bags, y, cv=4)
    assert abs(ranking.mean("accuracy") - 0.5) < 0.15
    points = grid_points(InstanceSVC())
    choices = search(InstanceSVC(), points, bags, y, calibrate=True)
    assert max(choice.value for choice in choices) > 0.5


def test_a_model_that_refuses_is_ranked_last_with_its_reason(problem):
    bags, y = problem
    models = {"bad": WitnessSVC(gamma=-1.0), "good": WitnessSVC(kernel="linear")}
    first, last = compare_models(models, bags, y, cv=3)
    assert (first.name, first.failure) == ("good", "")
    assert "gamma" in last.failure
    assert last.folds == []


def test_a_result_sums_up_its_folds():
    folds = [{"accuracy": 0.5, "auc": np.nan}, {"accuracy": 1.0, "auc": 0.7}]
    result = Compared(folds, [], points=[{"C": 1}, {"C": 2}, {"C": 2}])
    assert result.mean("accuracy") == 0.75
    assert result.error("accuracy") == pytest.approx(0.25)
    assert result.mean("auc") == 0.7
    assert result.usual_point() == {"C": 2}
    assert np.isnan(Compared([], []).mean("auc"))


def test_what_a_comparison_cannot_provide_leaves_a_method_out(problem):
    bags, _ = problem
    _, left_out = candidates(bags)
    assert left_out["MILSD"] == "needs a graph between the bags"


@pytest.mark.parametrize("scale", [False, True])
def test_a_comparison_is_nested_cross_validation(problem, scale):
    """Redo two outer folds by hand: choose inside, calibrate inside, judge outside."""
    bags, y = problem
    (result,) = compare_models({"SIL": InstanceSVC()}, bags, y, cv=2, metric="auc", scale=scale)
    folds = StratifiedKFold(2, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    for (train, test), found, point in zip(folds, result.folds, result.points, strict=True):
        scaler = standardizer(bags).fit(bags[train])
        part, held_out = (scaler.transform(bags[i]) if scale else bags[i] for i in (train, test))
        choices = search(
            InstanceSVC(), grid_points(InstanceSVC()), part, y[train], metric="auc", calibrate=True
        )
        best = max(choices, key=lambda choice: choice.value)
        scores = InstanceSVC(**best.point).fit(part, y[train]).decision_function(held_out)
        assert point == best.point
        assert found["auc"] == roc_auc_score(y[test], scores)
        assert found["accuracy"] == np.mean((scores > best.threshold) == y[test])


def test_every_model_sees_the_same_folds_and_is_announced(problem):
    bags, y = problem
    models = {"a": InstanceSVC(kernel="linear"), "b": InstanceSVC(kernel="linear")}
    announced = []
    first, second = compare_models(models, bags, y, cv=3, n_jobs=2, callback=announced.append)
    assert first.folds == second.folds
    assert announced == ["a"] * 3 + ["b"] * 3
    assert first.seconds > 0


def test_bad_comparisons_are_refused_before_anything_is_fitted(problem):
    bags, y = problem
    models = {"SIL": None}
    with pytest.raises(ValueError, match="no metric 'f1'; there are accuracy"):
        compare_models(models, bags, y, metric="f1")
    few = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4]]))
    with pytest.raises(ValueError, match=r"Class 1 has 4 bags, fewer than the 5 folds of cv"):
        compare_models(models, bags[few], y[few])
    with pytest.raises(ValueError, match=r"the 3 folds of inner_cv within the 3 folds of cv"):
        compare_models(models, bags[few], y[few], cv=3)
