"""Alternation: never up, always an end, and the ends of slow reference alternations."""

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, LabelSVC, WitnessSVC
from bagwise.procedures import alternate
from bagwise.solvers import Solution

REFERENCE = json.loads((Path(__file__).parent / "reference_alternation.json").read_text())


def solution(objective, scores=(0.0,)):
    scores = np.asarray(scores, dtype=float)
    return Solution(np.zeros(1), 0.0, scores, np.zeros(1), objective, 0.0, 0.0, 1, True)


def scripted(objectives):
    """Alternate through given objectives, each with a new assignment."""
    seen = []

    def solve(assignment, last):
        seen.append((assignment.copy(), None if last is None else last.objective))
        return solution(objectives[len(seen) - 1], assignment)

    run = alternate(solve, lambda scores: scores + 1, np.zeros(1), max_iter=len(objectives))
    return run, seen


def test_warm_starts_and_assignments_are_handed_on():
    run, seen = scripted([5.0, 4.0, 3.0])
    assert [assignment[0] for assignment, _ in seen] == [0, 1, 2]
    assert [last for _, last in seen] == [None, 5.0, 4.0]
    assert run.solution.objective == 3.0
    assert run.assignment.tolist() == [2.0]
    assert not run.converged
    assert [record["objective"] for record in run.history] == [5.0, 4.0, 3.0]


@pytest.mark.parametrize("then", [4.0, 4.5, 4.0 * (1 - 1e-14)], ids=["tie", "rise", "rounding"])
@pytest.mark.parametrize("shift", [0.0, -100.0])
def test_a_step_that_does_not_help_is_not_taken(then, shift):
    run, _ = scripted([5.0 + shift, 4.0 + shift, then + shift, 0.0 + shift])
    assert run.converged
    assert run.solution.objective == 4.0 + shift
    assert run.assignment.tolist() == [1.0]
    assert [record["objective"] for record in run.history] == [5.0 + shift, 4.0 + shift]


def test_a_repeated_assignment_ends_it():
    calls = []

    def solve(assignment, last):
        calls.append(assignment)
        return solution(10.0 - len(calls), assignment)

    run = alternate(solve, lambda scores: np.minimum(scores + 1, 2), np.zeros(1), max_iter=50)
    assert run.converged
    assert len(calls) == 3
    assert [record["changed"] for record in run.history] == [1, 1, 0]


def test_one_problem_only():
    run, seen = scripted([5.0])
    assert len(seen) == len(run.history) == 1
    assert run.assignment.tolist() == [0.0]
    assert not run.converged


def test_every_record_is_reported():
    records = []
    run = alternate(
        lambda assignment, last: solution(1.0, assignment),
        lambda scores: scores,
        np.zeros(1),
        max_iter=5,
        callback=records.append,
    )
    assert records == run.history
    assert {"objective", "gap", "residual", "solver_steps", "changed", "seconds"} <= set(records[0])


# The estimators that alternate --------------------------------------------------------------------


@given(seed=st.integers(0, 1000))
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("model", [LabelSVC, WitnessSVC])
def test_the_objective_never_rises(model, loss, kernel, seed):
    rng = np.random.default_rng(seed)
    bags = [rng.normal(size=(rng.integers(1, 6), 3)) + 0.8 * (i % 2) for i in range(16)]
    C = 10.0 ** rng.integers(-2, 3)
    fitted = model(kernel=kernel, loss=loss, C=C, gamma=0.3).fit(bags, np.arange(16) % 2)
    values = [record["objective"] for record in fitted.history_]
    assert all(later < earlier for earlier, later in pairwise(values))
    assert fitted.objective_[0] == pytest.approx(values[-1], rel=1e-4 if loss == "hinge" else 1e-9)


@pytest.mark.parametrize(("method", "model"), [("labels", LabelSVC), ("witnesses", WitnessSVC)])
@pytest.mark.parametrize(
    "case", REFERENCE, ids=[f"{c['data']}-{c['kernel']}-{c['C']}" for c in REFERENCE]
)
def test_it_ends_where_a_slow_alternation_over_a_quadratic_program_ends(
    case, method, model, dataset
):
    bags, y = dataset(case["data"])
    train = np.setdiff1d(np.arange(len(y)), case["held_out"])
    X = StandardScaler().fit_transform(bags[train].X)
    fitted = model(kernel=case["kernel"], gamma=case["gamma"], C=case["C"]).fit(
        Bags(X, bags[train].offsets), y[train]
    )
    values = [record["objective"] for record in fitted.history_]
    assert values == pytest.approx(case[method], rel=1e-6)
    assert fitted.objective_[0] == pytest.approx(case[method][-1], rel=1e-6)
    assert fitted.gap_[0] <= 1e-9 * fitted.objective_[0]
