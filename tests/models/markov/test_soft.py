"""Softened networks against all labelings, finite differences and the planes that they prove."""

import numpy as np
import pytest

from bagwise.assumptions import AtLeastPotential
from bagwise.solvers.soft_newton import Frozen, Softness
from reference.soft_networks import RULES, Network, bags_of, brute_risk

SOFT = Softness(width=0.8, margin=0.6)


def points(network, count=6, seed=1):
    return np.random.default_rng(seed).normal(size=(count, len(network.units)))


def frozen_ways(network):
    return [None, Frozen(), network.freeze(points(network, 1, 9)[0], 0.5)]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_risk_is_that_of_the_best_labelings(rule):
    network = Network(rule)
    bags = bags_of(rule)
    for w in points(network):
        view = network.see(w, SOFT, SOFT, network.centers)
        expected = brute_risk(*bags, w, 0.7) + 0.15 * w @ w
        assert view.objective == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_hard_values_are_the_risk(rule):
    network, hard = Network(rule), Softness(1e-7, 1e-7)
    for w in points(network):
        view = network.see(w, hard, hard, network.centers)
        assert view.value == pytest.approx(view.objective, rel=1e-4)
        assert view.touching == pytest.approx(view.objective, rel=1e-4)


@pytest.mark.parametrize("way", range(3))
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_derivatives_are_those_of_the_value(rule, way):
    network = Network(rule)
    frozen, step = frozen_ways(network)[way], 1e-5

    def look(w):
        return network.see(w, SOFT, SOFT, network.centers, frozen=frozen)

    for w in points(network, 3):
        view, basis = look(w), step * np.eye(len(w))
        ends = [(look(w + e), look(w - e)) for e in basis]
        slopes = [(a.value - b.value) / (2 * step) for a, b in ends]
        np.testing.assert_allclose(-view.residual, slopes, atol=5e-5)  # kinks within a step
        bends = np.array([(b.residual - a.residual) / (2 * step) for a, b in ends])
        hessian = view.sums.system(1.0, network.units) + network.alpha * np.eye(len(w))
        np.testing.assert_allclose(hessian, bends, atol=1e-4)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_every_point_proves_a_bound_on_the_frozen_risk(rule):
    network = Network(rule)
    for frozen in frozen_ways(network)[1:]:
        views = [
            network.see(w, SOFT, SOFT, network.centers, frozen=frozen) for w in points(network)
        ]
        lowest = min(view.touching for view in views)
        assert max(view.touching - view.gap for view in views) <= lowest
        assert all(view.touching >= view.objective - 1e-9 for view in views)


def test_a_frozen_risk_touches_where_it_is_frozen():
    network = Network(AtLeastPotential())
    w = points(network, 1)[0]
    hard = Softness(1e-7, 1e-7)
    view = network.see(w, hard, hard, network.centers, frozen=network.freeze(w, 1e-7))
    assert view.touching == pytest.approx(view.objective, rel=1e-6)


def test_new_centers_are_the_mixture_that_was_judged():
    network = Network(AtLeastPotential())
    w = points(network, 1)[0]
    renewed = network.see(w, SOFT, SOFT, network.centers, renew=True)
    np.testing.assert_allclose(renewed.centers.sum(axis=0), 1.0)
    again = network.see(w, SOFT, SOFT, renewed.centers)
    assert again.value == pytest.approx(renewed.value)
    assert again.slack <= network.see(w, SOFT, SOFT, network.centers).slack
