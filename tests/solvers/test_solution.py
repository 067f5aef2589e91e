"""Rows that ask for margins of their own: both losses against clarabel, and the certificate."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import bagwise
from bagwise import InstanceSVC, LabelSVC, MeanSVC, MissSVM, WitnessSVC
from bagwise.designs import Dense, Gram
from bagwise.losses import Hinge, SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve
from bagwise.solvers.solution import is_in_doubt
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


@pytest.mark.parametrize(
    ("objective", "gap", "flags", "doubt"),
    [
        (1.0, 1e-9, {"converged": True}, False),
        (1.0, 5e-4, {"converged": True}, False),  # as far as the precision of float32 allows
        (1.0, 5e-4, {"converged": False}, True),
        (1.0, 5e-5, {"converged": False}, False),
        (1.0, 0.06, {"converged": True}, True),
        (1.0, 0.06, {"converged": True, "tol": 0.1}, False),
        (1e-200, 1e-200, {"converged": True}, True),
        (1e200, 1e200, {"converged": True}, True),
        (0.0, 0.0, {"converged": True}, False),
        (1.0, np.nan, {"converged": True}, True),
        (1.0, 0.0, {"converged": True, "stopped": True}, True),
        (1e-18, 1e-18, {"converged": True, "at_zero": 40.0}, False),  # all margins are met
        (1e-18, 1e-18, {"converged": True, "at_zero": 1e-18}, True),
        (1e-100, 1e-100, {"converged": False, "at_zero": 1e-99}, True),
        (1e60, 1e60, {"converged": True, "at_zero": 1e100}, True),
    ],
)
def test_doubt_is_a_gap_that_is_not_small_beside_the_objective(objective, gap, flags, doubt):
    assert is_in_doubt(objective, gap, **flags) is doubt


@pytest.mark.parametrize("model", [InstanceSVC, LabelSVC, WitnessSVC, MeanSVC, MissSVM])
def test_separable_rows_of_large_features_do_not_warn(model):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[1::2, 0] += 10
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        fitted = model(kernel="linear").fit(1e8 * X, np.arange(40) % 2)
    assert fitted.gap_ == fitted.objective_  # it proves nothing, and is nothing beside 40 losses


def test_every_model_that_warns_asks_the_one_place_that_decides():
    source = Path(bagwise.__file__).parent
    others = {
        *("models/composition.py", "testing/_contract.py"),  # they only filter the warning
        "models/graph/svc.py",  # of an objective that rose; its base class warns of gaps
        "models/proportions.py",  # of max_iter; its classifier of instances warns of gaps
    }
    warn = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "ConvergenceWarning" in (text := path.read_text()) and "is_in_doubt" not in text
    }
    assert warn == others
