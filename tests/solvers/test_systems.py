"""Newton systems of saddle problems against dense ones."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.solvers.column_newton import column_newton
from bagwise.solvers.systems import Systems
from reference.saddles import assignments, make, row_features, with_columns


@pytest.mark.parametrize("explicit", [False, True])
@given(seed=st.integers(0, 1000))
def test_systems_solve_what_they_say(explicit, seed):
    rng = np.random.RandomState(seed)
    saddle, features = make(seed % 7, n_negatives=100, explicit=explicit)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::5])
    system = Systems(saddle)
    curvature = rng.choice([0.0, 0.5, 2.0], len(saddle.weight))
    for _ in range(4):
        v = rng.dirichlet(np.ones(len(saddle.columns)))
        right = rng.randn(len(curvature), 2)
        mixture = saddle.mix(v)
        got, omega = system.at(mixture, curvature).solve(right)
        K = sum(
            share * (F @ F.T)
            for share, F in zip(
                v, (row_features(saddle, features, c) for c in saddle.columns), strict=True
            )
        )
        on = np.flatnonzero(curvature)
        expected = np.zeros_like(right)
        expected[on] = np.linalg.solve(K[np.ix_(on, on)] + np.diag(1 / curvature[on]), right[on])
        np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-10)
        met = [saddle.weights(mixture, beta).omega for beta in got.T]
        np.testing.assert_allclose(omega.T, met, rtol=1e-8, atol=1e-10)
        before = system.n_factorizations
        system.at(mixture, curvature.copy())
        assert system.n_factorizations == before  # the last one is kept
        few = rng.choice(len(curvature), 15)
        curvature = curvature.copy()
        curvature[few] = rng.choice([0.0, 0.5, 2.0], 15)


@pytest.mark.parametrize("explicit", [False, True])
def test_moments_enter_as_the_features_ask(explicit):
    saddle, _ = make(3, n_negatives=30, explicit=explicit)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::5])
    rng = np.random.RandomState(0)
    mixture, curvature = saddle.mix(rng.dirichlet(np.ones(3))), rng.uniform(0.5, 2, 33)
    right, moments = rng.randn(33, 1), rng.randn(len(saddle.features.scale), 1)
    beta, omega = (
        part[:, 0] for part in Systems(saddle).at(mixture, curvature).solve(right, moments)
    )
    at = saddle.weights(mixture, beta, omega)
    np.testing.assert_allclose(at.scores + beta / curvature, right[:, 0], atol=1e-9)
    np.testing.assert_allclose(-saddle.unmet(mixture, at), moments[:, 0], atol=1e-9)


def test_few_factorizations_serve_many_systems(monkeypatch):
    monkeypatch.setattr("bagwise.solvers.systems._FEW_ROWS", 0)
    saddle, _ = make(0, sizes=(3,) * 10, n_negatives=60, d=8, lam=20.0)
    rng, system, point = np.random.RandomState(0), Systems(saddle), None
    for _ in range(8):
        chosen = 3 * np.arange(10) + rng.randint(0, 3, 10)
        saddle = with_columns(saddle, [chosen])
        point = column_newton(saddle, point, system=system)
    assert system.n_factorizations <= 6 * len(saddle.columns)


def test_few_negatives_are_factored_with_the_bags():
    saddle, _ = make(0, sizes=(3,) * 10, n_negatives=20, d=8, lam=20.0)
    saddle = with_columns(saddle, [3 * np.arange(10)])
    system, right = Systems(saddle), np.ones((30, 1))
    mixture, curvature = saddle.mix(np.ones(1)), np.r_[np.ones(10), np.zeros(5), np.full(15, 2.0)]
    made = system.at(mixture, curvature)
    assert len(made.border) == 0
    assert system.at(mixture, 2 * curvature, near=True) is made
    beta, on = made.solve(right)[0][:, 0], curvature > 0
    missed = saddle.scores(mixture, beta)[on] + beta[on] / curvature[on] - 1
    np.testing.assert_allclose(missed, 0, atol=1e-10)
    assert not np.any(beta[~on])
