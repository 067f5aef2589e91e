"""Weights from out-of-fold scores: against brute force, and in the cases that go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from bagwise.model_selection.auto.blend import (
    _RIDGE,
    _select_greedily,
    _stack_weights,
    calibrate,
    ensemble_weights,
    log_loss,
    nearly_flat,
)


def problem(n_bags=60, noise=(0.5, 1.0, 3.0), columns=1, seed=0):
    """Return log-odds of candidates from good to poor, the truth, and weights of bags."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (n_bags, columns)).astype(bool)
    logs = [2.0 * truth - 1 + scale * rng.standard_normal((n_bags, columns)) for scale in noise]
    return np.stack(logs), truth, rng.uniform(0.5, 2.0, n_bags)


@pytest.mark.parametrize("columns", [1, 3])
def test_stacking_minimizes_its_objective(columns):
    logs, truth, weight = problem(columns=columns)
    found = _stack_weights(logs, truth, weight)

    def objective(point):
        w, c = point[:-1] ** 2, point[-1]
        ridge = _RIDGE * np.sum((w - 1 / len(logs)) ** 2)
        return log_loss(np.tensordot(w, logs, 1) + c, truth, weight) + ridge

    start = np.append(np.ones(len(logs)), 0.0)
    expected = minimize(objective, start, method="BFGS", tol=1e-8).x[:-1] ** 2
    np.testing.assert_allclose(found, expected / expected.sum(), atol=2e-3)


def test_greedy_selection_is_never_worse_than_the_best_candidate():
    logs, truth, weight = problem()
    chosen = np.tensordot(_select_greedily(logs, truth, weight), logs, 1)
    assert log_loss(chosen, truth, weight) <= min(log_loss(x, truth, weight) for x in logs)


def test_weights_are_a_distribution_that_prefers_the_better():
    weights = ensemble_weights(*problem(noise=(0.3, 3.0, 10.0), n_bags=400))
    assert weights.sum() == pytest.approx(1.0)
    assert np.all(weights >= 0)
    assert weights.argmax() == 0


def test_a_bag_of_weight_two_is_the_bag_twice():
    logs, truth, _ = problem()
    twice = np.ones(len(truth))
    twice[:10] = 2.0
    again = np.r_[np.arange(len(truth)), np.arange(10)]
    expected = _select_greedily(logs[:, again], truth[again], np.ones(len(again)))
    np.testing.assert_allclose(_select_greedily(logs, truth, twice), expected)


def test_scores_against_the_labels_are_refused_and_not_turned_around():
    logs, truth, weight = problem()
    assert calibrate(logs[0], truth, weight) is not None
    assert calibrate(-logs[0], truth, weight) is None
    assert calibrate(np.zeros_like(logs[0]), truth, weight) is None


def test_flat_scores_give_the_frequencies():
    truth = np.arange(40)[:, None] % 4 == 0
    logs = np.random.default_rng(0).standard_normal((40, 1))
    slope, midpoints = nearly_flat(logs, truth, np.ones(40))
    np.testing.assert_allclose(expit(slope * (logs - midpoints)), 0.25, atol=1e-3)
