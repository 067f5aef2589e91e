"""The hinge's three routes against scikit-learn, a quadratic program, and each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bagwise.designs import Dense, Gram, matrix_design
from bagwise.kernels import Kernel
from bagwise.losses import Hinge
from bagwise.problems import Problem
from bagwise.solvers import hinge, solve
from bagwise.solvers.hinge import solve_hinge
from reference.hinge import data, problem
from reference.program import kernel_features, reference_solution

ROUTES = ["interior", "libsvm", "descent"]


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    """Force one route on linear problems of any size."""
    monkeypatch.setattr(hinge, "_choose_route", lambda *_: request.param)
    monkeypatch.setattr(hinge, "LARGEST_SYSTEM", 0)  # no other route helps out
    return request.param


def two_sided(X, C=1.0, seed=0):
    a, c = np.random.default_rng(seed).random((2, X.shape[0])) * C
    return Problem(matrix_design(X), a * (a > 0.2 * C), c * (c > 0.4 * C), Hinge())


def check(ours, theirs, tol):
    solution = solve(ours)
    assert solution.converged
    assert solution.gap <= tol * solution.objective
    assert theirs.dual * (1 - 1e-9) <= solution.objective
    assert solution.objective <= theirs.primal * (1 + tol)
    assert np.allclose(solution.scores, ours.design @ solution.coef + solution.intercept)
    assert np.all(np.abs(solution.dual) <= np.maximum(ours.positive, ours.negative) * (1 + 1e-12))


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "csr"])
def test_every_route_ends_where_a_quadratic_program_does(route, C, make):
    X, y = data(1, offset=1.0)
    for ours in (problem(make(X), y, C), two_sided(make(X), C)):
        check(ours, reference_solution(X, ours.positive, ours.negative, Hinge()), 2e-4)


@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_kernels_end_where_a_quadratic_program_does(C):
    X, y = data(2, 80, 3)
    K = Kernel("rbf", 0.5).gram(X)
    ours = problem(K, y, C, Gram)
    check(ours, reference_solution(kernel_features(K), ours.positive, ours.negative, Hinge()), 1e-4)


def test_wide_rows_at_large_C_are_solved_though_libsvm_is_not_exact_enough():
    X, y = data(3, 40, 300)
    ours = problem(X, y, 1e3)
    check(ours, reference_solution(X, ours.positive, ours.negative, Hinge()), 1e-4)


@pytest.mark.parametrize("sides", [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0)])
@pytest.mark.parametrize("design", [Dense, lambda X: Gram(X @ X.T)], ids=["dense", "gram"])
def test_weights_on_one_side_only(sides, design):
    X, _ = data(6, 20)
    solution = solve(Problem(design(X), np.full(20, sides[0]), np.full(20, sides[1]), Hinge()))
    assert solution.objective == solution.gap == 0
    assert solution.intercept == sides[0] - sides[1]
    assert solution.converged


@pytest.mark.parametrize("shape", [(60, 4), (20, 50)], ids=["tall", "wide"])
@pytest.mark.parametrize("kind", ["linear", "gram"])
def test_margins_of_their_own(shape, kind):
    X, y = data(7, *shape)
    margin = np.random.default_rng(0).uniform(0.2, 3, shape[0])
    design = Dense(X) if kind == "linear" else Gram(X @ X.T)
    ours = Problem(design, 1.0 * y, 1.0 * ~y, Hinge(), margin)
    solution = solve(ours)
    assert solution.converged
    # A margin m instead of 1 is the same row written with a slack that is 1 - m longer.
    P = reference_solution(X, ours.positive, ours.negative, Hinge(), margin)
    assert solution.objective == pytest.approx(P.primal, rel=1e-4)


def test_low_precision_agrees():
    X, y = data(8)
    X = X.astype(np.float16).astype(np.float64)
    exact = solve(problem(X, y))
    for low in (X.astype(np.float16), np.float32(X), sp.csr_array(np.float32(X))):
        solution = solve(problem(low, y))
        assert solution.converged
        assert solution.objective == pytest.approx(exact.objective, rel=1e-4)


def test_wide_sparse_rows_with_long_indices():
    X, y = data(10, 20, 50)
    rows = sp.csr_array(X)
    long = rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    solution = solve(problem(sp.csr_array(long, shape=X.shape), y))
    assert solution.objective == pytest.approx(solve(problem(X, y)).objective, rel=1e-4)
    design = matrix_design(rows).aggregate(sp.csr_array(np.eye(20)))
    combined = solve(Problem(design, 1.0 * y, 1.0 * ~y, Hinge()))
    assert combined.objective == pytest.approx(solution.objective, rel=1e-4)


def test_a_library_that_stops_early_is_not_called_converged(monkeypatch):
    monkeypatch.setattr(hinge, "LARGEST_SYSTEM", 0)  # nor helped out
    X, y = data(9)
    K = Kernel("rbf", 0.5).gram(X)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        solution = solve_hinge(problem(K, y, 1.0, Gram), max_iter=5)
    assert not solution.converged
    assert solution.gap > 1e-4 * solution.objective


def test_duals_that_libsvm_could_not_represent_are_named():
    class Overflowing:
        def fit(self, *args, **options):
            raise ValueError("The dual coefficients or intercepts are not finite.")

    with pytest.raises(FloatingPointError, match=r"The solver overflowed.*Scale the features"):
        hinge._run_libsvm(Overflowing(), np.ones((2, 1)), np.array([1, -1]), np.ones(2))
