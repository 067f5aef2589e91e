"""Kernel matrices as designs against explicit dense algebra, prepared and not."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from bagwise.designs import Gram
from bagwise.designs.base import solve_dual
from bagwise.designs.gram import PreparedInverse
from reference.ridge import MIX, N, check_ridge, curvature_and_target, rows


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_gram_products(dtype, precision):
    X = rows()
    design = Gram((X @ X.T).astype(dtype))
    rng = np.random.default_rng(3)
    for used in (N, 10):  # dense and sparse coefficients take different paths
        coef = rng.normal(size=N)
        coef[used:] = 0
        assert np.allclose(design @ coef, X @ X.T @ coef, atol=precision)
        exact = design.K.astype(np.float64) @ coef  # single precision is for entries, not for sums
        assert np.allclose(design @ coef, exact, rtol=1e-12, atol=1e-12)
        assert np.array_equal(design.adjoint(coef), coef)
        norm = np.sum((X.T @ coef) ** 2)
        assert design.squared_norm(coef) == pytest.approx(norm, rel=precision)
        assert design.squared_norm(coef, design @ coef) == pytest.approx(norm, rel=precision)
    combined = design.aggregate(MIX)
    few = rng.normal(size=25)
    assert np.allclose(combined @ few, MIX @ X @ (MIX @ X).T @ few, atol=precision)
    assert np.allclose(design @ design.lift(MIX, few), X @ (MIX @ X).T @ few, atol=precision)


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-9), (np.float32, 1e-2)])
@pytest.mark.parametrize("seed", range(3))
def test_gram_ridge(dtype, precision, seed):
    X = rows()
    design = Gram((X @ X.T).astype(dtype))
    s, t = curvature_and_target(N, seed)
    check_ridge(design, X, s, t, precision)
    assert not design.weighted_ridge(s, t, design.start(), 0.0).coef[s == 0].any()


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-9), (np.float32, 1e-2)])
@pytest.mark.parametrize("unused", [0, 12])
def test_gram_ridge_after_prepare(dtype, precision, unused):
    X = rows()
    design = Gram((X @ X.T).astype(dtype))
    rng = np.random.default_rng(4)
    most = rng.uniform(0.5, 3, N)
    most[rng.permutation(N)[:unused]] = 0  # rows that never carry curvature
    design.prepare(most)
    assert design.prepared
    _, t = curvature_and_target(N, 4)
    s = most
    # A path on which rows leave for long, come back, and take every share of their curvature.
    for k in range(30):
        s = most * rng.choice([0.0, 0.4, 1.0, 1.0], N) if k % 5 else most
        s = s * (np.arange(N) % 3 > 0) if 8 < k < 22 else s
        check_ridge(design, X, s, t, precision)
    assert not design.fresh().prepared


@pytest.mark.parametrize("unused", [0, 12])
def test_gram_subset_and_twin_carry_what_was_prepared(unused):
    X = rows()
    design = Gram(X @ X.T)
    most = np.full(N, 2.0)
    most[:unused] = 0
    design.prepare(most)
    _, t = curvature_and_target(N, 5)
    half = np.arange(0, N, 2)
    part, twin = design.subset(half), design.twin()
    assert part.prepared
    assert twin.prepared
    for share in (1.0, np.linspace(0.01, 1, N)):
        s = share * most
        check_ridge(part, X[half], s[half], t[half], 1e-9)
        check_ridge(twin, X, s, t, 1e-9)
        check_ridge(design, X, s, t, 1e-9)


@pytest.mark.parametrize("beyond", ["more curvature", "a row that was left out"])
def test_gram_ridge_beyond_what_was_prepared_is_still_right(beyond):
    X = rows()
    design = Gram(X @ X.T)
    most = np.full(N, 2.0)
    most[5] = 0
    design.prepare(most)
    s, (_, t) = most.copy(), curvature_and_target(N, 6)
    s[7 if beyond == "more curvature" else 5] = 3.0
    check_ridge(design, X, s, t, 1e-9)


CORRECT = PreparedInverse.correct


def direct(K, curvature, rows):
    root = np.sqrt(curvature[rows])
    return np.linalg.inv(np.eye(len(rows)) + root[:, None] * K[np.ix_(rows, rows)] * root)


def assert_prepared(prepared, K, curvature, rows, atol=1e-11):
    np.testing.assert_array_equal(prepared.rows, rows)
    np.testing.assert_allclose(prepared.root, np.sqrt(curvature[rows]), rtol=1e-6)
    expected = direct(K, curvature, rows)
    np.testing.assert_allclose(prepared.inverse, expected, atol=atol)
    np.testing.assert_allclose(prepared.rooted, expected @ np.sqrt(curvature[rows]), atol=10 * atol)


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
    check_corrected(K, prepared, prepared.correct(share, changed), target)


@given(st.integers(0, 10**6), st.floats(0, 1), st.floats(0, 1))
def test_a_bordered_correction_is_the_direct_one(seed, before, after):
    """Rows enter and leave, down to none, without another factor."""
    rng = np.random.default_rng(seed)
    K = rbf_kernel(rng.normal(size=(N, 3)), gamma=0.2)
    prepared = PreparedInverse.of(K, rng.uniform(0.5, 20.0, N))
    old, new = (np.where(rng.random(N) < zero, 0.0, 1.0) for zero in (before, after))
    old[0] = new[0] = 1.0
    known = prepared.correct(old, np.flatnonzero(old == 0))
    part = prepared.border(known, new, np.flatnonzero(new == 0))
    check_corrected(K, prepared, part, rng.normal(size=N))


def test_problems_that_differ_in_few_rows_are_solved_with_few_factors(monkeypatch):
    """As in mi-SVM: rows leave and return, a few at a time; now and then some curvature is less."""
    rng, n = np.random.default_rng(0), 120
    K = rbf_kernel(rng.normal(size=(n, 3)), gamma=0.2)
    design, active, factored = Gram(K), rng.random(n) < 0.6, []
    design.prepare(np.full(n, 2.0))
    monkeypatch.setattr(
        PreparedInverse, "correct", lambda self, *a: factored.append(1) or CORRECT(self, *a)
    )
    for step in range(40):
        active[rng.integers(0, n, 2)] ^= True
        rows, target = np.flatnonzero(active), rng.normal(size=n)
        curvature = 2.0 * active
        curvature[rows[:5]] = 1.0 if step % 10 == 5 else 2.0
        found = design.weighted_ridge(curvature, target, design.start(), 0.0)
        expected, b = solve_dual(K[np.ix_(rows, rows)], curvature[rows], target[rows])
        np.testing.assert_allclose(found.coef[rows], expected, atol=1e-9)
        assert found.intercept == pytest.approx(b, abs=1e-9)
    assert 8 <= len(factored) < 20


def check_corrected(K, prepared, part, target):
    share, most = part.share, prepared.root**2
    dual, intercept, scores = prepared.ridge(part, target)
    active = np.flatnonzero(share)
    expected, b = solve_dual(K[np.ix_(active, active)], (share * most)[active], target[active])
    np.testing.assert_allclose(dual[active], expected, atol=1e-9)
    np.testing.assert_allclose(dual[share == 0], 0.0, atol=0)
    assert intercept == pytest.approx(b, abs=1e-10)
    np.testing.assert_allclose(scores, K[:, active] @ expected, atol=1e-9)
    assert dual.sum() == pytest.approx(0, abs=1e-9)
