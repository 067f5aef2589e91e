"""ALP-SVM over its grid: shared work gives what separate fits give."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

from bagwise import AnnealedProportionSVC, AnnealedProportionSVCCV, Annealing
from bagwise.crossfit import folds
from bagwise.datasets import make_gaussian_bags

GRID = {"Cs": [0.5, 5.0], "C_proportions": [0.1, 1.0], "positive_fractions": [0.1, 0.2]}
POINTS = list(product(*GRID.values()))


@pytest.fixture(scope="module")
def data():
    return make_gaussian_bags(n_bags=36, n_features=5, shift=8.0, random_state=0)


@pytest.fixture(scope="module")
def searched(data):
    return AnnealedProportionSVCCV(**GRID, cv=4, gamma=0.05).fit(*data)


def of_point(model, record):
    return record["C"], record["C_proportion"], record["positive_fraction"]


def test_bad_grid_points_are_named(data):
    with pytest.raises(InvalidParameterError, match="'C' parameter"):
        AnnealedProportionSVCCV(Cs=[-1.0]).fit(*data)
    with pytest.raises(InvalidParameterError, match="'positive_fraction' parameter"):
        AnnealedProportionSVCCV(positive_fractions=[1.5]).fit(*data)
    with pytest.raises(ValueError, match="at least one value each"):
        AnnealedProportionSVCCV(Cs=[]).fit(*data)


# The search --------------------------------------------------------------------------------------


class EarlyEnd(AnnealedProportionSVC):
    """Ends where a run of the search does."""

    def _schedule(self):
        return replace(super()._schedule(), entropy=1e-2)


def plain_search(bags, y, C, C_proportion, positive_fraction, cv=4, weight=None, **options):
    """Accuracy and p-hat of separate fits in double precision, as quick as the search's."""
    options = {"annealing": Annealing(newton_steps=1, tol=0.1), **options}
    weight, hits, p_hats = np.ones(len(y)) if weight is None else weight, 0, []
    for train, test in folds(bags, y, cv, 0):
        model = EarlyEnd(
            positive_fraction=positive_fraction, C=C, C_proportion=C_proportion, **options
        ).fit(bags[train], y[train], sample_weight=weight[train])
        hits += weight[test] @ (model.predict(bags[test]) == y[test])
        p_hats.append(model.history_[-1]["p_hat"])
    return hits / weight.sum(), np.mean(p_hats)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_accuracies_are_those_of_separate_fits(data, searched, kernel):
    model = searched
    if kernel == "linear":
        model = AnnealedProportionSVCCV(**GRID, cv=4, kernel="linear").fit(*data)
    options = {"gamma": 0.05} if kernel == "rbf" else {"kernel": "linear"}
    assert [of_point(model, record) for record in model.cv_results_] == POINTS
    for record in model.cv_results_:
        accuracy, p_hat = plain_search(*data, *of_point(model, record), **options)
        # Single precision and another first point may decide a bag otherwise.
        assert record["accuracy"] == pytest.approx(accuracy, abs=1.01 / 36)
        assert record["p_hat"] == pytest.approx(p_hat, abs=0.01)


def test_the_best_point_is_fitted_in_full(data, searched):
    bags, y = data
    best = max(record["accuracy"] for record in searched.cv_results_)
    first = next(r for r in searched.cv_results_ if r["accuracy"] == best)
    assert (searched.C_, searched.C_proportion_, searched.positive_fraction_) == of_point(
        searched, first
    )
    single = AnnealedProportionSVC(
        positive_fraction=searched.positive_fraction_,
        C=searched.C_,
        C_proportion=searched.C_proportion_,
        gamma=0.05,
    ).fit(bags, y)
    np.testing.assert_allclose(searched.objective_, single.objective_, rtol=1e-9)
    np.testing.assert_allclose(
        searched.decision_function(bags), single.decision_function(bags), atol=1e-7
    )
    assert searched.gap_[0] <= 1e-9 * searched.objective_[0]
    assert searched.history_[-1]["p_hat"] == pytest.approx(single.history_[-1]["p_hat"])
    assert best >= 0.8


def test_groups_stay_together_and_weights_count_in_the_accuracy(data):
    bags, y = data
    bags = bags.replace(groups=np.arange(len(y)) // 2)
    weight = np.where(y == 1, 3.0, 1.0)
    options = {"Cs": [0.05], "C_proportions": [1.0], "positive_fractions": [0.9], "gamma": 0.05}
    model = AnnealedProportionSVCCV(**options, cv=3).fit(bags, y, sample_weight=weight)
    expected, _ = plain_search(bags, y, 0.05, 1.0, 0.9, cv=3, weight=weight, gamma=0.05)
    accuracy = model.cv_results_[0]["accuracy"]
    assert accuracy == pytest.approx(expected, abs=3.01 / weight.sum())
    assert 0.1 < accuracy < 0.95  # weights matter where bags are wrong


def test_folds_may_come_in_any_order_and_from_two_workers(data, searched):
    bags, y = data
    rng = np.random.default_rng(0)
    shuffled = [(rng.permutation(a), rng.permutation(b)) for a, b in folds(bags, y, 4, 0)]
    other = clone(searched).set_params(cv=shuffled, n_jobs=2).fit(bags, y)
    assert other.cv_results_ == searched.cv_results_
    np.testing.assert_array_equal(other.dual_coef_, searched.dual_coef_)
