"""The saddle problem over a pool: its products, and bounds at any point."""

from __future__ import annotations

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
    np.testing.assert_allclose(saddle.product(beta, 1), expected[:, 1], rtol=1e-12, atol=1e-12)
    scores = saddle.scores(saddle.mix(v), beta)
    np.testing.assert_allclose(scores, expected @ v, rtol=1e-12, atol=1e-12)


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
