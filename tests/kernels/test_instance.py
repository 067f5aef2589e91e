"""Kernels against scikit-learn's, the choices of gamma, precisions, and what is refused."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import pairwise
from sklearn.svm import SVC

from bagwise import InstanceSVC, WitnessSVC
from bagwise.errors import Message, message_of
from bagwise.kernels import (
    Kernel,
    check_kernel_matrix,
    gram_matrix,
    instance,
    median_gamma,
    settle_gamma,
    squared_distances,
)
from bagwise.rowstores import base


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 6))


def gram(X, kernel="rbf", gamma="median", weights=None, **more):
    weights = np.ones(X.shape[0]) if weights is None else weights
    options = {"degree": 3, "coef0": 0.0, "random_state": np.random.RandomState(0), **more}
    return gram_matrix(X, kernel, gamma=gamma, weights=weights, **options)


def theirs(name, A, B, gamma, degree, coef0):
    if name == "linear":
        return pairwise.linear_kernel(A, B)
    if name == "rbf":
        return pairwise.rbf_kernel(A, B, gamma=gamma)
    return pairwise.polynomial_kernel(A, B, degree=degree, gamma=gamma, coef0=coef0)


@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_values_are_those_of_scikit_learn(name, make, X):
    kernel = Kernel(name, 0.3, 2, 1.5)
    A, B = X[:25], X[10:]
    assert np.allclose(kernel(make(A), make(B)), theirs(name, A, B, 0.3, 2, 1.5), atol=1e-13)
    assert np.allclose(kernel.gram(make(X)), theirs(name, X, X, 0.3, 2, 1.5), atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_overlapping_views_of_one_array_are_not_taken_for_the_same_rows(dtype, X):
    X = X.astype(dtype)
    distances = squared_distances(X[:-1], X[1:])
    assert np.allclose(distances, pairwise.euclidean_distances(X[:-1], X[1:]) ** 2, atol=1e-5)


def test_rows_far_from_the_origin_keep_their_distances(X):
    exact = squared_distances(X)
    assert np.allclose(squared_distances(X + 1e7), exact, atol=1e-6)
    assert np.allclose(squared_distances(np.float32(X) + np.float32(100)), exact, atol=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_is_scored_alike_in_any_company(dtype, X):
    X = X.astype(dtype)
    kernel = Kernel("rbf", 0.3)
    alone = kernel(X[:1] + 50, X[20:])
    among = kernel(np.concatenate([X[:1] + 50, X[1:20] - 1e3]), X[20:])[:1]
    assert np.allclose(alone, among, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=0)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly"])
def test_low_precision_rows_agree_to_their_precision(dtype, name, X):
    low = X.astype(dtype)
    kernel = Kernel(name, 0.3, 2, 1.0)
    values = kernel.gram(low)
    assert values.dtype == np.float32
    assert np.allclose(values, kernel.gram(low.astype(np.float64)), rtol=1e-5, atol=1e-5)
    assert np.allclose(kernel(low[:5], low), values[:5], rtol=1e-5, atol=1e-5)


def test_mixed_precisions_meet_in_the_wider_one(X):
    values = Kernel("rbf", 0.3)(X[:5].astype(np.float32), X)
    assert values.dtype == np.float64
    assert np.allclose(values, Kernel("rbf", 0.3)(X[:5], X), atol=1e-6)


# gamma --------------------------------------------------------------------------------------------


def test_median_gamma_is_the_median_of_pairs_that_differ(X):
    twice = np.concatenate([X, X[:3]])
    apart = squared_distances(twice)[np.triu_indices(len(twice), 1)]
    apart = np.sort(apart[apart > 1e-9])
    expected = 0.5 / apart[(len(apart) - 1) // 2]
    assert median_gamma(squared_distances(twice), np.ones(len(twice))) == pytest.approx(expected)


@pytest.mark.parametrize("gamma", ["median", "scale"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_weights_count_as_copies(gamma, make, X):
    counts = np.random.default_rng(1).integers(0, 4, len(X))
    copies = make(np.repeat(X, counts, axis=0))
    weighted = settle_gamma(gamma, make(X), 0.3 * counts, np.random.RandomState(0))
    repeated = settle_gamma(gamma, copies, np.ones(copies.shape[0]), np.random.RandomState(0))
    assert weighted == pytest.approx(repeated, rel=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_scale_gamma_is_that_of_scikit_learn(make, X):
    svc = SVC(gamma="scale").fit(make(X), np.arange(len(X)) % 2)
    number = settle_gamma("scale", make(X), np.ones(len(X)), np.random.RandomState(0))
    assert number == pytest.approx(svc._gamma, rel=1e-12)


@pytest.mark.parametrize("gamma", ["median", "scale"])
def test_identical_rows_have_gamma_one(gamma):
    assert settle_gamma(gamma, np.ones((5, 3)), np.ones(5), np.random.RandomState(0)) == 1.0


def test_median_of_many_rows_is_that_of_a_seeded_sample(X, monkeypatch):
    exact = settle_gamma("median", X, np.ones(len(X)), np.random.RandomState(0))
    monkeypatch.setattr(instance, "MEDIAN_SAMPLE", 30)
    first, again, other = (
        settle_gamma("median", X, np.ones(len(X)), np.random.RandomState(seed))
        for seed in (0, 0, 1)
    )
    assert first == again != other
    assert first == pytest.approx(exact, rel=0.3)


# Kernels of the user ------------------------------------------------------------------------------


def test_integer_kernel_values_become_floats(X):
    _, K = gram(X, lambda A, B: np.rint(10 * A) @ np.rint(10 * B).T)
    _, of_integers = gram(X, lambda A, B: (np.rint(10 * A) @ np.rint(10 * B).T).astype(int))
    assert of_integers.dtype == np.float64
    assert np.array_equal(K, of_integers)


def test_a_callable_of_the_wrong_shape_is_named(X):
    with pytest.raises(ValueError, match=r"shape \(40,\) for 40 and 40 rows"):
        gram(X, lambda A, B: A @ B[0])


def test_asymmetric_kernels_are_refused_with_the_place(X):
    K = X @ X.T
    K[3, 7] += 1
    with pytest.raises(ValueError, match=r"not symmetric: k\((3, 7|7, 3)\)"):
        check_kernel_matrix(K)


@pytest.mark.parametrize("make", [lambda X: -(X @ X.T), lambda X: np.tanh(0.5 * X @ X.T + 1)])
def test_indefinite_kernels_are_refused(make, X):
    with pytest.raises(ValueError, match="not positive semi-definite"):
        check_kernel_matrix(make(X))


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_an_estimator_refuses_an_indefinite_kernel(loss, X):
    for kernel, rows in (("precomputed", -(X @ X.T)), (lambda A, B: -A @ B.T, X)):
        with pytest.raises(ValueError, match="not positive semi-definite"):
            InstanceSVC(kernel=kernel, loss=loss).fit(rows, np.arange(len(X)) % 2)


def test_semi_definite_kernels_pass(X):
    for K in (X @ X.T, np.zeros((4, 4)), np.float32(X) @ np.float32(X).T, np.ones((5, 5))):
        assert check_kernel_matrix(K) is K


@pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_overflow_is_an_error_and_names_the_remedy(kernel, X):
    with pytest.raises(ValueError, match="Scale the features"):
        gram((1e25 * X).astype(np.float32), kernel, gamma=1.0)
    with pytest.raises(ValueError, match="infinite or undefined"):
        check_kernel_matrix(np.full((3, 3), np.nan))


# Many rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "kernel", [Kernel("rbf", 0.3), Kernel("linear"), Kernel("poly", 0.5, 3, 1.0)]
)
def test_tiles_are_the_matrix_as_a_whole(kernel, sparse, monkeypatch):
    monkeypatch.setattr(instance, "_TILE", 16)
    X = np.random.default_rng(0).normal(size=(50, 4)) + 30  # far from zero
    rows = sp.csr_array(X) if sparse else X
    whole = kernel.gram(rows)
    double, single = kernel.gram(rows, np.float64), kernel.gram(rows, np.float32)
    assert np.allclose(double, whole, rtol=1e-9, atol=1e-9)
    assert np.array_equal(double, double.T)
    assert single.dtype == np.float32
    assert np.array_equal(single, double.astype(np.float32))
    if kernel.name == "rbf":
        assert np.all(double.diagonal() == 1)


def test_the_precision_of_many_rows_follows_their_weights(monkeypatch):
    monkeypatch.setattr(instance, "MANY_ROWS", 30)
    X = np.random.default_rng(0).normal(size=(40, 4))
    assert gram(X, gamma=0.3)[1].dtype == np.float32
    assert gram(X, gamma=0.3, weights=np.full(40, 1e5))[1].dtype == np.float64
    assert gram(X[:30], gamma=0.3)[1].dtype == np.float64


def test_scale_of_many_rows_is_computed_in_blocks(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32) + 3
    weights = 1.0 + np.arange(50) % 3
    whole = settle_gamma("scale", X, weights, None)
    monkeypatch.setattr(base, "BLOCK_BYTES", 7 * 8 * 4)
    assert settle_gamma("scale", X, weights, None) == whole


def test_a_gram_matrix_beyond_memory_is_refused_with_size_and_remedy(monkeypatch):
    monkeypatch.setattr(instance, "memory_limit", lambda: 2.0**34)
    size = (
        r"100,000 x 100,000 values needs 37\.3 GiB; of the 16\.0 GiB here one matrix may take 80%"
    )
    with pytest.raises(MemoryError, match=rf"{size}.*kernel_options__approx='nystroem'") as caught:
        gram(np.broadcast_to(np.float32(0), (100_000, 1)), gamma=1.0)
    assert isinstance(message_of(caught.value), Message)


def test_a_million_instances_are_refused_before_anything_is_allocated():
    rows = np.broadcast_to(np.zeros(1), (3_000_000, 1))
    with pytest.raises(MemoryError, match="3,000,000 x 3,000,000"):
        WitnessSVC(gamma=1.0).fit(rows[:, None], np.arange(3_000_000) % 2)
