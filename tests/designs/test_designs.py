"""Every design against explicit dense algebra, and its ridge step against one linear system."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from bagwise.bags import Bags
from bagwise.designs import Dense, Gram, Point, Sparse, dense, linear, matrix_design

N, D = 60, 7


def rows(n=N, d=D, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[np.abs(X) < 0.3] = 0
    return X.astype(np.float16).astype(np.float64)  # the same numbers in every precision


def mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


MIX = sp.random_array((25, N), density=0.05, rng=0, format="csr") + sp.csr_array(
    (np.full(20, 0.5), (np.arange(20), np.arange(20) + 3)), shape=(25, N)
)
KINDS = {
    "dense": (lambda X, _: Dense(X), 1e-12),
    "float32": (lambda X, _: Dense(np.float32(X)), 1e-4),
    "float16": (lambda X, _: Dense(np.float16(X)), 1e-4),
    "fortran": (lambda X, _: Dense(np.asfortranarray(X)), 1e-12),
    "memory map": (lambda X, folder: Dense(mapped(X, folder)), 1e-12),
    "float16 map": (lambda X, folder: Dense(mapped(np.float16(X), folder)), 1e-4),
    "csr": (lambda X, _: Sparse(sp.csr_array(X)), 1e-12),
    "csr32": (lambda X, _: Sparse(sp.csr_array(np.float32(X))), 1e-4),
    "mixed": (lambda X, _: Dense(X).aggregate(MIX), 1e-12),
    "mixed csr": (lambda X, _: Sparse(sp.csr_array(X)).aggregate(MIX), 1e-12),
    "mixed twice": (
        lambda X, _: Dense(X).aggregate(sp.csr_array(np.eye(N)[::-1])).aggregate(MIX[:, ::-1]),
        1e-12,
    ),
}
MIXED = ("mixed", "mixed csr", "mixed twice")


@pytest.fixture(params=KINDS)
def linear_design(request, tmp_path):
    """Return a design, the float64 matrix it stands for, and its precision."""
    make, precision = KINDS[request.param]
    X = rows()
    matrix = MIX @ X if request.param in MIXED else X
    return make(X, tmp_path), matrix, precision


def test_products(linear_design):
    design, X, precision = linear_design
    rng = np.random.default_rng(1)
    w, r = rng.normal(size=D), rng.normal(size=len(X))
    for product, expected in (
        (design @ w, X @ w),
        (design.T @ r, X.T @ r),
        (design.adjoint(r), X.T @ r),
        (design.weighted_sum(r), X.T @ r),
        (design.weighted_gram(r), X.T @ (r[:, None] * X)),  # weights of either sign
        (design.weighted_squares(r), np.diag(X.T @ (r[:, None] * X))),
        (design.weighted_gram(0 * r), np.zeros((D, D))),
    ):
        assert product.dtype == np.float64
        assert np.allclose(product, expected, atol=precision)
    assert design.squared_norm(w) == pytest.approx(w @ w)
    assert (design.n_rows, design.n_coef) == X.shape


def test_rows_and_combinations(linear_design):
    design, X, precision = linear_design
    some = np.array([3, 0, 11])
    taken = design.matrix(some)
    taken = taken.toarray() if sp.issparse(taken) else taken
    assert np.allclose(taken, X[some], atol=precision)
    mix = sp.random_array((6, len(X)), density=0.1, rng=1, format="csr")
    combined = design.aggregate(mix)
    w, r = np.arange(D) - 2.0, np.arange(6) - 2.0
    assert np.allclose(combined @ w, mix @ X @ w, atol=10 * precision)
    assert np.allclose(combined.T @ r, (mix @ X).T @ r, atol=10 * precision)
    assert np.allclose(design.lift(mix, w), w)
    part = design.subset(np.array([1, 4, 9]))
    assert np.allclose(part @ w, X[[1, 4, 9]] @ w, atol=10 * precision)


def test_blocks_make_no_difference(linear_design, monkeypatch):
    design, X, precision = linear_design
    monkeypatch.setattr(dense, "_BLOCK_BYTES", 200)
    r = np.random.default_rng(2).normal(size=len(X))
    assert np.allclose(design @ np.ones(D), X.sum(axis=1), atol=precision)
    assert np.allclose(design.adjoint(r), X.T @ r, atol=precision)
    assert np.allclose(design.weighted_gram(r), X.T @ (r[:, None] * X), atol=precision)


def test_a_slice_of_sparse_bags_is_made_compact_once():
    X = sp.csr_array(rows(200))
    part = Bags(X, np.arange(0, 201, 10))[:4]
    design = Sparse(part.X)
    assert design.X.nnz == design.X.data.size < X.nnz
    assert np.shares_memory(design.X.data, design._transposed.data)
    assert np.allclose(design.adjoint(np.ones(40)), X.toarray()[:40].sum(axis=0))


# The ridge step -----------------------------------------------------------------------------------


def ridge_by_hand(X, s, t):
    """Return w, b of min 1/2|w|^2 + 1/2 sum s (x.w + b - t)^2 from its normal equations."""
    wide = np.column_stack([X, np.ones(len(X))])
    penalty = np.append(np.ones(X.shape[1]), 0.0)
    system = np.diag(penalty) + wide.T @ (s[:, None] * wide)
    solution = np.linalg.solve(system, wide.T @ (s * t))
    return solution[:-1], solution[-1]


def curvature_and_target(n, seed, zeros=0.3):
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.1, 5, n) * (rng.random(n) >= zeros)
    return s, rng.normal(size=n)


def check_ridge(design, X, s, t, precision, start=None):
    start = design.start() if start is None else start
    point = design.weighted_ridge(s, t, start, 1e-12)
    coef, intercept = ridge_by_hand(X, s, t)
    w = coef if design.n_coef == X.shape[1] and not isinstance(design, Gram) else None
    if w is not None:
        assert np.allclose(point.coef, w, atol=precision)
    assert np.allclose(point.scores, X @ coef, atol=precision)
    assert np.allclose(design @ point.coef, point.scores, atol=precision)
    assert point.intercept == pytest.approx(intercept, abs=precision)


@pytest.mark.parametrize("seed", range(3))
def test_ridge(linear_design, seed):
    design, X, precision = linear_design
    s, t = curvature_and_target(len(X), seed)
    check_ridge(design, X, s, t, 100 * precision)
    rng = np.random.default_rng(seed)
    coef = rng.normal(size=D)
    check_ridge(design, X, s, t, 100 * precision, Point(coef, 0.3, X @ coef))


@pytest.mark.parametrize("n_active", [1, 2, 5, 7, 8, 40])
def test_ridge_on_few_rows(linear_design, n_active):
    design, X, precision = linear_design
    n_active = min(n_active, len(X))
    s, t = curvature_and_target(len(X), 0, 0.0)
    s[n_active:] = 0
    check_ridge(design, X, s, t, 100 * precision)


@pytest.mark.parametrize("make", [Dense, lambda X: Sparse(sp.csr_array(X))], ids=["dense", "csr"])
@pytest.mark.parametrize("route", ["dual", "primal", "conjugate gradients"])
def test_ridge_by_every_route(make, route, monkeypatch):
    X = rows(40, 90) if route == "dual" else rows(90, 40)
    if route == "conjugate gradients":
        monkeypatch.setattr(linear, "_LARGEST_SYSTEM", 3)
    design = make(X)
    assert design.exact == (route != "conjugate gradients")
    s, t = curvature_and_target(len(X), 3)
    check_ridge(design, X, s, t, 1e-10)


def test_ridge_without_curvature_keeps_the_intercept():
    X = rows()
    for design in (Dense(X), Gram(X @ X.T)):
        at = Point(np.ones(design.n_coef), 0.7, np.ones(N))
        point = design.weighted_ridge(np.zeros(N), np.zeros(N), at, 1e-12)
        assert not point.coef.any()
        assert not point.scores.any()
        assert point.intercept == 0.7


@given(seeds=st.lists(st.integers(0, 100), min_size=2, max_size=8))
def test_updated_hessians_equal_fresh_ones(seeds):
    X = rows(300, 5)
    design = Dense(X)
    s, t = curvature_and_target(300, 0)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        changed = rng.choice(300, int(rng.choice([1, 20, 200])), replace=False)
        s = s.copy()
        s[changed] = rng.uniform(0, 5, len(changed)) * (rng.random(len(changed)) < 0.7)
        point = design.weighted_ridge(s, t, design.start(), 1e-12)
        fresh = design.fresh().weighted_ridge(s, t, design.start(), 1e-12)
        assert np.allclose(point.coef, fresh.coef, atol=1e-12)
        assert point.intercept == pytest.approx(fresh.intercept, abs=1e-12)


def test_hessians_are_corrected_not_recomputed(monkeypatch):
    X = rows(300, 5)
    design, asked = Dense(X), []
    plain = Dense.weighted_gram

    def counted(self, weights):
        asked.append(np.count_nonzero(weights))
        return plain(self, weights)

    monkeypatch.setattr(Dense, "weighted_gram", counted)
    s, t = curvature_and_target(300, 1, 0.0)
    for k in range(5):
        s = s.copy()
        s[k] = 0
        design.weighted_ridge(s, t, design.start(), 1e-12)
    assert asked == [299, 1, 1, 1, 1]


def test_low_precision_rows_far_from_zero_have_a_definite_system():
    X = (rows(200, 6) + 300).astype(np.float32)
    s, t = curvature_and_target(200, 2)
    design = Dense(X)
    point = design.weighted_ridge(1e4 * s, t, design.start(), 1e-12)
    coef, _ = ridge_by_hand(X.astype(np.float64) - 300, 1e4 * s, t)
    assert np.allclose(point.coef, coef, atol=1e-3)


# Kernel matrices ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "precision"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_gram_products(dtype, precision):
    X = rows()
    design = Gram((X @ X.T).astype(dtype))
    rng = np.random.default_rng(3)
    for used in (N, 10):  # dense and sparse coefficients take different paths
        coef = rng.normal(size=N)
        coef[used:] = 0
        assert np.allclose(design @ coef, X @ X.T @ coef, atol=precision)
        assert np.array_equal(design.T @ coef, coef)
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
def test_gram_subset_twin_and_precision_carry_what_was_prepared(unused):
    X = rows()
    design = Gram(X @ X.T)
    most = np.full(N, 2.0)
    most[:unused] = 0
    design.prepare(most)
    _, t = curvature_and_target(N, 5)
    half = np.arange(0, N, 2)
    part, twin, low = design.subset(half), design.twin(), design.astype(np.float32)
    assert part.prepared
    assert twin.prepared
    assert low.prepared
    for share in (1.0, np.linspace(0.01, 1, N)):
        s = share * most
        check_ridge(part, X[half], s[half], t[half], 1e-9)
        check_ridge(twin, X, s, t, 1e-9)
        check_ridge(low, X, s, t, 1e-2)
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


def test_matrix_design_chooses_by_the_matrix():
    X = rows()
    assert isinstance(matrix_design(X), Dense)
    assert isinstance(matrix_design(sp.csr_array(X)), Sparse)
    assert isinstance(matrix_design(sp.csr_matrix(X)), Sparse)


def test_points_between_points():
    a, b = Point(np.zeros(2), 0.0, np.zeros(3)), Point(np.ones(2), 4.0, np.full(3, 2.0))
    middle = a.towards(b, 0.25)
    assert middle.coef.tolist() == [0.25, 0.25]
    assert middle.intercept == 1.0
    assert middle.scores.tolist() == [0.5, 0.5, 0.5]
    assert a.towards(b, 1.0) is b
