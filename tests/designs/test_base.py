"""Points of designs, which design a matrix gets, and three ways through the ridge regression."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.designs import Dense, Point, Sparse, matrix_design
from bagwise.designs.base import factor_in_place, solve_cg, solve_dual, solve_primal
from reference.ridge import ridge_by_hand, rows


def test_matrix_design_chooses_by_the_matrix():
    X = rows()
    assert isinstance(matrix_design(X), Dense)
    assert isinstance(matrix_design(sp.csr_array(X)), Sparse)
    assert isinstance(matrix_design(sp.csr_matrix(X)), Sparse)


def test_points_between_points():
    a, b = Point(np.zeros(2), 0.0, np.zeros(3)), Point(np.ones(2), 4.0, np.full(3, 2.0))
    middle = a.toward(b, 0.25)
    assert middle.coef.tolist() == [0.25, 0.25]
    assert middle.intercept == 1.0
    assert middle.scores.tolist() == [0.5, 0.5, 0.5]
    assert a.toward(b, 1.0) is b


# The weighted ridge regression, against its normal equations -------------------------------------


def draw(seed, n, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    return X, rng.uniform(0.05, 20.0, n), rng.normal(size=n)


def summed(X, s, t, w=None, b=0.0):
    """Return what the primal ways are given: sums over the rows at a point."""
    mass, mean = s.sum(), s @ X / s.sum()
    w = np.zeros(X.shape[1]) if w is None else w
    left = t - X @ w - b
    return mean, mass, X.T @ (s * left) - w, float(s @ left)


shapes = st.tuples(st.integers(1, 20), st.integers(1, 8))


@given(st.integers(0, 10**6), shapes)
def test_the_dual_way(seed, shape):
    X, s, t = draw(seed, *shape)
    beta, b = solve_dual(X @ X.T, s, t)
    w, intercept = ridge_by_hand(X, s, t)
    np.testing.assert_allclose(X.T @ beta, w, atol=1e-8)
    assert b == pytest.approx(intercept, abs=1e-8)
    assert beta.sum() == pytest.approx(0, abs=1e-8)  # b is not penalized


@given(st.integers(0, 10**6), shapes, st.booleans())
def test_the_primal_way_from_any_point(seed, shape, elsewhere):
    X, s, t = draw(seed, *shape)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=shape[1]) if elsewhere else np.zeros(shape[1])
    b = float(rng.normal()) if elsewhere else 0.0
    hessian = X.T @ (s[:, None] * X)
    step, shift = solve_primal(hessian, 1.0, *summed(X, s, t, w, b))
    expected, intercept = ridge_by_hand(X, s, t)
    np.testing.assert_allclose(w + step, expected, atol=1e-8)
    assert b + shift == pytest.approx(intercept, abs=1e-8)


@given(st.integers(0, 10**6), shapes)
def test_conjugate_gradients_solve_the_primal_system(seed, shape):
    X, s, t = draw(seed, *shape)
    hessian = X.T @ (s[:, None] * X)
    sums = summed(X, s, t)
    direct = solve_primal(hessian, 1.0, *sums)
    products = []

    def product(v):
        products.append(v)
        return X.T @ (s * (X @ v))

    step, shift = solve_cg(product, 1.0, np.diag(hessian).copy(), *sums, 1e-11)
    np.testing.assert_allclose(step, direct[0], atol=1e-8)
    assert shift == pytest.approx(direct[1], abs=1e-8)
    assert len(products) <= 20 * shape[1] + 1


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1.0, 1e6])
def test_curvatures_of_any_size_keep_their_digits(size):
    X, s, t = draw(1, 12, 3)
    s = size * s
    beta, b = solve_dual(X @ X.T, s, t)
    # The optimality conditions: beta = s (t - Kbeta - b), sum beta = 0.
    left = s * (t - X @ (X.T @ beta) - b)
    np.testing.assert_allclose(beta, left, rtol=1e-5, atol=1e-7 * np.abs(beta).max())


def test_a_fortran_matrix_is_overwritten_and_another_is_not():
    system = np.array([[4.0, 2.0], [2.0, 5.0]])
    for matrix, kept in ((system.copy(order="F"), False), (system.copy(), True)):
        factor, lower = factor_in_place(matrix)
        assert lower
        assert np.array_equal(matrix, system) == kept
        np.testing.assert_allclose(np.tril(factor), np.linalg.cholesky(system))


def test_an_indefinite_system_is_refused_with_advice():
    kernel = np.array([[1.0, 5.0], [5.0, 1.0]])  # no kernel: an eigenvalue of -4
    with pytest.raises(np.linalg.LinAlgError, match="positive semi-definite; otherwise scale"):
        solve_dual(kernel, np.array([1.0, 1.0]), np.zeros(2))


def test_a_metric_is_the_same_problem_in_other_units():
    X, s, t = draw(3, 30, 4)
    unit = np.array([1.0, 8.0, 0.25, 1024.0])
    scaled = X / unit
    plain, b = solve_primal(X.T @ (s[:, None] * X), 1.0, *summed(X, s, t))
    sums = summed(scaled, s, t)
    hessian = scaled.T @ (s[:, None] * scaled)
    u, shift = solve_primal(hessian, unit**-2.0, *sums)
    np.testing.assert_allclose(u / unit, plain, rtol=1e-9)
    assert shift == pytest.approx(b, rel=1e-9)
    by_cg, _ = solve_cg(
        lambda v: scaled.T @ (s * (scaled @ v)), unit**-2.0, np.diag(hessian).copy(), *sums, 1e-12
    )
    np.testing.assert_allclose(by_cg / unit, plain, rtol=1e-6)


def test_a_system_that_rounding_left_indefinite_is_solved_on_the_rest():
    # Two equal features of size 1e9: X'SX has an eigenvalue that rounding cannot tell from -1.
    X, s, t = draw(4, 40, 1)
    X = 1e9 * np.hstack([X, X])
    step, _ = solve_primal(X.T @ (s[:, None] * X), 1.0, *summed(X, s, t))
    expected, _ = ridge_by_hand(X[:, :1] * np.sqrt(2), s, t)
    np.testing.assert_allclose(X @ step, np.sqrt(2) * X[:, 0] * expected[0], rtol=1e-6)
