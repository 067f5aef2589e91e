"""The saddle problem over a pool: its products, and bounds at any point."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.solvers.column_newton import column_newton
from reference.saddles import assignments, make, row_features, with_columns


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_products_are_those_of_the_written_out_kernels(seed, explicit):
    saddle, features = make(seed, explicit=explicit)
    saddle = with_columns(saddle, assignments((2, 3, 2))[::4])
    rng = np.random.RandomState(seed)
    beta, v = rng.randn(len(saddle.weight)), rng.dirichlet(np.ones(len(saddle.columns)))
    expected = []
    for column in saddle.columns:
        F = row_features(saddle, features, column)
        expected.append(F @ (F.T @ beta))
    expected = np.stack(expected, axis=1)
    np.testing.assert_allclose(saddle.products(beta), expected, rtol=1e-12, atol=1e-12)
    scores = saddle.scores(saddle.mix(v), beta)
    np.testing.assert_allclose(scores, expected @ v, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("explicit", [False, True])
def test_a_part_of_the_pool_is_a_pool_of_its_own(explicit):
    whole, _ = make(0, explicit=explicit)
    every, kept = assignments((2, 3, 2)), np.arange(12) >= 9
    beta, v = np.random.RandomState(0).randn(len(whole.weight)), np.array([0.2, 0.5, 0.3])
    expected = with_columns(whole, every[9:]).point(with_columns(whole, every[9:]).mix(v), beta)
    part = with_columns(whole, every).part(kept)
    point = part.point(part.mix(v), beta)
    np.testing.assert_allclose(point.products, expected.products, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(point.norms, expected.norms, rtol=1e-12)
    assert point.upper == pytest.approx(expected.upper, rel=1e-12)


def test_products_of_rows_in_use_are_those_of_all_rows():
    saddle = with_columns(make(0)[0], assignments((2, 3, 2))[::4])
    rng = np.random.RandomState(0)
    beta = np.where(rng.rand(len(saddle.weight)) < 0.5, rng.randn(len(saddle.weight)), 0.0)
    curvature = 1.0 * (rng.rand(len(beta)) < 0.3)
    mixture = saddle.mix(rng.dirichlet(np.ones(len(saddle.columns))))
    whole, part = saddle.point(mixture, beta), saddle.point(mixture, beta, None, curvature)
    used = (np.arange(len(beta)) < saddle.n_bags) | (beta != 0) | (curvature > 0)
    np.testing.assert_array_equal(part.products[used], whole.products[used])
    assert not used.all()
    assert not part.products[~used].any()
    assert (part.upper, part.lower) == (whole.upper, whole.lower)


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
