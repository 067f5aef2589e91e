"""Bounds that need no duality gap: true, tight, and infinite where they prove nothing."""

import numpy as np
import pytest
from scipy.optimize import linprog

from bagwise.designs import Point, matrix_design
from bagwise.designs.conditioned import conditioned_design
from bagwise.losses import Hinge, SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve
from bagwise.solvers.pieces import mend_gap, quadratic_gap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
POSITIVE = RNG.integers(0, 2, 50) * 1.0


def problem(C=1.0, rows=X):
    design = matrix_design(rows)
    return Problem(design, C * POSITIVE, C * (1 - POSITIVE), SquaredHinge())


def moved(solution, design, length):
    coef = solution.coef + length
    return Point(coef, solution.intercept, design @ coef)


@pytest.mark.parametrize("length", [0.0, 1e-6, 1e-4])
def test_on_the_pieces_of_the_optimum_it_is_the_distance_from_it(length):
    case = problem()
    solution = solve(case)
    point = moved(solution, case.design, length)
    excess = case.objective(point) - solution.objective
    assert quadratic_gap(case, point) == pytest.approx(excess, rel=1e-3, abs=1e-12)


def test_on_other_pieces_it_proves_nothing():
    case = problem()
    assert quadratic_gap(case, moved(solve(case), case.design, 10.0)) == np.inf


def test_a_singular_quadratic_proves_nothing():
    rows = np.hstack([X, X[:, :1]])  # two features alike, and a penalty without weight
    case = problem(C=1e16, rows=rows)
    assert quadratic_gap(case, case.design.start()) == np.inf


def test_rounding_counts():
    """Scores in single precision cannot prove what those in double precision do."""
    double, single = problem(1e4), problem(1e4, X.astype(np.float32))
    bounds = [quadratic_gap(case, solve(case).point) for case in (double, single)]
    assert 0 < bounds[0] < 1e-9 * bounds[1]


def test_it_certifies_where_duals_cannot():
    solution = solve(problem(rows=1e100 * X))
    assert solution.converged
    assert solution.gap <= 1e-9 * solution.objective
    small = solve(problem(C=1e12))  # all but the same: 1/2|w|^2 no longer counts
    assert solution.objective == pytest.approx(1e-12 * small.objective, rel=1e-9)


# Duals that can be repaired -----------------------------------------------------------------------


def least_hinge_loss():
    """Return the optimal sum of hinge losses without a penalty, its point and its duals."""
    labels = 2 * POSITIVE - 1
    scores = labels[:, None] * np.hstack([X, np.ones((50, 1))])
    found = linprog(
        np.r_[np.zeros(4), np.ones(50)],
        -np.hstack([scores, np.eye(50)]),
        -np.ones(50),
        bounds=[(None, None)] * 4 + [(0, None)] * 50,
    )
    coef = found.x[:3]
    return found.fun, Point(coef, found.x[3], X @ coef), -found.ineqlin.marginals, labels


def repaired(error, share=1.0):
    """Return the bound for duals that are off by ``error``, and the excess over the optimum.

    The rows are 1e100 times as large, so that the penalty does not count.
    """
    best, point, alpha, labels = least_hinge_loss()
    case = Problem(matrix_design(X), POSITIVE, 1 - POSITIVE, Hinge())
    case.design.metric, case.design.scale = 1e-200, 1e100
    off = error * np.random.default_rng(1).normal(size=50)
    alpha = np.clip(alpha + np.where((alpha > 1e-9) & (alpha < 1 - 1e-9), off, 0), 0, 1)
    freedom = share * np.minimum(alpha, 1 - alpha)
    bound = mend_gap(case, point, labels * alpha, freedom, alpha.sum(), np.linalg.norm(freedom))
    return bound, best - alpha.sum()


@pytest.mark.parametrize("error", [0.0, 1e-9, 1e-6, 1e-4])
def test_duals_inside_their_bounds_are_repaired(error):
    bound, excess = repaired(error)
    assert max(excess, 0) <= bound <= 100 * error + 1e-9


def test_duals_without_freedom_prove_nothing():
    assert repaired(1e-6, share=0.0)[0] == np.inf
    assert repaired(1e-6, share=1e-8)[0] == np.inf  # less than is missing


@pytest.mark.parametrize("size", [1e12, 1e100, 1e150])
def test_hinge_problems_without_a_penalty_that_counts_are_certified(size):
    case = Problem(conditioned_design(size * X), POSITIVE, 1 - POSITIVE, Hinge())
    solution = solve(case)
    assert solution.converged
    assert solution.gap <= 1e-6 * solution.objective
    assert solution.objective == pytest.approx(least_hinge_loss()[0], rel=1e-6)


def test_separable_rows_of_any_size_converge():
    labels = np.where(X[:, 0] > 0, 1.0, 0.0)
    rows = 1e80 * (X + np.where(X[:, :1] > 0, 1, -1))
    solution = solve(Problem(conditioned_design(rows), labels, 1 - labels, Hinge()))
    assert solution.converged
    assert solution.gap <= 1e-18  # of a loss of 50 at w = 0
    assert solution.objective < 1e-150
