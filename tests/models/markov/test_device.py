"""Markov networks on tensors against the same networks on arrays."""

import numpy as np
import pytest

from bagwise import MarkovNetworkClassifier
from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountInference
from bagwise.bags.segments import Segments
from bagwise.datasets import make_gaussian_bags
from bagwise.models.markov.device import DeviceInference

pytestmark = pytest.mark.torch

POTENTIALS = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_inference_on_tensors_is_that_on_arrays(potential):
    import torch

    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 40, 30))])
    scores = rng.integers(-3, 3, offsets[-1]) / 2.0  # ties, also at 0
    weights = rng.normal(size=potential.n_weights)
    segments = Segments(torch, torch.as_tensor(np.diff(offsets)))
    there = DeviceInference(potential, offsets, segments)
    value, count = there.best_counts(torch.as_tensor(scores), weights)
    expected, counts = CountInference(potential, offsets).best_counts(scores, weights)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_array_equal(count, counts)


@pytest.mark.parametrize("cardinality", ["any", "ratio", "learned"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fits_on_a_device_reach_the_same_objective(cardinality, n_classes):
    rng = np.random.default_rng(0)
    bags, y = make_gaussian_bags(40, 3, bag_size=rng.integers(1, 9, 40), shift=2.0, random_state=0)
    y = y if n_classes == 2 else np.arange(40) % 3
    model = MarkovNetworkClassifier(cardinality=cardinality, fit_intercept=True, tol=0.05)
    here = model.fit(bags, y)
    expected, scores = here.objective_, here.decision_function(bags)
    placed = bags.to("cpu")
    there = model.fit(placed, y)
    np.testing.assert_allclose(there.objective_, expected, rtol=1e-6)
    np.testing.assert_allclose(there.decision_function(placed), scores, atol=1e-5)
