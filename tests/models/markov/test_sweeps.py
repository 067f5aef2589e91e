"""Passes over a network's rows: shards, blocks and sizes of bags do not matter."""

import numpy as np
import pytest

from bagwise.designs import swept
from bagwise.models.markov import sweeps
from bagwise.models.markov.soft import Softness
from bagwise.rowstores import blocks
from reference.soft_networks import RULES, network_of

SOFT = Softness(0.8, 0.6)


def sums_of(rule, **options):
    network = network_of(rule, n_bags=40, largest=9, **options)
    w = np.random.default_rng(1).normal(size=len(network.units))
    return network.look(w, SOFT, Softness(0.4, 0.3), network.centers, renew=True).sums


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_shards_and_blocks_add_up(rule, monkeypatch):
    whole = sums_of(rule)
    monkeypatch.setattr(swept, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(blocks, "CACHE_BYTES", 200)
    monkeypatch.setattr(sweeps, "_BATCH", 3)
    parts = sums_of(rule)
    for name, value in vars(whole).items():
        np.testing.assert_allclose(getattr(parts, name), value, atol=1e-10)


def test_sums_of_bags_have_two_ways(monkeypatch):
    one = sums_of(RULES[0])
    monkeypatch.setattr(sweeps, "_SMALL_BAGS", 0)
    np.testing.assert_allclose(sums_of(RULES[0]).hessian, one.hessian, atol=1e-10)


def test_an_indefinite_hessian_takes_less_of_its_concave_part():
    sums, n = sums_of(RULES[0]), 8
    units, right = np.ones(n), np.arange(1.0, n + 1)
    full = sums.system(1.0, units) + 50.0 * np.eye(n)
    np.testing.assert_allclose(sums.step(right, 50.0, units), np.linalg.solve(full, right))
    sums.concave = 0.7 * sums.hessian + 10.0 * np.eye(n)  # positive at a share of .5 at most
    less = sums.system(0.0, units) + np.eye(n)
    np.testing.assert_allclose(sums.step(right, 1.0, units), np.linalg.solve(less, right))
    sums.hessian = sums.hessian - 100.0 * np.eye(n)  # not even the convex part is positive
    assert right @ sums.step(right, 1.0, units) > 0
