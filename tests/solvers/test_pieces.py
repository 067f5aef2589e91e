"""The bound by the current quadratic: true, tight, and infinite where it proves nothing."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.designs import Point, matrix_design
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve
from bagwise.solvers.pieces import quadratic_gap

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
