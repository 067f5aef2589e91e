"""Prepared inverses: Schur complements, bordering and corrections against direct solves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from bagwise.designs import Gram
from bagwise.designs.base import Point
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


@given(st.sets(st.integers(0, N - 4), min_size=1))
def test_rows_are_dropped_by_a_schur_complement(kept):
    K = rbf_kernel(np.random.default_rng(0).normal(size=(N, 3)), gamma=0.2)
    curvature = np.random.default_rng(1).uniform(0.5, 20.0, N)
    curvature[[3, 17, 18]] = 0.0
    whole, keep = PreparedInverse.of(K, curvature), np.array(sorted(kept))
    narrow = whole.restricted(keep)
    assert_prepared(narrow, K, curvature, whole.rows[keep])


@pytest.mark.parametrize("added", [[0], [5, 9, 30], [39, 2, 20, 1]])
def test_rows_come_back_by_bordering(kernel, curvature, added):
    whole = PreparedInverse.of(kernel, curvature)
    keep = np.flatnonzero(~np.isin(whole.rows, added))
    narrow = whole.restricted(keep)
    added = np.array(added)
    grown = narrow.extended(kernel, added, np.sqrt(curvature[added]))
    rows = np.concatenate([whole.rows[keep], added])
    assert_prepared(grown, kernel, curvature, rows)


def test_precision_changes_nothing_else(kernel, curvature):
    single = PreparedInverse.of(kernel, curvature).astype(np.float32)
    assert single.inverse.dtype == single.root.dtype == single.rooted.dtype == np.float32
    assert_prepared(single, kernel, curvature, np.flatnonzero(curvature), atol=1e-5)


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


# Inside the design -------------------------------------------------------------------------------


def wandering_curvatures(most, n, rng):
    """Curvatures of a path: rows lose theirs for good, for a while, or in part."""
    share = np.ones(len(most))
    for step in range(n):
        share = np.where(rng.random(len(most)) < 0.1, rng.random(len(most)), share)
        share = np.where(rng.random(len(most)) < 0.15, 0.0, share)
        share = np.where(rng.random(len(most)) < 0.05, 1.0, share)
        if step == n // 2:
            share = np.where(np.arange(len(most)) % 2, 0.0, share)  # half of the rows go
        if step == n - 3:
            share = np.where(rng.random(len(most)) < 0.5, 1.0, share)  # and many come back
        share[0] = 1.0
        yield share * most


def follow(prepared, plain, rng, most):
    """Walk a path on both; return the sizes of the inverses that served it."""
    sizes = set()
    here = Point(np.zeros(N), 0.0, np.zeros(N))
    for curvature in wandering_curvatures(most, 60, rng):
        target = rng.normal(size=N)
        one = prepared.weighted_ridge(curvature, target, here, 0.0)
        other = plain.weighted_ridge(curvature, target, here, 0.0)
        np.testing.assert_allclose(one.coef, other.coef, atol=1e-9)
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        assert one.intercept == pytest.approx(other.intercept, abs=1e-9)
        if prepared._inverse.narrow is not None:
            sizes.add(len(prepared._inverse.narrow.rows))
    return sizes


@pytest.mark.parametrize("limit", [None, 0])
def test_a_prepared_path_is_the_path(kernel, monkeypatch, limit):
    """Rows dropped, rows taken back, and (limit 0) rows inverted only once they are known."""
    if limit is not None:
        monkeypatch.setattr("bagwise.designs.adaptive._FEW_ROWS", limit)
    most, prepared = np.full(N, 4.0), Gram(kernel)
    prepared.prepare(most)
    sizes = follow(prepared, Gram(kernel), np.random.default_rng(3), most)
    assert len(sizes) > 2  # it did drop and take back


def test_paths_over_one_fold_share_narrowed_inverses_and_stay_right(kernel, monkeypatch):
    most, whole = np.full(N, 4.0), Gram(kernel)
    whole.prepare(most)
    fold = whole.subset(np.arange(0, N - 4))
    schur = PreparedInverse.restricted
    counts = []

    def counted(self, keep):
        counts[-1] += 1
        return schur(self, keep)

    monkeypatch.setattr(PreparedInverse, "restricted", counted)
    for seed in (3, 3, 4):
        counts.append(0)
        follow(fold.twin(), Gram(fold.K), np.random.default_rng(seed), most[: N - 4])
    assert counts[1] < counts[0]  # the same path again finds what it needs on the shelf
    assert fold._inverse.shelf
    assert whole._inverse.shelf is None


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
    assert_prepared(part._inverse.whole, sub, curvature[rows], active, atol=atol)


def test_twins_share_the_inverse_and_not_the_memory(kernel):
    whole = Gram(kernel)
    whole.prepare(np.full(N, 4.0))
    twin = whole.twin()
    assert twin._inverse.whole is whole._inverse.whole
    here, half = Point(np.zeros(N), 0.0, np.zeros(N)), np.where(np.arange(N) < 20, 4.0, 0.0)
    for _ in range(20):
        twin.weighted_ridge(half, np.ones(N), here, 0.0)
    assert len(twin._inverse.narrow.rows) == 20
    assert len(whole._inverse.narrow.rows) == N
    assert not whole.fresh().prepared
