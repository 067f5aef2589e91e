"""Rows that ask for margins of their own: both losses against clarabel, and the certificate."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.designs import Dense, Gram
from bagwise.losses import Hinge, SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve
from reference.program import reference_solution


def random_problem(seed: int, loss, kind) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 4))
    positive = rng.random(25) * (rng.random(25) < 0.7)
    negative = rng.random(25) * (rng.random(25) < 0.7)
    design = Dense(X) if kind == "dense" else Gram(X @ X.T)
    return Problem(design, 3 * positive, 3 * negative, loss, rng.uniform(-1, 1.5, 25))


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
    theirs = reference_solution(X, problem.positive, problem.negative, loss, problem.margin)
    assert solution.objective == pytest.approx(theirs.primal, rel=max(tight, 1e-7))
