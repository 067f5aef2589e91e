"""Ranges of counts, and labels whose sum is in them."""

import numpy as np
import pytest

from bagwise.assumptions import CountPotential
from bagwise.models.markov.ranges import RaggedRows, Ranges, on_simplex, solve_sum
from reference.soft_networks import RULES


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_ranges_are_those_of_the_table(rule):
    offsets = np.array([0, 1, 4, 9])
    ranges = Ranges.of(rule, offsets)
    for i, size in enumerate(np.diff(offsets)):
        for side in range(2):
            found = np.full(size + 1, -2)
            for k in range(ranges.lo.shape[1]):
                counts = slice(ranges.lo[side, k, i], ranges.hi[side, k, i] + 1)
                found[counts] = ranges.weight[side, k, i]
            allowed = np.isfinite(rule.table(size)[side])
            np.testing.assert_array_equal(found, np.where(allowed, rule.bins(size)[side], -2))


def test_a_potential_with_a_number_for_every_count_has_no_ranges():
    class Falling(CountPotential):
        def table(self, size):
            return -np.tile(np.arange(size + 1.0), (2, 1))

    assert Ranges.of(Falling(), np.array([0, 4])) is not None
    assert Ranges.of(Falling(), np.array([0, 40])) is None


def test_sums_of_labels_are_met():
    rng, sizes = np.random.default_rng(0), np.array([3, 5, 40])
    z, target = rng.normal(size=48), np.array([1.0, 2.0, 17.5])
    p = solve_sum(RaggedRows(np, sizes, np.asarray), z, target, 0.1)
    np.testing.assert_allclose(np.add.reduceat(p, [0, 3, 8]), target)
    order = np.argsort(z[8:])
    assert np.all(np.diff(p[8:][order]) >= 0)


def test_projection_onto_the_simplex_is_the_nearest_point():
    columns = np.random.default_rng(0).normal(size=(3, 20))
    found = on_simplex(columns)
    np.testing.assert_allclose(found.sum(axis=0), 1.0)
    corners = np.random.default_rng(1).dirichlet(np.ones(3), 500).T[:, None, :]
    distances = ((columns[:, :, None] - corners) ** 2).sum(axis=0).min(axis=1)
    assert np.all(((columns - found) ** 2).sum(axis=0) <= distances + 1e-12)
