"""All 2^m labelings of a bag whose neighbors are tied, against inference."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import logsumexp

from bagwise.assumptions.tree import count_inference, count_posterior


def energies(scores, potential, weights, cost, parents):
    """Return all labelings, their counts, and their energies for either label of the bag."""
    size = len(scores)
    table, bins = np.array(potential.table(size)), np.array(potential.bins(size))
    labelings = np.array(list(itertools.product([0, 1], repeat=size)))
    count, below = labelings.sum(axis=1), np.flatnonzero(parents >= 0)
    changes = (labelings[:, below] != labelings[:, parents[below]]).sum(axis=1)
    prior = (table + np.append(weights, 0.0)[bins])[:, count]
    return labelings, count, labelings @ scores - cost * changes + prior


def check_bag(scores, potential, weights, cost, parents=None):
    """Check maxima and sums of one bag: of a chain, or of the tree of these parents."""
    offsets, of_chain = np.array([0, len(scores)]), np.arange(len(scores)) - 1
    up = of_chain if parents is None else parents
    labelings, count, energy = energies(scores, potential, weights, cost, up)
    inference = count_inference(potential, offsets, cost, parents)
    best = inference.best(scores[None], weights[None])
    np.testing.assert_allclose(best.value[0, :, 0], energy.max(axis=1), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(inference.values(scores[None], weights[None]), best.value)
    for side in range(2):  # the labels reach the value, and the count is theirs
        which = int(np.flatnonzero((labelings == best.labels[0, side]).all(axis=1))[0])
        assert energy[side, which] == pytest.approx(energy[side].max(), rel=1e-12, abs=1e-12)
        assert best.count[0, side, 0] == min(count[which], inference.caps[0])
    found = count_posterior(potential, offsets, cost, parents).of(scores[None], weights[None])
    total = logsumexp(energy, axis=1)
    chance = np.exp(energy - total[:, None])
    np.testing.assert_allclose(found.log_sum[0, :, 0], total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.marginals[0], chance @ labelings, atol=1e-12)
    state = np.minimum(count, inference.caps[0])  # the last one is "as many or more"
    expected = chance @ np.eye(found.counts.shape[2])[state]
    np.testing.assert_allclose(found.counts[0], expected, atol=1e-12)
