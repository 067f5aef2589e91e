"""Rows that ask for margins of their own: both losses against clarabel, and the certificate."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.designs import Dense, Gram
from bagwise.losses import Hinge, SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve


def random_problem(seed: int, loss, kind) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 4))
    positive = rng.random(25) * (rng.random(25) < 0.7)
    negative = rng.random(25) * (rng.random(25) < 0.7)
    design = Dense(X) if kind == "dense" else Gram(X @ X.T)
    return Problem(design, 3 * positive, 3 * negative, loss, rng.uniform(-1, 1.5, 25))


def reference(problem: Problem, X) -> float:
    """Minimise over (w, b, slacks of both sides) with an independent solver."""
    n, d = X.shape
    squared = isinstance(problem.loss, SquaredHinge)
    weights = np.concatenate([problem.positive, problem.negative])
    ones = np.ones((n, 1))
    P = np.concatenate([np.ones(d), [0], 2 * weights if squared else np.zeros(2 * n)])
    q = np.concatenate([np.zeros(d + 1), np.zeros(2 * n) if squared else weights])
    margins = np.vstack([np.hstack([X, ones]), -np.hstack([X, ones])])
    A = np.block([[-margins, -np.eye(2 * n)], [np.zeros((2 * n, d + 1)), -np.eye(2 * n)]])
    b = np.concatenate([-problem.margin, -problem.margin, np.zeros(2 * n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(4 * n)]
    P, A = sp.csc_matrix(sp.diags(P)), sp.csc_matrix(A)
    return clarabel.DefaultSolver(P, q, A, b, cones, settings).solve().obj_val


@pytest.mark.parametrize("kind", ["dense", "gram"])
@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("seed", range(4))
def test_optimum_equals_an_independent_solver(seed, loss, kind):
    problem = random_problem(seed, loss, kind)
    X = random_problem(seed, loss, "dense").design.X
    solution = solve(problem)
    tight = 1e-9 if isinstance(loss, SquaredHinge) else 1e-4
    assert solution.converged
    assert solution.gap <= tight * solution.objective
    assert solution.objective == pytest.approx(reference(problem, X), rel=max(tight, 1e-7))


@pytest.mark.parametrize("loss", [Hinge(), SquaredHinge()], ids=lambda loss: type(loss).__name__)
def test_margin_one_is_no_margin(loss):
    problem = random_problem(0, loss, "dense")
    plain = Problem(problem.design, problem.positive, problem.negative, loss)
    ones = Problem(problem.design, problem.positive, problem.negative, loss, np.ones(25))
    one, other = solve(plain), solve(ones)
    assert one.objective == pytest.approx(other.objective, rel=1e-4)


def test_dual_value_bounds_every_point():
    problem = random_problem(1, SquaredHinge(), "dense")
    rng = np.random.default_rng(0)
    optimum = solve(problem).objective
    for _ in range(50):
        up = rng.random(25) * (problem.positive > 0)
        down = rng.random(25) * (problem.negative > 0)
        assert problem.dual_objective(up, down) <= optimum + 1e-9
