"""Chains against all 2^m labelings: maxima, sums, their derivatives, and the limit of cost 0."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.assumptions import (
    AtLeastPotential,
    BinnedPotential,
    ChainInference,
    ChainPosterior,
    CountInference,
    CountPosterior,
)
from bagwise.assumptions.tree import count_inference, count_posterior
from reference.labelings import check_bag
from reference.potentials import POTENTIALS


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("size", range(1, 13))
def test_chains_equal_enumeration(potential, size):
    rng = np.random.default_rng(size)
    for scale, cost in ((1.0, 0.3), (1.0, 3.0), (0.1, 1.0), (20.0, 5.0)):
        weights = rng.normal(size=potential.n_weights)
        check_bag(scale * rng.normal(size=size), potential, weights, cost)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=8),
    st.sampled_from(range(len(POTENTIALS))),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_chains_with_ties_equal_enumeration(scores, which, cost):
    potential = POTENTIALS[which]
    check_bag(np.array(scores, dtype=float), potential, np.ones(potential.n_weights), cost)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_a_vanishing_cost_is_that_of_unordered_bags(potential):
    rng, offsets = np.random.default_rng(0), np.array([0, 4, 5, 45])
    scores, weights = rng.normal(size=(2, 45)), rng.normal(size=(2, potential.n_weights))
    amount = rng.normal(size=(2, 2, 3))
    sets, chains = CountInference(potential, offsets), ChainInference(potential, offsets, 1e-13)
    best, along = sets.best(scores, weights), chains.best(scores, weights)
    np.testing.assert_allclose(along.value, best.value, atol=1e-11)
    np.testing.assert_array_equal(
        chains.positives(scores, along, amount), sets.positives(scores, best, amount)
    )
    np.testing.assert_allclose(chains.bin_sums(along, amount), sets.bin_sums(best, amount))
    sums = [CountPosterior(potential, offsets), ChainPosterior(potential, offsets, 1e-13)]
    one, two = (posterior.of(scores, weights) for posterior in sums)
    np.testing.assert_allclose(one.log_sum, two.log_sum, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(one.marginals, two.marginals, atol=1e-11)


@pytest.mark.parametrize("parents", [None, np.array([-1, 1, -1, 1, 2, 1, -1, 0, 0, 1, 1, 2, 2])])
@pytest.mark.parametrize("potential", [AtLeastPotential(), BinnedPotential(3)], ids=str)
def test_slopes_are_those_of_the_sums(potential, parents):
    rng, offsets = np.random.default_rng(0), np.array([0, 1, 6, 13])
    scores, weights = rng.normal(size=(1, 13)), rng.normal(size=(1, potential.n_weights))
    amount, posterior = (
        rng.normal(size=(1, 2, 3)),
        count_posterior(potential, offsets, 0.7, parents),
    )
    slopes = posterior.instance_slopes(posterior.of(scores, weights), amount)
    for i in (0, 3, 12):
        step = np.zeros_like(scores)
        step[0, i] = 1e-6
        up, down = (posterior.of(scores + s, weights, marginals=False) for s in (step, -step))
        expected = float((amount * (up.log_sum - down.log_sum)).sum()) / 2e-6
        assert slopes[0, i] == pytest.approx(expected, abs=1e-7)


def test_runs_win_over_the_same_scores_apart():
    offsets, weights = np.array([0, 6]), np.zeros((1, 2))
    inference = ChainInference(AtLeastPotential(), offsets, 1.0)
    together = inference.best(np.array([[-1.0, 1.0, 1.0, 1.0, -1.0, -1.0]]), weights)
    apart = inference.best(np.array([[1.0, -1.0, 1.0, -1.0, 1.0, -1.0]]), weights)
    assert together.value[0, 1, 0] == 1.0  # two changes
    assert apart.value[0, 1, 0] == 0.0


def test_without_cost_the_unordered_classes_answer():
    offsets = np.array([0, 3])
    assert type(count_inference(AtLeastPotential(), offsets)) is CountInference
    assert type(count_posterior(AtLeastPotential(), offsets)) is CountPosterior
    assert type(count_inference(AtLeastPotential(), offsets, 0.1)) is ChainInference
    assert type(count_posterior(AtLeastPotential(), offsets, 0.1)) is ChainPosterior
