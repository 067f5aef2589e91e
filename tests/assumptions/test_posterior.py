"""Sums over labelings against all 2^m of them, and their derivatives against differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, logsumexp

from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountPosterior
from reference.potentials import POTENTIALS


def enumerated(scores, potential, weights):
    """Return log Z, P(y_i = 1) and P(k) for either label of the bag, over all 2^m labelings."""
    size = len(scores)
    table, bins = np.array(potential.table(size)), np.array(potential.bins(size))
    labelings = np.array(list(itertools.product([0, 1], repeat=size)))
    count = labelings.sum(axis=1)
    energy = labelings @ scores + (table + np.append(weights, 0.0)[bins])[:, count]
    total = logsumexp(energy, axis=1)
    chance = np.exp(energy - total[:, None])
    return total, chance @ labelings, chance @ (count[:, None] == np.arange(size + 1))


def check_bag(scores, potential, weights):
    posterior = CountPosterior(potential, np.array([0, len(scores)]))
    found = posterior.of(scores[None], weights[None])
    total, marginals, counts = enumerated(scores, potential, weights)
    np.testing.assert_allclose(found.log_sum[0, :, 0], total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.marginals[0], marginals, atol=1e-12)
    cap = found.counts.shape[2] - 1
    merged = np.hstack([counts[:, :cap], counts[:, cap:].sum(axis=1, keepdims=True)])
    np.testing.assert_allclose(found.counts[0], merged, atol=1e-12)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("size", range(1, 12))
def test_sums_equal_enumeration(potential, size):
    rng = np.random.default_rng(size)
    for scale in (0.0, 1.0, 30.0):
        check_bag(scale * rng.normal(size=size), potential, rng.normal(size=potential.n_weights))


@given(
    st.lists(st.floats(-700, 700), min_size=1, max_size=8),
    st.sampled_from(range(len(POTENTIALS))),
    st.integers(0, 2**32 - 1),
)
def test_sums_of_extreme_scores_equal_enumeration(scores, which, seed):
    potential = POTENTIALS[which]
    weights = np.random.default_rng(seed).normal(size=potential.n_weights)
    check_bag(np.array(scores), potential, weights)


@pytest.mark.parametrize(("fraction", "states"), [(0.0, 2), (0.3, 4), (1.0, 11)])
def test_states_end_where_the_potential_is_constant(fraction, states):
    posterior = CountPosterior(AtLeastPotential(fraction), np.array([0, 10]))
    assert posterior.states.tolist() == [0, states]


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_slopes_are_those_of_the_sums(potential):
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 6, 9, 16])
    scores, weights = rng.normal(size=(3, 16)), rng.normal(size=(3, potential.n_weights))
    amount, posterior = rng.normal(size=(3, 2, 4)), CountPosterior(potential, offsets)
    found = posterior.of(scores, weights)

    def difference(up, down):
        sums = [posterior.of(*point, marginals=False).log_sum for point in (up, down)]
        return float((amount * (sums[0] - sums[1])).sum()) / 2e-6

    slopes = posterior.instance_slopes(found, amount)
    for model, i in ((0, 0), (1, 3), (2, 15)):
        step = np.zeros_like(scores)
        step[model, i] = 1e-6
        expected = difference((scores + step, weights), (scores - step, weights))
        assert slopes[model, i] == pytest.approx(expected, abs=1e-7)
    slopes = posterior.bin_slopes(found, amount)
    for model in range(3):
        for weight in range(potential.n_weights):
            step = np.zeros_like(weights)
            step[model, weight] = 1e-6
            expected = difference((scores, weights + step), (scores, weights - step))
            assert slopes[model, weight] == pytest.approx(expected, abs=1e-7)


def test_a_large_bag_agrees_with_the_product_of_its_instances():
    scores = np.random.default_rng(0).normal(size=100_000) - 9.0
    posterior = CountPosterior(AtLeastPotential(), np.array([0, len(scores)]))
    found = posterior.of(scores[None], np.zeros((1, 2)))
    none = np.exp(-np.logaddexp(0.0, scores).sum())  # P(no positives) if labels were free
    assert found.log_sum[0, 1, 0] == pytest.approx(np.log(1 / none - 1), rel=1e-12)
    expected = expit(scores) / (1 - none)
    np.testing.assert_allclose(found.marginals[0, 1], expected, rtol=1e-9)
    assert not found.marginals[0, 0].any()  # a negative bag has no positive


@pytest.mark.parametrize("potential", [AtLeastPotential(0.5), BinnedPotential(5)], ids=str)
def test_scores_far_out_of_range_stay_finite(potential):
    scores = np.array([[1e5, -1e5, 3e4, -1e3, 0.0]])
    found = CountPosterior(potential, np.array([0, 5])).of(scores, np.zeros((1, 10)))
    assert np.isfinite(found.log_sum).all()
    assert ((found.marginals >= 0) & (found.marginals <= 1)).all()
    np.testing.assert_allclose(found.counts.sum(axis=2), 1.0)
