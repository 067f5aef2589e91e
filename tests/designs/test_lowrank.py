"""Randomly pivoted Cholesky: what it leaves, that it extends itself, awkward kernels."""

import numpy as np
import pytest

from bagwise.designs.lowrank import LowRank, Sketch
from bagwise.kernels import Kernel


def matrix(n=500, d=3, gamma=0.1, seed=0, dtype=np.float32):
    X = np.random.default_rng(seed).normal(size=(n, d))
    return Kernel("rbf", gamma).gram(X, dtype)


def left(K, sketch):
    return np.trace(K.astype(np.float64)) - np.sum(sketch.X.astype(np.float64) ** 2)


@pytest.mark.parametrize("trace", [100.0, 5.0])
def test_the_trace_that_is_left_is_the_one_asked_for(trace):
    K = matrix()
    low = LowRank(K, np.float32)
    sketch = Sketch(low, low.rank_for(trace))
    assert left(K, sketch) <= trace * (1 + 1e-3)
    assert np.allclose(low.traces[-1][1], left(K, sketch), atol=0.05)
    rest = K - sketch.X @ sketch.X.T
    assert np.linalg.eigvalsh(rest).min() >= -1e-3
    best = np.linalg.eigvalsh(K)[::-1]
    assert left(K, sketch) <= 4 * best[sketch.n_coef // 2 :].sum() + 0.1  # near the optimum


def test_more_columns_leave_the_first_ones_as_they_were():
    K = matrix()
    at_once, by_steps = LowRank(K, np.float32), LowRank(K, np.float32)
    few = by_steps.rank_for(50.0)
    first = by_steps.L[:, :few].copy()
    many = by_steps.rank_for(0.5)
    assert few < many == at_once.rank_for(0.5)
    assert np.array_equal(at_once.L[:, :many], by_steps.L[:, :many])
    assert np.array_equal(first, by_steps.L[:, :few])
    assert by_steps.rank_for(50.0) == few


@pytest.mark.parametrize("n_different", [1, 7])
def test_copies_of_rows_are_drawn_once(n_different):
    X = np.repeat(np.random.default_rng(0).normal(size=(n_different, 4)), 60, axis=0)
    K = Kernel("rbf", 0.5).gram(X, np.float32)
    low = LowRank(K, np.float32)
    assert low.rank_for(0.0) == n_different
    assert np.allclose(low.L[:, :n_different] @ low.L[:, :n_different].T, K, atol=1e-4)


def test_the_largest_rank_and_a_matrix_of_zeros():
    low = LowRank(np.eye(900, dtype=np.float32), np.float32)
    assert low.rank_for(0.0) == 900  # the identity has no low rank
    assert LowRank(np.eye(900, dtype=np.float32), np.float32, largest=112).rank_for(0.0) == 112
    assert LowRank(np.zeros((200, 200)), np.float64).rank_for(1.0) == 0


def test_coefficients_of_the_sketch_have_the_same_scores_in_the_span_of_the_pivots():
    K = matrix(gamma=0.5, dtype=np.float64)
    low = LowRank(K, np.float64)
    sketch = Sketch(low, low.rank_for(20.0))
    coef = np.random.default_rng(0).normal(size=sketch.n_coef)
    dual = sketch.dual(coef)
    assert np.count_nonzero(dual) <= sketch.n_coef
    assert np.allclose(K @ dual, sketch @ coef, atol=1e-2 * np.abs(sketch @ coef).max())
    weights = np.random.default_rng(1).normal(size=500)
    assert np.allclose(sketch.weighted_gram(weights), sketch.X.T @ (weights[:, None] * sketch.X))
