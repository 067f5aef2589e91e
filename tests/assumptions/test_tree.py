"""Trees against all 2^m labelings, and against the chains and unordered bags that some are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise import assumptions
from bagwise.assumptions import AtLeastPotential, BinnedPotential, TreeInference
from bagwise.assumptions.tree import count_inference, count_posterior
from reference.labelings import check_bag
from reference.networks import random_parents
from reference.potentials import POTENTIALS


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("size", range(1, 11))
def test_trees_equal_enumeration(potential, size):
    rng = np.random.default_rng(size)
    for n_roots, scale, cost in ((1, 1.0, 0.3), (1, 20.0, 5.0), (3, 1.0, 1.0), (1, 1.0, -0.7)):
        weights, parents = rng.normal(size=potential.n_weights), random_parents(size, rng, n_roots)
        check_bag(scale * rng.normal(size=size), potential, weights, cost, parents)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=8),
    st.sampled_from(range(len(POTENTIALS))),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.integers(0, 99),
)
def test_trees_with_ties_equal_enumeration(scores, which, cost, seed):
    potential, rng = POTENTIALS[which], np.random.default_rng(seed)
    parents = random_parents(len(scores), rng, 1 + seed % 3)
    weights = np.ones(potential.n_weights)
    check_bag(np.array(scores, dtype=float), potential, weights, cost, parents)


def bags_of(parents_of, potential, sizes=(4, 1, 40), seed=0):
    """Return offsets, parents, scores of two models, and their weights."""
    rng, offsets = np.random.default_rng(seed), np.concatenate([[0], np.cumsum(sizes)])
    parents = np.concatenate([parents_of(size, rng) for size in sizes])
    scores = rng.normal(size=(2, offsets[-1]))
    return offsets, parents, scores, rng.normal(size=(2, potential.n_weights))


def assert_same(potential, offsets, ties, others, scores, weights, atol=1e-12):
    """Compare maxima, labels, and sums with their marginals of two costs and parents."""
    one, two = (count_inference(potential, offsets, *tie) for tie in (ties, others))
    sums = (count_posterior(potential, offsets, *tie) for tie in (ties, others))
    amount = np.random.default_rng(1).normal(size=(2, 2, one.n_bags))
    best, other = one.best(scores, weights), two.best(scores, weights)
    np.testing.assert_allclose(best.value, other.value, atol=atol)
    np.testing.assert_allclose(
        one.positives(scores, best, amount), two.positives(scores, other, amount)
    )
    np.testing.assert_allclose(one.bin_sums(best, amount), two.bin_sums(other, amount))
    found, expected = (posterior.of(scores, weights) for posterior in sums)
    np.testing.assert_allclose(found.log_sum, expected.log_sum, rtol=1e-12, atol=atol)
    np.testing.assert_allclose(found.marginals, expected.marginals, atol=max(atol, 1e-11))


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("forwards", [True, False])
def test_a_path_is_a_chain(potential, forwards):
    def path(size, rng):
        up = np.arange(size) - 1
        return up if forwards else np.where(up[::-1] < 0, -1, np.arange(size) + 1)

    offsets, parents, *data = bags_of(path, potential)
    assert_same(potential, offsets, (0.7, parents), (0.7, None), *data)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("of", ["roots only", "a cost that vanishes"])
def test_trees_without_ties_are_unordered_bags(potential, of):
    alone = of == "roots only"
    grow = (lambda size, rng: np.full(size, -1)) if alone else random_parents
    offsets, parents, *data = bags_of(grow, potential)
    cost = 3.0 if alone else 1e-13
    assert_same(potential, offsets, (cost, parents), (0.0, None), *data, atol=1e-11)


@pytest.mark.parametrize("potential", [AtLeastPotential(0.5), BinnedPotential(5)], ids=str)
def test_the_root_may_be_any_instance(potential):
    offsets, parents, *data = bags_of(random_parents, potential, sizes=(60,))
    other, root = parents.copy(), 17
    above, child = parents[root], root
    other[root] = -1
    while above >= 0:  # turn the edges from the new root up to the old one
        other[above], above, child = child, parents[above], above
    assert_same(potential, offsets, (0.6, parents), (0.6, other), *data)


def test_a_star_follows_most_of_its_leaves():
    parents, offsets = np.array([-1, 0, 0, 0, 0]), np.array([0, 5])
    star = TreeInference(AtLeastPotential(), offsets, 1.0, parents)
    best = star.best(np.array([[-0.5, 2.0, 2.0, 2.0, -0.2]]), np.zeros((1, 2)))
    assert best.labels[0, 1].tolist() == [1] * 5  # leaf 4 would pay 1 to differ, and saves .2
    assert best.value[0, 1, 0] == pytest.approx(5.3)


def test_large_stars_take_little_memory():
    size = 20_000  # tables of all pairs of counts would take 3 GB
    parents = np.where(np.arange(size) == 0, -1, 0)
    _, _, steps = TreeInference(AtLeastPotential(0.5), np.array([0, size]), 1.0, parents)._plan
    assert steps[3].sum() < 20 * size
    assert steps[3, -1] == size


def test_cost_and_parents_choose_the_class():
    bags, parents = (AtLeastPotential(), np.array([0, 3])), np.array([-1, 0, 0])
    for make, kind in ((count_inference, "Inference"), (count_posterior, "Posterior")):
        for of, ties in {"Count": (0.0, parents), "Chain": (0.1,), "Tree": (0.1, parents)}.items():
            assert type(make(*bags, *ties)) is getattr(assumptions, of + kind)
