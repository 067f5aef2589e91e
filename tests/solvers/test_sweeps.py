"""Newton steps on swept rows: which are looked at, and what that costs."""

import numpy as np
import pytest

from bagwise.datasets import make_gaussian_bags, make_slide_bags
from bagwise.designs.dense import Dense
from bagwise.designs.swept import Labels, Swept
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import newton, sweeps
from bagwise.solvers.sweeps import Joined, Place, descend, origin, solve_swept, sweep_at

SLACK = 1e-4


def near_its_minimum():
    """Return rows, their minimum, and a place from which a step promises some percent of it."""
    bags, y = make_gaussian_bags(200, 5, bag_size=2, shift=5.0, random_state=0)
    positive = y == 1
    labels = Labels(bags.offsets, positive, np.full(len(y), 0.5), 0.5, rest_is_negative=True)
    rows = Swept(Dense(bags.X), labels)
    rows.assignment = np.ones(int(bags.sizes[positive].sum()))
    solution = solve_swept(rows, origin(rows))
    return rows, solution.objective, sweep_at(rows, Place(0.8 * solution.coef, solution.intercept))


def test_a_small_step_is_not_looked_at():
    rows, _, place = near_its_minimum()
    before = rows.passes
    found = descend(rows, place, SLACK, 100)
    assert SLACK < found.promise < 0.1
    assert (found.taken, found.place.sums, rows.passes) == (1, None, before)


def test_steps_that_promise_more_than_the_last_are_looked_at():
    rows, minimum, place = near_its_minimum()
    shrinking, before = descend(rows, place, SLACK, 100), rows.passes
    growing = descend(rows, place, SLACK, 100, last=0.5 * shrinking.promise)
    assert growing.promise == shrinking.promise
    assert rows.passes - before >= growing.taken - 1 >= 1
    values = [sweep_at(rows, found.place).value(rows.metric) for found in (growing, shrinking)]
    assert values[0] == pytest.approx(minimum, rel=SLACK)
    assert values[1] > values[0]


def separable(seed, C, dtype=np.float64):
    """Return rows with one witness per positive bag against all negatives, and their problem."""
    bags, y = make_slide_bags(40, 96, bag_size=(60, 120), random_state=seed)
    positive, X = np.asarray(y) == 1, np.asarray(bags.X, dtype)
    labels = Labels(bags.offsets, positive, np.full(len(y), C), C, rest_is_negative=False)
    rows = Swept(Dense(X), labels)
    first = np.concatenate([[0], np.cumsum(bags.sizes[positive])])
    p = np.zeros(first[-1])
    p[first[:-1]] = 1.0
    rows.assignment = p
    inside = np.repeat(positive, bags.sizes)
    up = np.zeros(len(X))
    up[inside] = C * p
    return rows, Problem(Dense(X.astype(float)), up, C * ~inside, SquaredHinge())


@pytest.mark.parametrize("seed", range(3))
def test_separable_rows_take_few_halvings(seed):
    """Full steps overshoot for long."""
    rows, problem = separable(seed, C=1.0)
    solution = solve_swept(rows, origin(rows))
    assert solution.converged
    assert solution.gap <= 1e-8 * solution.objective
    assert rows.passes <= 2 * solution.n_iter
    assert solution.objective == pytest.approx(newton(problem).objective, rel=1e-7)
    # Nothing is thrown away: no objective is above all of the three before it.
    values = [record["objective"] for record in solution.history]
    assert all(new <= max(values[max(0, i - 2) : i + 1]) for i, new in enumerate(values[1:], 0))


def test_a_descent_does_not_shorten_every_step_anew(monkeypatch):
    monkeypatch.setattr(sweeps, "INNER", 1e-3)
    rows, problem = separable(0, C=30.0)
    found = descend(rows, origin(rows), SLACK, 100)
    assert 10 < found.taken < 60
    assert rows.passes <= 2 * found.taken
    value = sweep_at(rows, found.place).value(rows.metric)
    assert value == pytest.approx(newton(problem).objective, rel=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [30.0, 1e3, 1e6])
def test_separable_rows_of_large_weight_go_along_a_path(C, dtype):
    rows, problem = separable(0, C, dtype)
    solution = solve_swept(rows, origin(rows))
    assert solution.converged
    assert solution.gap <= 1e3 * rows.rounding * solution.objective
    assert rows.passes <= 150
    assert solution.objective == pytest.approx(newton(problem).objective, rel=1e-6)


def test_products_of_single_precision_are_refined_only_where_they_prove_too_little():
    easy, hard = separable(1, 0.01, np.float32)[0], separable(1, 1e5, np.float32)[0]
    coarse = easy.rounding
    solve_swept(easy, origin(easy))
    solution = solve_swept(hard, origin(hard))
    assert easy.rounding == coarse > hard.rounding
    assert solution.gap <= 1e-9 * solution.objective


def test_joined_rows_add_up():
    halves = [near_its_minimum()[0] for _ in range(2)]
    joined, coef = Joined(halves), np.arange(5.0)
    one = near_its_minimum()[0].sweep(coef, 0.1)
    np.testing.assert_allclose(joined.sweep(coef, 0.1).rise, 2 * one.rise)
    assert not joined.refine()
