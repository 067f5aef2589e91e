"""The interior-point method: its steps, its bounds, and its end."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.designs import Gram, matrix_design
from bagwise.losses import Hinge
from bagwise.problems import Problem
from bagwise.solvers.interior import Sides, State, interior_point
from reference.hinge import data, problem
from reference.program import reference_solution


@given(seed=st.integers(0, 10_000), C=st.sampled_from([1e-3, 0.1, 1.0, 30.0, 1e4]))
def test_interior_point_on_all_sorts_of_rows(seed, C):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 60), rng.integers(1, 8)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 2) + rng.choice([0, 20]) * rng.normal(
        size=d
    )
    X = X[rng.integers(0, n, n)]  # copies of rows
    y = rng.random(n) < 0.5
    y[:2] = True, False
    solution = interior_point(problem(X, y, C))
    assert solution.gap <= 1e-4 * solution.objective
    assert solution.n_iter <= 30


@pytest.mark.parametrize("design", [matrix_design, lambda X: Gram(X @ X.T)], ids=["rows", "gram"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_both_labels_of_a_row_against_a_quadratic_program(design, C):
    X, _ = data(3, 40, 4)
    a, c = C * np.random.default_rng(0).random((2, 40))
    ours = Problem(design(X), a, c * (c > 0.3 * C), Hinge())
    theirs = reference_solution(X, ours.positive, ours.negative, Hinge())
    solution = interior_point(ours)
    assert solution.gap <= 1e-6 * solution.objective
    assert solution.objective == pytest.approx(theirs.primal, rel=1e-6)
    assert solution.objective - solution.gap <= theirs.primal * (1 + 1e-9)


def test_every_iteration_is_recorded_and_the_best_is_returned():
    X, y = data(1)
    solution = interior_point(problem(X, y, 10.0))
    gaps = [record["gap"] for record in solution.history]
    assert solution.n_iter == len(gaps)
    assert solution.gap == min(gaps)
    assert all(0 < record["step"] <= 1 for record in solution.history)


def test_stopped_early_it_says_so_with_a_true_bound():
    X, y = data(2)
    best = interior_point(problem(X, y, 10.0)).objective
    early = interior_point(problem(X, y, 10.0), max_iter=3)
    assert not early.converged
    assert early.n_iter == 3
    assert early.objective - early.gap <= best < early.objective


def test_rounding_ends_it_where_no_gap_is_small_enough():
    X, y = data(4, 60, 3)
    solution = interior_point(problem(X, y), tol=0.0)
    assert not solution.converged
    assert solution.n_iter < 60
    assert solution.gap <= 1e-8 * solution.objective


def test_rows_with_two_weights_are_listed_twice():
    X, _ = data(0, 4, 2)
    two = Problem(matrix_design(X), np.array([1.0, 0, 2, 0]), np.array([0, 3.0, 4, 0]), Hinge())
    sides = Sides.of(two)
    assert sides.rows.tolist() == [0, 2, 1, 2]
    assert sides.labels.tolist() == [1, 1, -1, -1]
    assert sides.weights.tolist() == [1, 2, 3, 4]
    up, down = sides.duals(np.array([0.5, 9.0, 1.0, 2.0]))  # cut at their bounds
    assert (up.tolist(), down.tolist()) == ([0.5, 0, 2, 0], [0, 1, 2, 0])


def test_steps_stop_before_the_wall():
    state = State(*(np.array([1.0, 2.0]) for _ in range(4)))
    step = State(np.array([-4.0, 1.0]), *(np.array([1.0, 1.0]) for _ in range(3)))
    assert state.longest_step(step) == pytest.approx(0.995 / 4)
    assert state.move(step, state.longest_step(step)).alpha.min() > 0
    assert state.products() == pytest.approx((1 + 4 + 1 + 4) / 4)
    free = State(*(np.array([1.0, 1.0]) for _ in range(4)))
    assert state.longest_step(free) == 1.0
