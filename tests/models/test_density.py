"""Diverse density as a function: definition, gradients, far points, starts."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.models.density import Density

LIKELIHOODS = ["noisy_or", "most_likely_cause"]


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
def test_points_far_from_everything_or_on_a_negative_have_values_and_slopes(likelihood):
    density = some_density(0)
    far, on_negative = (
        density.objective(likelihood)(np.concatenate([point, np.ones(4)]))
        for point in (np.full(4, 1e3), density.X[3])
    )
    assert 1e6 < far[0] < np.inf
    assert np.all(far[1][:4] > 0)
    assert 10 < on_negative[0] < np.inf
    assert np.all(np.isfinite(on_negative[1]))


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_many_points_at_once_equal_one_at_a_time(likelihood):
    density = some_density(4)
    d = np.stack([density.distances(x, np.ones(4)) for x in density.X[:3]], axis=1)
    values, slopes = getattr(density, likelihood)(d)
    for k in range(3):
        value, slope = getattr(density, likelihood)(d[:, k])
        assert values[k] == pytest.approx(value, rel=1e-14)
        np.testing.assert_allclose(slopes[:, k], slope, rtol=1e-14)


def test_starts_are_the_best_of_different_bags():
    density = some_density(0)
    rows = density.starts("noisy_or", 0.5, 3)
    of_bag = np.searchsorted(density.offsets, rows, side="right") - 1
    assert sorted(of_bag) == [0, 2, 4]
    values = [
        density.noisy_or(density.distances(density.X[r], np.full(4, 0.5**0.5)))[0] for r in rows
    ]
    assert values == sorted(values)


def test_very_many_candidates_are_thinned_evenly(monkeypatch):
    density = some_density(0)
    tried = []
    original = Density._values_at

    def spy(self, likelihood, rows, gamma):
        tried.append(rows)
        return original(self, likelihood, rows, gamma)

    monkeypatch.setattr(Density, "_values_at", spy)
    density.starts("noisy_or", 0.5, 2)
    every = np.concatenate(tried)
    np.testing.assert_array_equal(every, np.flatnonzero(density.in_positive))
    tried.clear()
    monkeypatch.setattr("bagwise.models.density._MOST_PAIRS", 4 * len(density.X))
    density.starts("noisy_or", 0.5, 2)
    few = np.concatenate(tried)
    assert 3 <= len(few) <= 4 < len(every)
    assert set(few) <= set(every)
