"""Linear designs against explicit dense algebra, and their ridge step against one linear system."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.designs import Dense, Gram, Point, Sparse, linear
from bagwise.rowstores import base
from reference.ridge import MIX, D, N, check_ridge, curvature_and_target, ridge_by_hand, rows


def mapped(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


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
    mix = sp.random_array(
        (6, len(X)), density=0.1, random_state=np.random.default_rng(1), format="csr"
    )
    combined = design.aggregate(mix)
    w, r = np.arange(D) - 2.0, np.arange(6) - 2.0
    assert np.allclose(combined @ w, mix @ X @ w, atol=10 * precision)
    assert np.allclose(combined.adjoint(r), (mix @ X).T @ r, atol=10 * precision)
    assert np.allclose(design.lift(mix, w), w)
    part = design.subset(np.array([1, 4, 9]))
    assert np.allclose(part @ w, X[[1, 4, 9]] @ w, atol=10 * precision)


def test_blocks_make_no_difference(linear_design, monkeypatch):
    design, X, precision = linear_design
    monkeypatch.setattr(base, "BLOCK_BYTES", 200)
    r = np.random.default_rng(2).normal(size=len(X))
    assert np.allclose(design @ np.ones(D), X.sum(axis=1), atol=precision)
    assert np.allclose(design.adjoint(r), X.T @ r, atol=precision)
    assert np.allclose(design.weighted_gram(r), X.T @ (r[:, None] * X), atol=precision)


# The ridge step -----------------------------------------------------------------------------------


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
        monkeypatch.setattr(linear, "LARGEST_SYSTEM", 3)
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


def test_low_precision_rows_far_from_zero_have_a_definite_system():
    X = (rows(200, 6) + 300).astype(np.float32)
    s, t = curvature_and_target(200, 2)
    design = Dense(X)
    point = design.weighted_ridge(1e4 * s, t, design.start(), 1e-12)
    coef, _ = ridge_by_hand(X.astype(np.float64) - 300, 1e4 * s, t)
    assert np.allclose(point.coef, coef, atol=1e-3)


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
