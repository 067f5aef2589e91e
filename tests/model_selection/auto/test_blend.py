"""Weights from out-of-fold scores: against a reference, and in the cases that go wrong."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from bagwise.model_selection.auto.blend import Ensemble, calibrate


def problem(n_bags=60, noise=(0.5, 1.0, 3.0), columns=1, seed=0):
    """Return log-odds of candidates from good to poor, the truth, and weights of bags."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, (n_bags, columns)).astype(bool)
    logs = [2.0 * truth - 1 + scale * rng.standard_normal((n_bags, columns)) for scale in noise]
    return np.stack(logs), truth, rng.uniform(0.5, 2.0, n_bags)


def loss(w, logs, truth, weight, n_units):
    pull = 0.3 * len(logs) / n_units
    away = np.sum((w - 1 / len(logs)) ** 2)
    found = np.tensordot(w, logs, 1)
    losses = np.logaddexp(0.0, np.where(truth, -found, found)).mean(axis=1)
    return np.average(losses, weights=weight) + pull * away


@pytest.mark.parametrize("far", [1.0, 20.0])
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("n_candidates", [2, 25])
def test_stacking_minimizes_its_objective(columns, n_candidates, far):
    """The reference descends in the logarithms of weights, which have no bounds."""
    logs, truth, weight = problem(columns=columns, noise=np.linspace(0.5, 9.0, n_candidates))
    logs[0, 3] *= far
    given = logs, truth, weight, 40
    found = Ensemble.stack(*given)

    def reference(z):
        return loss(softmax(z), *given)  # BFGS may try thousands, whose exp is no float64

    best = minimize(reference, np.zeros(n_candidates), method="BFGS", options={"gtol": 1e-9})
    assert found.sum() == pytest.approx(1.0)
    assert found.min() >= 0
    assert loss(found, *given) <= best.fun + 1e-6


def test_one_far_score_of_new_bags_does_not_decide():
    """A candidate divides by rounding noise: one training and one new score of 1e17."""
    logs, truth, weight = problem(n_bags=100, columns=1)
    scores = logs.copy()
    scores[2, 7] = 8e16
    units = np.arange(100)
    ensemble = Ensemble.fit(scores, truth, weight, units)
    without = Ensemble.fit(logs, truth, weight, units)
    assert loss(ensemble.weights, logs[ensemble.chosen], truth, weight, 100) == pytest.approx(
        loss(without.weights, logs[without.chosen], truth, weight, 100), abs=0.02
    )
    for sigmoid, i in zip(ensemble.sigmoids, ensemble.chosen, strict=True):
        for new in (scores[i], np.array([[-2e17], [2e17]])):
            assert np.abs(sigmoid(new)).max() <= 50


def test_small_weights_near_chance_are_zero_and_others_stay():
    logs, truth, weight = problem(n_bags=200, noise=(0.5, 1.0, 1e6))
    scores = np.concatenate([logs, np.random.default_rng(1).normal(size=(1, 200, 1))])
    kept = Ensemble.drop(np.array([0.915, 0.04, 0.04, 0.005]), scores, truth, weight)
    np.testing.assert_allclose(kept, np.array([0.915, 0.04, 0, 0]) / 0.955)
    chance = Ensemble.drop(np.array([1.0]), scores[3:], truth, weight)
    np.testing.assert_array_equal(chance, [1.0])


def test_a_bag_of_weight_two_is_the_bag_twice():
    logs, truth, _ = problem()
    twice = np.ones(len(truth))
    twice[:10] = 2.0
    again = np.r_[np.arange(len(truth)), np.arange(10)]
    expected = Ensemble.stack(logs[:, again], truth[again], np.ones(len(again)), 60)
    np.testing.assert_allclose(Ensemble.stack(logs, truth, twice, 60), expected, atol=1e-5)


def test_scores_against_the_labels_are_refused_and_not_turned_around():
    logs, truth, weight = problem()
    assert calibrate(logs[0], truth, weight) is not None
    assert calibrate(-logs[0], truth, weight) is None
    assert calibrate(np.zeros_like(logs[0]), truth, weight) is None


def test_useless_is_who_would_raise_the_loss_and_not_who_is_poor_but_different():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (200, 1)).astype(bool)
    noise, sign = 2 * rng.standard_normal(truth.shape), 2.0 * truth - 1
    good, different, poor = sign + noise, sign - 2 * noise, 0.2 * sign + noise
    given = truth, np.ones(200), np.arange(200)
    assert Ensemble.find_useless(np.stack([good, different, poor]), *given) == [2]
    few = (part[:12] for part in given)
    assert Ensemble.find_useless(np.stack([good, poor])[:, :12], *few) == []
    assert Ensemble.find_useless(-good[None], *given) == []  # nothing rises: nothing is known
