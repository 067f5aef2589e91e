"""The approximated kernel against its definition, its landmarks, its error."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.designs import Nystroem, Pairs, nystroem, nystroem_design
from bagwise.kernels import Kernel
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.rowstores import base
from bagwise.solvers import solve

KERNELS = [
    Kernel("rbf", 0.3),
    Kernel("poly", 0.5, 3, 1.0),
    Kernel(lambda A, B: (A @ B.T + 1.0) ** 2),
]


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(90, 4)) + 3.0


def design_of(kernel, X, n_components=20, seed=0, weights=None, n_jobs=1):
    return nystroem_design(
        Pairs(kernel, X),
        np.ones(X.shape[0]) if weights is None else weights,
        n_components=n_components,
        random_state=np.random.RandomState(seed),
        n_jobs=n_jobs,
    )


def brute_force(kernel, X, landmarks):
    """Return K_XZ K_ZZ^+ K_ZX."""
    across, inside = kernel(X, X[landmarks]), kernel(X[landmarks], X[landmarks])
    return across @ np.linalg.pinv(inside, rcond=1e-13, hermitian=True) @ across.T


@pytest.mark.parametrize("n_components", [20, 90], ids=["some rows", "all rows"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_products_of_features_are_the_approximated_kernel(kernel, n_components, X):
    design, K = design_of(kernel, X, n_components), kernel(X, X)
    expected = brute_force(kernel, X, design.landmarks) if n_components < 90 else K
    np.testing.assert_allclose(design.X @ design.X.T, expected, rtol=1e-6, atol=1e-8)
    error = 1 - np.trace(expected) / np.trace(K)
    assert design.error == pytest.approx(error, rel=1e-6, abs=1e-9)
    assert len(design.landmarks) <= n_components


def test_threads_do_not_change_a_bit(X, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", 8 * 7 * 20)
    one, many = (design_of(KERNELS[0], X, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(one.X, many.X)
    assert one.error == many.error


def test_landmarks_follow_the_seed(X):
    first, again, other = (design_of(KERNELS[0], X, 10, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.landmarks, again.landmarks)
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.landmarks, other.landmarks)


def test_landmarks_are_distinct_rows_with_weight(X):
    weights = np.tile([1.0, 0.0, 2.0], 30)
    design = design_of(KERNELS[0], X, 15, weights=weights)
    assert len(np.unique(design.landmarks)) == len(design.landmarks) <= 15
    assert np.all(weights[design.landmarks] > 0)
    alone = brute_force(KERNELS[0], X, design.landmarks).diagonal()[weights > 0]
    assert design.error == pytest.approx(1 - alone.mean(), rel=1e-8)


def test_a_small_far_cluster_gets_a_landmark(X):
    far = np.vstack([np.repeat(X[:2], 500, axis=0) + 1e-3 * np.arange(1000)[:, None], X[:1] + 50])
    design = design_of(KERNELS[0], far, 40)
    assert 1000 in design.landmarks


def test_landmarks_of_many_rows_are_chosen_from_a_sample(X, monkeypatch):
    monkeypatch.setattr(nystroem, "SAMPLE", 30)
    design = design_of(KERNELS[0], X, 10)
    assert len(design.landmarks) == 10
    assert design.error < 0.6


def test_sparse_rows_give_the_features_of_dense_ones(X):
    X = np.where(np.abs(X - 3) > 0.5, X, 0.0)
    for kernel in KERNELS[:2]:
        dense, sparse = (design_of(kernel, rows, 20) for rows in (X, sp.csr_array(X)))
        np.testing.assert_allclose(dense.X @ dense.X.T, sparse.X @ sparse.X.T, atol=1e-12)


def test_many_features_are_kept_in_single_precision(X, monkeypatch):
    double = design_of(KERNELS[0], X)
    monkeypatch.setattr(nystroem, "_DOUBLE_BYTES", 100)
    single = design_of(KERNELS[0], X)
    assert single.X.dtype == np.float32
    coef = np.random.default_rng(0).normal(size=single.n_coef)
    exact = single.X.astype(np.float64) @ coef  # proofs are about the rounded features
    np.testing.assert_allclose(single @ coef, exact, rtol=1e-12)
    np.testing.assert_allclose(single.X, double.X, atol=1e-6)
    assert single.error == double.error


def test_a_function_that_is_no_kernel_is_refused(X):
    with pytest.raises(ValueError, match="not positive semi-definite"):
        design_of(Kernel(lambda A, B: -(A @ B.T)), X)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        design_of(Kernel(lambda A, B: 2.0 * (A @ B.T > 30) - (A @ B.T > 33)), X)


def test_a_kernel_of_zeros_is_a_feature_of_zeros():
    design = design_of(Kernel("poly"), np.zeros((30, 2)))
    assert design.error == 0
    np.testing.assert_array_equal(design.X, np.zeros((30, 1)))


def test_features_beyond_memory_are_refused(X, monkeypatch):
    monkeypatch.setattr("bagwise.kernels.instance.memory_limit", lambda: 9000.0)
    with pytest.raises(MemoryError, match=r"matrix of features of 90 x 20 .* Lower n_components"):
        design_of(KERNELS[0], X)


def test_coefficients_of_landmarks_give_the_scores(X):
    design = design_of(KERNELS[0], X)
    y = np.where(X[:, 0] > 3, 1.0, 0.0)
    solution = solve(Problem(design, 5.0 * y, 5.0 * (1 - y), SquaredHinge()))
    dual, intercept = design.as_given(solution.coef, solution.intercept)
    np.testing.assert_array_equal(np.flatnonzero(dual), design.landmarks)
    K = KERNELS[0](X, X)
    np.testing.assert_allclose(K @ dual + intercept, solution.scores, atol=1e-8)


def test_kernel_values_with_the_landmarks_as_features(X):
    values = design_of(KERNELS[0], X).values()
    assert isinstance(values, Nystroem)
    expected = KERNELS[0](X, X[values.landmarks])
    np.testing.assert_allclose(values.X, expected, atol=1e-8)


@pytest.mark.filterwarnings("error")
def test_copies_of_rows_need_one_landmark(X):
    design = design_of(KERNELS[0], np.repeat(X[:6], 10, axis=0), 20)
    assert design.n_coef == 6
    assert design.error < 1e-10
