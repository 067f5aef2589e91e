"""Starts of a Markov network: each below w = 0, and each what it says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from bagwise.assumptions import AtLeastPotential, BinnedPotential
from bagwise.models.markov.descents import STARTS
from reference.networks import planted, random_risk, risk_of_bags

POTENTIALS = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]
every_potential = pytest.mark.parametrize("potential", POTENTIALS, ids=str)


def risk_of(potential, n_classes=2):
    return risk_of_bags(*planted(n_classes, n_bags=18), n_classes, potential)


def objective(risk, alpha, w):
    return risk.value(risk.forward(w)) + alpha / 2 * w @ w


@every_potential
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["instances", "mean"])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_starts_lie_below_zero(name, n_classes, potential, alpha):
    risk = risk_of(potential, n_classes)
    w = STARTS[name](risk, alpha, 1e-3, 0)
    assert w.shape == (risk.n_coef,)
    assert objective(risk, alpha, w) < objective(risk, alpha, np.zeros(risk.n_coef))


@every_potential
def test_zero_and_random(potential):
    risk = risk_of(potential, 3)
    assert not STARTS["zero"](risk, 1.0, 1e-3, 0).any()
    one, again, other = (STARTS["random"](risk, 1.0, 1e-3, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.any(one != other)
    assert 3e-4 < one.std() < 3e-3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_means_point_in_the_direction_of_a_linear_svm(n_classes):
    bags, _ = planted(n_classes, n_bags=18)
    risk = risk_of(AtLeastPotential(), n_classes)
    w = STARTS["mean"](risk, 0.1, 1e-3, 0)
    instance, _, _ = risk.split(w)
    means = np.array([bag.mean(axis=0) for bag in bags])
    svm = LinearSVC(dual=True, max_iter=20000, random_state=0)
    svm.fit(means, risk.codes, sample_weight=risk.weight)
    lengths = instance / svm.coef_
    np.testing.assert_allclose(lengths, lengths[0, 0], rtol=1e-6)  # a multiple of it
    assert lengths[0, 0] > 0


def test_the_multiple_of_a_direction_is_the_best_tried():
    risk, alpha = risk_of(AtLeastPotential()), 0.5
    w = STARTS["mean"](risk, alpha, 1e-3, 0)
    here = objective(risk, alpha, w)
    assert all(objective(risk, alpha, t * w) >= here - 1e-9 for t in (0.1, 10**-0.25, 10**0.25, 10))


@pytest.mark.parametrize("alpha", [1e3, 1e5, 1e7])
def test_a_strong_regularizer_makes_short_steps_not_none(alpha):
    risk = risk_of(AtLeastPotential(0.5))
    w = STARTS["mean"](risk, alpha, 1e-3, 0)
    zero = objective(risk, alpha, np.zeros(risk.n_coef))
    assert zero - objective(risk, alpha, w) > 0
    assert np.abs(w).max() <= 1e3 / alpha


def test_a_network_of_another_rule_starts_one_with_learned_weights():
    """From the rule "at least half": fractions that it forbids begin a margin below."""
    risk = risk_of(BinnedPotential(4))
    w = STARTS["half"](risk, 1.0, 1e-4, 0)
    _, potential, _ = risk.split(w)
    negative, positive = potential.reshape(2, 4)
    assert positive[3] - positive[0] == pytest.approx(1.0)  # at most a quarter is forbidden
    assert negative[0] - negative[3] == pytest.approx(1.0)
    assert positive[2] == positive[3]
    assert negative[0] == negative[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_papers_start_scores_bags_by_their_features_alone(n_classes):
    """With a score of another model as bag feature, the first scores are a tenth of it."""
    risk = random_risk(POTENTIALS[0], n_classes)
    part = risk.parts(risk.forward(STARTS["bag_features"](risk, 1.0, 1e-3, 0)))
    assert not part.instances.any()
    assert not part.potential.any()
    expected = 0.1 * risk.bag_features.sum(axis=1)
    np.testing.assert_allclose(part.bags, np.tile(expected, (risk.n_models, 1)))
