"""MILBoost: likelihood, slopes, descent, bags against instances."""

import itertools

import numpy as np
import pytest

from bagwise import Bags, MILBoost
from bagwise.datasets import load_digits_bags
from bagwise.models.milboost import noisy_or_log_odds, noisy_or_loss, noisy_or_slope

OFFSETS = np.array([0, 3, 4, 8, 10])
POSITIVE = np.array([True, False, True, False])
WEIGHT = np.array([1.0, 2.0, 0.5, 3.0])


def test_loss_and_log_odds_equal_their_definition():
    F = np.random.default_rng(0).normal(size=10)
    p = 1 / (1 + np.exp(-F))
    P = np.array([1 - np.prod(1 - p[a:b]) for a, b in itertools.pairwise(OFFSETS)])
    expected = -(WEIGHT * np.where(POSITIVE, np.log(P), np.log(1 - P))).sum()
    assert noisy_or_loss(F, OFFSETS, POSITIVE, WEIGHT) == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(noisy_or_log_odds(F, OFFSETS), np.log(P / (1 - P)), rtol=1e-12)


@pytest.mark.parametrize("size", [0.1, 3.0, 20.0])
def test_slope_against_differences(size):
    F = size * np.random.default_rng(1).normal(size=10)
    slope = noisy_or_slope(F, OFFSETS, POSITIVE, WEIGHT)
    step = 1e-6 * np.eye(10)
    numeric = [
        (
            noisy_or_loss(F - e, OFFSETS, POSITIVE, WEIGHT)
            - noisy_or_loss(F + e, OFFSETS, POSITIVE, WEIGHT)
        )
        / 2e-6
        for e in step
    ]
    np.testing.assert_allclose(slope, numeric, atol=1e-7 * max(1, np.abs(slope).max()), rtol=1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("F", [-800.0, 0.0, 800.0])
def test_extreme_scores_stay_finite(F):
    scores = np.full(10, F)
    assert np.all(np.isfinite(noisy_or_log_odds(scores, OFFSETS)))
    assert np.isfinite(noisy_or_loss(scores, OFFSETS, POSITIVE, WEIGHT))
    assert np.all(np.isfinite(noisy_or_slope(scores, OFFSETS, POSITIVE, WEIGHT)))


@pytest.mark.parametrize("depth", [1, 2])
def test_every_round_raises_the_likelihood(depth):
    bags, y = load_digits_bags(digit=0, n_bags=60, random_state=0)
    model = MILBoost(n_estimators=30, max_depth=depth).fit(bags, y)
    objectives = [record["objective"] for record in model.history_]
    assert all(b <= a + 1e-9 for a, b in itertools.pairwise(objectives))
    loss = noisy_or_loss(
        model.instance_decision_function(bags), bags.offsets, y == 1, np.ones(len(y))
    )
    assert loss == pytest.approx(model.objective_[0], rel=1e-9)


def test_a_bag_of_one_scores_as_its_instance():
    bags, y = load_digits_bags(digit=0, n_bags=60, random_state=0)
    model = MILBoost(n_estimators=10).fit(bags, y)
    alone = Bags(bags.X, np.arange(bags.n_instances + 1))
    np.testing.assert_allclose(
        model.decision_function(alone), model.instance_decision_function(bags), atol=1e-9
    )
