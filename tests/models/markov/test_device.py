"""Markov networks on tensors against the same networks on arrays."""

import numpy as np
import pytest

from bagwise import MarkovNetworkClassifier
from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountInference
from bagwise.datasets import make_gaussian_bags
from bagwise.designs import matrix_design
from bagwise.models.markov import device as markov_device
from bagwise.models.markov.soft import Frozen, Softness
from bagwise.rowstores import device
from bagwise.rowstores.device import DeviceRows
from reference.soft_networks import RULES, network_of

pytestmark = pytest.mark.torch

POTENTIALS = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_inference_on_tensors_is_that_on_arrays(potential):
    import torch

    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 40, 30))])
    scores = rng.integers(-3, 3, (2, offsets[-1])) / 2.0  # ties, also at 0
    weights, amount = rng.normal(size=(2, potential.n_weights)), rng.normal(size=(2, 2, 30))
    here = CountInference(potential, offsets)
    there = markov_device.DeviceInference(potential, offsets, "cpu")
    expected = here.best(scores, weights)
    found = there.best(torch.as_tensor(scores), weights)
    np.testing.assert_allclose(found.value, expected.value)
    np.testing.assert_allclose(there.values(torch.as_tensor(scores), weights), expected.value)
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_allclose(
        there.positives(torch.as_tensor(scores), found, amount).numpy(),
        here.positives(scores, expected, amount),
    )


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


def on_cpu(X):
    return matrix_design(DeviceRows.of(X, "cpu"))


@pytest.mark.parametrize("way", range(3))
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sums_on_tensors_are_those_on_arrays(rule, way, monkeypatch):
    monkeypatch.setattr(device, "_block_bytes", lambda where: 1000)
    monkeypatch.setattr(markov_device, "_PADDED_BYTES", 300)
    here, there = (network_of(rule, n_bags=30, design=design) for design in (matrix_design, on_cpu))
    w, v = np.random.default_rng(1).normal(size=(2, len(here.units)))
    frozen = [None, Frozen(), here.freeze(v, 0.5)][way]
    views = [
        network.look(w, Softness(0.8, 0.6), Softness(0.4, 0.3), network.centers, frozen=frozen)
        for network in (here, there)
    ]
    assert len(there.rows.parts) > 1
    sums, tensors = views[0].sums, views[1].sums.here()
    for name, value in vars(sums).items():
        np.testing.assert_allclose(getattr(tensors, name), value, atol=1e-9)
    np.testing.assert_allclose(here.step(views[0]), there.step(views[1]), rtol=1e-6, atol=1e-8)


def test_half_precision_rows_have_their_exact_gradient():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 3)).astype(np.float16)
    assert on_cpu(X).tensor.element_size() == 2
    halves = network_of(RULES[0], design=lambda X: on_cpu(X.astype(np.float16)))
    full = network_of(RULES[0], design=lambda X: matrix_design(X.astype(np.float16).astype(float)))
    w, soft = rng.normal(size=len(full.units)), Softness(0.8, 0.6)
    found, expected = (each.look(w, soft, soft, each.centers) for each in (halves, full))
    np.testing.assert_allclose(found.residual, expected.residual, rtol=1e-6)
    assert found.objective == pytest.approx(expected.objective, rel=1e-7)
