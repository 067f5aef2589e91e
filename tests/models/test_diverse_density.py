"""Diverse density and EM-DD: gradients, underflow, planted concepts, key instances."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import EMDD, Bags, DiverseDensity
from bagwise.datasets import load_digits_bags
from bagwise.models.density import Density, scaled_distances

LIKELIHOODS = ["noisy_or", "most_likely_cause"]
BOTH = [DiverseDensity(), DiverseDensity("most_likely_cause"), EMDD()]


def some_density(seed: int = 0, sparse: bool = False) -> Density:
    rng = np.random.default_rng(seed)
    offsets = np.array([0, 3, 4, 8, 10, 15])
    X = rng.normal(size=(15, 4)) * (rng.random((15, 4)) < 0.7)
    positive = np.array([True, False, True, False, True])
    return Density(sp.csr_array(X) if sparse else X, offsets, positive, rng.random(5) + 0.5)


def naive(density: Density, likelihood: str, point, scale) -> float:
    total = 0.0
    X = density.X.toarray() if sp.issparse(density.X) else density.X
    for i, positive in enumerate(density.positive):
        bag = X[density.offsets[i] : density.offsets[i + 1]]
        p = np.exp(-((scale * (bag - point)) ** 2).sum(axis=1))
        probability = 1 - np.prod(1 - p) if likelihood == "noisy_or" else p.max()
        total -= density.weight[i] * np.log(probability if positive else 1 - probability)
    return total


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_likelihood_equals_its_definition(likelihood, sparse):
    density = some_density(1, sparse)
    rng = np.random.default_rng(0)
    point, scale = rng.normal(size=4), rng.random(4)
    value, _ = density.objective(likelihood)(np.concatenate([point, scale]))
    assert value == pytest.approx(naive(density, likelihood, point, scale), rel=1e-12)


@pytest.mark.parametrize("size", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_gradient_against_differences(likelihood, size):
    density = some_density(2)
    rng = np.random.default_rng(3)
    theta = np.concatenate([rng.normal(size=4), size * (0.5 + rng.random(4))])
    f = density.objective(likelihood)
    value, gradient = f(theta)
    step = 1e-6
    numeric = [(f(theta + e)[0] - f(theta - e)[0]) / (2 * step) for e in step * np.eye(8)]
    assert np.isfinite(value)
    np.testing.assert_allclose(gradient, numeric, atol=1e-6 * np.abs(gradient).max())


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_far_from_everything_there_is_still_a_slope(likelihood):
    density = some_density(0)
    f = density.objective(likelihood)
    value, gradient = f(np.concatenate([np.full(4, 1e3), np.ones(4)]))
    assert np.isfinite(value)
    assert value > 1e6
    assert np.all(gradient[:4] > 0)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_a_negative_instance_on_the_point_costs_much_but_not_infinity(likelihood):
    density = some_density(0)
    on_negative = density.X[3]
    value, gradient = density.objective(likelihood)(np.concatenate([on_negative, np.ones(4)]))
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))
    assert value > 10


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_many_points_at_once_equal_one_at_a_time(likelihood):
    density = some_density(4)
    d = np.stack([density.distances(x, np.ones(4)) for x in density.X[:3]], axis=1)
    values, slopes = getattr(density, likelihood)(d)
    for k in range(3):
        value, slope = getattr(density, likelihood)(d[:, k])
        assert values[k] == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(slopes[:, k], slope, rtol=1e-14)


def planted(seed: int, n_bags: int = 60) -> tuple[Bags, np.ndarray]:
    """The concept: features 0 and 1 near (0.3, -0.4); features 2-4 are noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    members = []
    for label in y:
        bag = rng.uniform(-3, 3, size=(rng.integers(3, 8), 5))
        inside = np.hypot(bag[:, 0] - 0.3, bag[:, 1] + 0.4) < 0.9
        bag[inside, 0] += 2.0
        if label:
            bag[rng.integers(len(bag)), :2] = np.array([0.3, -0.4]) + rng.normal(0, 0.1, 2)
        members.append(bag)
    return Bags.from_list(members), y


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_planted_concept_is_recovered(model):
    bags, y = planted(0)
    model.fit(bags, y)
    np.testing.assert_allclose(model.points_[0, :2], [0.3, -0.4], atol=0.15)
    assert model.scales_[0, :2].min() > 3 * model.scales_[0, 2:].max()
    fresh, labels = planted(1)
    assert model.score(fresh, labels) >= 0.9


@pytest.mark.parametrize("model", BOTH, ids=str)
def test_key_instances_on_digit_bags(model):
    bags, y = load_digits_bags(digit=0, n_bags=100, subset="train", random_state=0)
    model.fit(bags, y)
    test, labels = load_digits_bags(digit=0, n_bags=100, subset="test", random_state=1)
    positive = test[labels == 1]
    hit = positive.instance_labels[positive.flat(model.key_instances(positive))]
    assert hit.mean() >= 0.9
    assert model.score(test, labels) >= 0.8


def test_objective_is_the_best_search_and_that_of_the_kept_concept():
    bags, y = planted(2)
    model = EMDD(n_starts=5).fit(bags, y)
    assert model.objective_[0] == min(record["objective"] for record in model.history_)
    density = Density(bags.X, bags.offsets, y == 1, np.ones(len(y)))
    d = scaled_distances(bags.X, model.points_[0], model.scales_[0])
    assert density.most_likely_cause(d)[0] == pytest.approx(model.objective_[0], rel=1e-9)
    speaks = model.instance_weights_[bags.offsets[0] :]
    assert speaks.sum() == y.sum()


def test_a_search_never_ends_worse_than_it_began():
    bags, y = planted(3)
    density = Density(bags.X, bags.offsets, y == 1, np.ones(len(y)))
    for row in density.starts("most_likely_cause", 0.1, 10):
        at_start = density.most_likely_cause(
            density.distances(bags.X[row], np.full(5, np.sqrt(0.1)))
        )[0]
        assert EMDD()._search(density, row, 0.1).objective <= at_start


def test_starts_are_the_best_of_different_bags():
    density = some_density(0)
    rows = density.starts("noisy_or", 0.5, 3)
    of_bag = np.searchsorted(density.offsets, rows, side="right") - 1
    assert sorted(of_bag) == [0, 2, 4]
    values = [
        density.noisy_or(density.distances(density.X[r], np.full(4, 0.5**0.5)))[0] for r in rows
    ]
    assert values == sorted(values)


def test_stopped_by_max_iter_warns():
    with pytest.warns(UserWarning, match="max_iter=1"):
        DiverseDensity(max_iter=1, n_starts=1).fit(*planted(0))
