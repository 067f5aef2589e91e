"""Dual coordinate descent against a quadratic program and brute force."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.losses import Hinge
from bagwise.solvers import dual_cd
from bagwise.solvers.dual_cd import best_intercept, coordinate_descent, descend_gram, descend_rows
from reference.program import minimize, reference_solution


@given(seed=st.integers(0, 10_000), n=st.integers(1, 12))
def test_best_intercept_against_all_breaks(seed, n):
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], n)
    weights, scores = rng.uniform(0.1, 2, n), np.round(rng.normal(size=n), 1)

    def risk(b):
        return weights @ np.maximum(0, 1 - labels * (scores + b))

    least = min(risk(b) for b in labels - scores)
    assert risk(best_intercept(labels, weights, scores)) == pytest.approx(least, abs=1e-12)


def rows_and_labels(seed, n=30, d=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1.0, -1.0), rng.uniform(0.2, 2.0, n)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("shape", [(30, 4), (20, 40)], ids=["tall", "wide"])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
def test_the_dual_reaches_the_value_of_a_quadratic_program(make, shape, C):
    X, labels, weights = rows_and_labels(0, *shape)
    weights = C * weights
    alpha, n_passes = coordinate_descent(make(X), labels, weights, 1e-8, 20_000)
    assert n_passes < 20_000
    assert np.all((alpha >= 0) & (alpha <= weights))
    assert abs(alpha @ labels) <= 1e-6 * weights.sum()  # the intercept is free
    w = X.T @ (alpha * labels)
    found = reference_solution(X, weights * (labels > 0), weights * (labels < 0), Hinge())
    assert alpha.sum() - 0.5 * w @ w == pytest.approx(found.primal, rel=1e-6)


def box_problem(Q, q, upper):
    """Return the least 1/2 a'Qa + q.a over 0 <= a <= upper, by clarabel."""
    n = len(q)
    limits = np.concatenate([np.zeros(n), upper])
    return minimize(Q, q, np.vstack([-np.eye(n), np.eye(n)]), limits).obj_val


@given(seed=st.integers(0, 10_000), n=st.integers(1, 15))
def test_a_box_problem_over_a_gram_matrix(seed, n):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, n + 2))
    Q, q, upper = F @ F.T, rng.normal(size=n), rng.uniform(0.1, 1.0, n)
    alpha, gradient = np.zeros(n), q.copy()
    _, converged = descend_gram(Q, alpha, gradient, upper, tol=1e-9, max_passes=5000)
    assert converged
    assert np.all((alpha >= 0) & (alpha <= upper))
    np.testing.assert_allclose(gradient, Q @ alpha + q, atol=1e-9)
    value = 0.5 * alpha @ Q @ alpha + q @ alpha
    assert value == pytest.approx(box_problem(Q, q, upper), abs=1e-7)


@given(seed=st.integers(0, 10_000), constant=st.sampled_from([0.0, 1.0, 10.0]))
def test_a_box_problem_over_rows_is_the_one_over_their_products(seed, constant):
    X, labels, upper = rows_and_labels(seed, 12, 3)
    rows, alpha, coef = sp.csr_array(X), np.zeros(12), np.zeros(4)
    descend_rows(rows, labels, upper, alpha, coef, constant, tol=1e-9, max_passes=5000)
    signed = labels[:, None] * np.column_stack([X, np.full(12, constant)])
    np.testing.assert_allclose(coef, signed.T @ alpha, atol=1e-8)
    value = alpha.sum() - 0.5 * coef @ coef
    assert value == pytest.approx(-box_problem(signed @ signed.T, -np.ones(12), upper), abs=1e-7)


def test_jumps_spare_passes_where_the_condition_is_bad(monkeypatch):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(40, 60)) * 10.0 ** np.linspace(0, -3, 60)
    Q = F @ F.T
    q, upper = -np.ones(40), np.full(40, 1e6)

    def passes():
        return descend_gram(Q, np.zeros(40), q.copy(), upper, tol=1e-6, max_passes=20_000)

    with_jumps, converged = passes()
    monkeypatch.setattr(dual_cd, "LARGEST_DENSE", -1)
    slow, _ = passes()
    assert converged
    assert with_jumps < 0.2 * slow
