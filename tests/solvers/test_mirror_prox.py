"""Mirror prox against Newton, its gradients against differences and expectations."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.solvers.column_newton import column_newton
from bagwise.solvers.mirror_prox import _gradient, _sample_gradient, _State, mirror_prox
from reference.saddles import BANDS, assignments, make, with_columns


@given(seed=st.integers(0, 100), loss=st.sampled_from(BANDS))
def test_gradients_of_the_dual_are_its_differences(seed, loss):
    saddle, _ = make(seed, loss=loss)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::5])
    rng = np.random.RandomState(seed)
    n = len(saddle.weight)
    b = rng.rand(n) if loss.nu else np.zeros(n)
    state = _State(rng.rand(n), b, rng.dirichlet(np.ones(len(saddle.columns))))
    C = saddle.weight / (1 - loss.theta) ** 2

    def value(a, b, v):
        beta = saddle.sign * (a - b)
        quad = np.sum(a**2 / (4 * C)) + (np.sum(b**2 / (4 * loss.nu * C)) if loss.nu else 0.0)
        linear = (1 - loss.theta) * a.sum() - (1 + loss.theta) * b.sum()
        return linear - quad - 0.5 * v @ (beta @ saddle.products(beta))

    gradient, h = _gradient(saddle, state), 1e-5
    for i in rng.choice(n, 3, replace=False):
        step = h * (np.arange(n) == i)
        rise = value(state.a + step, b, state.v) - value(state.a - step, b, state.v)
        assert rise / (2 * h) == pytest.approx(gradient.a[i], abs=1e-7, rel=1e-7)
        if loss.nu:
            rise = value(state.a, b + step, state.v) - value(state.a, b - step, state.v)
            assert rise / (2 * h) == pytest.approx(gradient.b[i], abs=1e-7, rel=1e-7)
    each = [value(state.a, b, np.eye(len(state.v))[k]) for k in range(len(state.v))]
    np.testing.assert_allclose(gradient.v, each, rtol=1e-10)


@pytest.mark.parametrize("lam", [1.0, 100.0, 1000.0])
@pytest.mark.parametrize("loss", BANDS)
def test_mirror_prox_reaches_the_same_saddle_value(loss, lam):
    saddle, _ = make(1, loss=loss, lam=lam)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::3])
    exact = column_newton(saddle)
    point = mirror_prox(saddle, tol=1e-6)
    assert point.converged
    assert point.n_iter <= 1000
    assert point.gap <= 1e-6 * point.upper
    assert point.lower - 1e-9 <= exact.upper <= point.upper + 1e-9


def test_stochastic_mirror_prox_comes_near_and_is_repeatable():
    saddle, _ = make(1, lam=1.0)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::3])
    runs = [
        mirror_prox(
            saddle, gradients="stochastic", max_iter=500, random_state=np.random.RandomState(5)
        )
        for _ in range(2)
    ]
    start = runs[0].history[0]["gap"]
    assert runs[0].gap < 0.2 * start
    assert not runs[0].converged
    np.testing.assert_array_equal(runs[0].beta, runs[1].beta)


def test_sample_gradient_gradients_are_unbiased():
    saddle, _ = make(2)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::4])
    size, rng = len(saddle.columns), np.random.RandomState(0)
    n = len(saddle.weight)
    state = _State(rng.rand(n), rng.rand(n), rng.dirichlet(np.ones(size)))
    middles = np.cumsum(state.v) - state.v / 2
    mean = [0.0, 0.0, 0.0]
    for i, j in product(range(size), range(size)):
        draw = SimpleNamespace(random_sample=lambda i=i: middles[i], randint=lambda _, j=j: j)
        estimate = _sample_gradient(saddle, state, draw)
        for part in range(3):
            mean[part] = mean[part] + state.v[i] / size * estimate[part]
    for part, exact in zip(mean, _gradient(saddle, state), strict=True):
        np.testing.assert_allclose(part, exact, rtol=1e-10, atol=1e-10)
