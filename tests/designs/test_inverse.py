"""Prepared inverses: Schur complements and corrections against direct solves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from bagwise.designs import Gram
from bagwise.designs.inverse import PreparedInverse
from bagwise.designs.ridge import solve_dual

N = 40


@pytest.fixture(scope="module")
def kernel():
    return rbf_kernel(np.random.default_rng(0).normal(size=(N, 3)), gamma=0.2)


@pytest.fixture(scope="module")
def curvature():
    curvature = np.random.default_rng(1).uniform(0.5, 20.0, N)
    curvature[[3, 17, 18]] = 0.0
    return curvature


def direct(K, curvature, rows):
    root = np.sqrt(curvature[rows])
    return np.linalg.inv(np.eye(len(rows)) + root[:, None] * K[np.ix_(rows, rows)] * root)


def assert_prepared(prepared, K, curvature, rows, atol=1e-11):
    np.testing.assert_array_equal(prepared.rows, rows)
    np.testing.assert_allclose(prepared.root, np.sqrt(curvature[rows]), rtol=1e-6)
    expected = direct(K, curvature, rows)
    np.testing.assert_allclose(prepared.inverse, expected, atol=atol)
    np.testing.assert_allclose(prepared.rooted, expected @ np.sqrt(curvature[rows]), atol=10 * atol)


def test_the_inverse_is_that_of_the_rows_with_curvature(kernel, curvature):
    rows = np.flatnonzero(curvature)
    assert_prepared(PreparedInverse.of(kernel, curvature), kernel, curvature, rows)


def test_large_inverses_are_mirrored_block_by_block():
    X = np.random.default_rng(2).normal(size=(1100, 4))
    K, curvature = rbf_kernel(X, gamma=0.5), np.full(1100, 2.0)
    prepared = PreparedInverse.of(K, curvature)
    system = np.eye(1100) + 2.0 * K
    np.testing.assert_allclose(prepared.inverse @ system, np.eye(1100), atol=1e-10)
    np.testing.assert_array_equal(prepared.inverse, prepared.inverse.T)
    assert prepared.inverse.flags.c_contiguous


@given(st.sets(st.integers(0, N - 1), min_size=4))
def test_rows_are_dropped_by_a_schur_complement(kept):
    K = rbf_kernel(np.random.default_rng(0).normal(size=(N, 3)), gamma=0.2)
    curvature = np.random.default_rng(1).uniform(0.5, 20.0, N)
    curvature[[3, 17, 18]] = 0.0
    rows = np.array(sorted(kept))
    part = PreparedInverse.of(K, curvature).subset(rows)
    active = np.flatnonzero(curvature[rows])
    assert_prepared(part, K[np.ix_(rows, rows)], curvature[rows], active)


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_a_corrected_ridge_is_the_direct_one(seed, changed_share, zero_share):
    rng = np.random.default_rng(seed)
    K = rbf_kernel(rng.normal(size=(N, 3)), gamma=0.2)
    most, target = rng.uniform(0.5, 20.0, N), rng.normal(size=N)
    share = np.where(rng.random(N) < changed_share, rng.random(N), 1.0)
    share[rng.random(N) < zero_share] = 0.0
    share[0] = max(share[0], 0.5)  # a problem needs some curvature
    prepared = PreparedInverse.of(K, most)
    changed = np.flatnonzero(share < 1)
    dual, intercept, scores = prepared.ridge(share, target, changed)
    active = np.flatnonzero(share)
    expected, b = solve_dual(K[np.ix_(active, active)], (share * most)[active], target[active])
    np.testing.assert_allclose(dual[active], expected, atol=1e-9)
    np.testing.assert_allclose(dual[share == 0], 0.0, atol=0)
    assert intercept == pytest.approx(b, abs=1e-10)
    np.testing.assert_allclose(scores, K[:, active] @ expected, atol=1e-9)
    assert dual.sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_folds_are_views_of_one_inverse(kernel, curvature, dtype):
    whole = Gram(kernel)
    whole.prepare(curvature)
    rows = np.flatnonzero(np.random.default_rng(4).random(N) < 0.8)
    part = whole.astype(dtype).subset(rows)
    np.testing.assert_allclose(part.K, kernel[np.ix_(rows, rows)], atol=1e-6)
    active = np.flatnonzero(curvature[rows])
    atol = 1e-11 if dtype == np.float64 else 1e-5
    sub = kernel[np.ix_(rows, rows)]
    assert_prepared(part._inverse, sub, curvature[rows], active, atol=atol)
