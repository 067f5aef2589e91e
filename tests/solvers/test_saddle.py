"""The saddle problem over a pool: values against clarabel, solvers against each other."""

from __future__ import annotations

from functools import cache
from itertools import product
from types import SimpleNamespace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bagwise.losses import MarginBand
from bagwise.solvers.bordered import BorderedSystem
from bagwise.solvers.column_newton import column_newton, simplex_step
from bagwise.solvers.mirror_prox import _gradient, _sampled, _State, mirror_prox
from bagwise.solvers.saddle import Saddle

BANDS = [MarginBand(0.4, 0.6), MarginBand(0.0, 0.0), MarginBand(0.7, 2.0)]


def assignments(sizes):
    """All ways to choose one instance of each bag, as row numbers."""
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    return [first + np.array(choice) for choice in product(*map(range, sizes))]


def chosen_rows(chosen, n_units):
    p = len(chosen)
    return sp.csr_array((np.ones(p), (np.arange(p), chosen)), shape=(p, n_units))


def make(seed, sizes=(2, 3, 2), n_negatives=6, d=4, loss=BANDS[0], lam=5.0):
    """A small problem with explicit features, no column yet, and those features."""
    rng = np.random.RandomState(seed)
    n_pos = int(np.sum(sizes))
    X = rng.randn(n_pos + n_negatives, d)
    X[:n_pos:2] += 1.0
    weight = np.concatenate([np.full(len(sizes), lam / len(sizes)), np.full(n_negatives, lam / 3)])
    weight *= rng.uniform(0.5, 1.5, len(weight))
    return Saddle(X @ X.T, np.arange(n_pos, len(X)), weight, loss), np.column_stack(
        [X, np.ones(len(X))]
    )


def row_features(saddle, features, column):
    return np.concatenate([column.weights @ features, features[saddle.negatives]])


def clarabel_value(saddle, features):
    """Solve max_u min_k D(u, A_k) over the pool as a second-order cone program.

    Variables a, b, d. Each column: 1/2 |F'(sg (a - b))|^2 + quad(a, b) <= lin(a, b) - d, written
    as |[y; s - 1/2]| <= s + 1/2 with 1/2 |y|^2 the left and s the right side.
    """
    loss, n = saddle.loss, len(saddle.weight)
    C = saddle.weight / (1 - loss.theta) ** 2
    linear, curvature, turn = np.full(n, 1 - loss.theta), 1 / np.sqrt(2 * C), np.eye(n)
    if loss.nu > 0:  # otherwise there is no b
        linear = np.concatenate([linear, np.full(n, -1 - loss.theta)])
        curvature = np.concatenate([curvature, 1 / np.sqrt(2 * loss.nu * C)])
        turn = np.hstack([turn, -turn])
    size = len(linear)
    blocks, rights = [-np.eye(size, size + 1)], [np.zeros(size)]
    cones = [clarabel.NonnegativeConeT(size)]
    right_side = np.append(linear, -1.0)
    for column in saddle.columns:
        F = row_features(saddle, features, column) * saddle.sign[:, None]
        y = np.hstack(
            [np.vstack([F.T @ turn, np.diag(curvature)]), np.zeros((F.shape[1] + size, 1))]
        )
        blocks.append(-np.vstack([right_side, y, right_side]))
        rights.append(np.concatenate([[0.5], np.zeros(len(y)), [-0.5]]))
        cones.append(clarabel.SecondOrderConeT(len(y) + 2))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    nothing, cost = sp.csc_matrix((size + 1, size + 1)), np.append(np.zeros(size), -1.0)
    constraints = sp.csc_matrix(np.vstack(blocks)), np.concatenate(rights)
    solver = clarabel.DefaultSolver(nothing, cost, *constraints, cones, settings)
    return -solver.solve().obj_val


def with_columns(saddle, choices):
    for chosen in choices:
        saddle = saddle.with_column(chosen_rows(chosen, len(saddle.K)))
    return saddle


# Values ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_products_are_those_of_the_written_out_kernels(seed):
    saddle, features = make(seed)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::4])
    rng = np.random.RandomState(seed)
    beta, v = rng.randn(len(saddle.weight)), rng.dirichlet(np.ones(len(saddle.columns)))
    expected = []
    for column in saddle.columns:
        F = row_features(saddle, features, column)
        expected.append(F @ (F.T @ beta))
    expected = np.stack(expected, axis=1)
    np.testing.assert_allclose(saddle.products(beta), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(saddle.product(beta, 1), expected[:, 1], rtol=1e-12, atol=1e-12)
    scores = saddle.scores(saddle.mix(v), beta)
    np.testing.assert_allclose(scores, expected @ v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("loss", BANDS)
@pytest.mark.parametrize("seed", range(3))
def test_fixed_assignment_primal_dual_and_clarabel_agree(seed, loss):
    saddle, features = make(seed, loss=loss)
    saddle = with_columns(saddle, assignments((2, 3, 2))[seed : seed + 1])
    point = column_newton(saddle)
    assert point.converged
    assert point.upper - point.lower <= 1e-9 * point.upper
    assert point.upper == pytest.approx(clarabel_value(saddle, features), rel=1e-9)


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
        norms = np.array([beta @ saddle.product(beta, k) for k in range(len(v))])
        return linear - quad - 0.5 * v @ norms

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


@cache
def solved(seed):
    saddle = with_columns(make(seed)[0], assignments((2, 3, 2))[::3])
    return saddle, column_newton(saddle)


@given(seed=st.integers(0, 1000))
def test_any_point_brackets_the_saddle_value(seed):
    saddle, best = solved(seed % 3)
    rng = np.random.RandomState(seed)
    v = rng.dirichlet(np.ones(len(saddle.columns)))
    point = saddle.point(saddle.mix(v), best.beta * rng.uniform(0, 2, len(best.beta)))
    slack = 1e-9 * best.upper
    assert point.lower <= best.upper + slack
    assert point.upper >= best.lower - slack


# Solvers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", BANDS)
@pytest.mark.parametrize("seed", range(2))
def test_enumerated_relaxation_agrees_with_a_cone_program(seed, loss):
    saddle, features = make(seed, loss=loss)
    saddle = with_columns(saddle, assignments((2, 3, 2)))
    point = column_newton(saddle)
    assert point.converged
    assert point.gap <= 1e-8
    assert point.upper == pytest.approx(clarabel_value(saddle, features), rel=1e-8)
    assert point.v.min() >= 0
    assert point.v.sum() == pytest.approx(1)


def test_the_relaxation_is_below_every_single_assignment():
    saddle, _ = make(3)
    every = assignments((2, 3, 2))
    relaxed = column_newton(with_columns(saddle, every)).upper
    single = [column_newton(with_columns(saddle, [c])).upper for c in every]
    assert relaxed < min(single)


def test_a_larger_pool_starts_from_the_smaller_ones_solution():
    saddle, _ = make(0)
    every = assignments((2, 3, 2))
    system = BorderedSystem(saddle.K, saddle.negatives)
    small = column_newton(with_columns(saddle, every[:4]), system=system)
    warm = column_newton(with_columns(saddle, every[:5]), small, system=system)
    cold = column_newton(with_columns(saddle, every[:5]))
    assert warm.upper == pytest.approx(cold.upper, rel=1e-8)
    assert warm.upper <= small.upper * (1 + 1e-12)


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
        mirror_prox(saddle, stochastic=True, max_iter=500, random_state=np.random.RandomState(5))
        for _ in range(2)
    ]
    start = runs[0].history[0]["gap"]
    assert runs[0].gap < 0.2 * start
    assert not runs[0].converged
    np.testing.assert_array_equal(runs[0].beta, runs[1].beta)


def test_sampled_gradients_are_unbiased():
    saddle, _ = make(2)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::4])
    size, rng = len(saddle.columns), np.random.RandomState(0)
    n = len(saddle.weight)
    state = _State(rng.rand(n), rng.rand(n), rng.dirichlet(np.ones(size)))
    middles = np.cumsum(state.v) - state.v / 2
    mean = [0.0, 0.0, 0.0]
    for i, j in product(range(size), range(size)):
        draw = SimpleNamespace(random_sample=lambda i=i: middles[i], randint=lambda _, j=j: j)
        estimate = _sampled(saddle, state, draw)
        for part in range(3):
            mean[part] = mean[part] + state.v[i] / size * estimate[part]
    for part, exact in zip(mean, _gradient(saddle, state), strict=True):
        np.testing.assert_allclose(part, exact, rtol=1e-10, atol=1e-10)


@given(seed=st.integers(0, 1000))
def test_bordered_systems_solve_what_they_say(seed):
    rng = np.random.RandomState(seed)
    saddle, features = make(seed % 7, n_negatives=100)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::5])
    system = BorderedSystem(saddle.K, saddle.negatives)
    curvature = rng.choice([0.0, 0.5, 2.0], len(saddle.weight))
    for _ in range(4):
        v = rng.dirichlet(np.ones(len(saddle.columns)))
        right = rng.randn(len(curvature), 2)
        got = system.at(saddle.mix(v), curvature).solve(right)
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
        few = rng.choice(len(curvature), 15)
        curvature = curvature.copy()
        curvature[few] = rng.choice([0.0, 0.5, 2.0], 15)
    assert system.n_factorisations < system.n_systems


def test_few_factorisations_serve_many_systems():
    saddle, _ = make(0, sizes=(3,) * 10, n_negatives=60, d=8, lam=20.0)
    rng, system, point = np.random.RandomState(0), BorderedSystem(saddle.K, saddle.negatives), None
    for _ in range(8):
        chosen = 3 * np.arange(10) + rng.randint(0, 3, 10)
        saddle = with_columns(saddle, [chosen])
        point = column_newton(saddle, point, system=system)
    assert system.n_factorisations <= 6 * len(saddle.columns)
    assert system.n_factorisations < 0.5 * system.n_systems


@given(seed=st.integers(0, 1000), size=st.integers(1, 8))
def test_simplex_steps_meet_their_optimality_conditions(seed, size):
    rng = np.random.RandomState(seed)
    F, v = rng.randn(size, size), rng.dirichlet(np.ones(size))
    H, g = F @ F.T + 1e-6 * np.eye(size), rng.randn(size)
    x = v + simplex_step(H, g, v)
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1)
    gradient = H @ (x - v) + g
    assert x @ gradient - gradient.min() <= 1e-7 * max(1, np.abs(gradient).max())
