"""The semi-proximal problem against a general QP solver, by features and by products."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.designs import Gram, Iterative, matrix_design
from bagwise.solvers.semiproximal import semiproximal
from reference.program import minimize


def by_clarabel(X, positive, weight):
    """Return z = (w, b) of the QP (3) with one slack a negative row."""
    A = np.column_stack([X, np.ones(len(X))])
    up, down = A[positive], A[~positive]
    n, m = A.shape[1], len(down)
    P = sp.block_diag([np.eye(n) + up.T @ (weight[positive, None] * up), sp.csc_array((m, m))])
    q = np.concatenate([-up.T @ weight[positive], weight[~positive]])
    rows = sp.bmat([[down, -sp.eye_array(m)], [None, -sp.eye_array(m)]])
    if m == 0:
        return np.linalg.solve(P.toarray(), -q)
    return np.array(minimize(P, q, rows, np.repeat([-1.0, 0.0], m)).x)[:n]


def drawn(seed, n=40, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    positive = rng.random(n) < 0.4
    X[positive] += 0.7
    return X, positive, rng.uniform(0.1, 3.0, n) * 10 ** rng.uniform(-2, 2)


@given(st.integers(0, 10**6), st.sampled_from([(40, 5), (12, 30), (25, 1)]))
def test_equals_clarabel(seed, shape):
    X, positive, weight = drawn(seed, *shape)
    z = by_clarabel(X, positive, weight)
    for design in (matrix_design(X), matrix_design(sp.csr_array(X)), Gram(X @ X.T)):
        solution = semiproximal(design, positive, weight)
        coef = solution.coef if design.n_coef == X.shape[1] else X.T @ solution.coef
        assert np.abs(np.append(coef, solution.intercept) - z).max() <= 1e-6
        assert solution.gap <= 1e-9 * weight.sum()  # the scale of the objective at z = 0
        assert solution.residual <= 1e-7 * (1 + np.abs(z).max())
        assert solution.converged


@given(st.integers(0, 10**6))
def test_few_negatives_at_a_time_end_at_the_same_solution(seed):
    X, positive, weight = drawn(seed, 60, 8)
    whole = semiproximal(Gram(X @ X.T), positive, weight)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bagwise.solvers.semiproximal._AT_ONCE", 3)
        some = semiproximal(Iterative(X @ X.T), positive, weight)
        again = semiproximal(Iterative(X @ X.T), positive, weight, -np.minimum(some.dual, 0))
    for solution in (some, again):
        np.testing.assert_allclose(solution.scores, whole.scores, atol=1e-6)
        assert solution.gap <= 1e-9 * weight.sum()
    assert again.n_iter <= some.n_iter


def test_one_sided_problems_have_closed_forms():
    X, _, weight = drawn(4)
    A = np.column_stack([X, np.ones(len(X))])
    ridge = semiproximal(matrix_design(X), np.ones(len(X), dtype=bool), weight)
    expected = np.linalg.solve(np.eye(6) + A.T @ (weight[:, None] * A), A.T @ weight)
    np.testing.assert_allclose(np.append(ridge.coef, ridge.intercept), expected, atol=1e-10)
    # One negative row a: min 1/2|z|^2 + W max(0, 1 + a.z) has z = -a min(W, 1 / a.a).
    # The positive row has next to no weight: SciPy 1.13 refuses systems of no rows, as no fit has.
    lone = semiproximal(matrix_design(X[:2]), np.array([False, True]), np.array([100.0, 1e-30]))
    expected = -A[0] / (A[0] @ A[0])
    np.testing.assert_allclose(np.append(lone.coef, lone.intercept), expected, atol=1e-10)


def test_a_row_without_weight_does_not_count():
    X, positive, weight = drawn(5)
    weight[::3] = 0.0
    kept = weight > 0
    some = semiproximal(matrix_design(X), positive, weight)
    fewer = semiproximal(matrix_design(X[kept]), positive[kept], weight[kept])
    np.testing.assert_allclose(some.coef, fewer.coef, atol=1e-9)
    assert np.all(some.dual[~kept] == 0)


def test_warm_start_gives_the_same_point_in_fewer_passes():
    X, positive, weight = drawn(6, 200, 8)
    cold = semiproximal(matrix_design(X), positive, weight)
    warm = semiproximal(matrix_design(X), positive, weight, np.maximum(-cold.dual, 0))
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-9)
    assert warm.n_iter < cold.n_iter


def test_stopping_early_is_told():
    X, positive, weight = drawn(7, 200, 8)
    stopped = semiproximal(matrix_design(X), positive, 100 * weight, max_passes=1)
    assert not stopped.converged
    assert stopped.gap > 1e-6
