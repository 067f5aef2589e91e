"""Newton steps on swept rows: which are looked at, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.datasets import make_gaussian_bags, make_slide_bags
from bagwise.designs.dense import Dense
from bagwise.designs.swept import Labels, Swept
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import newton
from bagwise.solvers.sweeps import Place, descend, origin, solve_swept, swept

SLACK = 1e-4


def near_its_minimum():
    """Return rows, their minimum, and a place from which a step promises some percent of it."""
    bags, y = make_gaussian_bags(200, 5, bag_size=2, shift=5.0, random_state=0)
    positive = y == 1
    labels = Labels(bags.offsets, positive, np.full(len(y), 0.5), 0.5, rest_is_negative=True)
    rows = Swept(Dense(bags.X), labels)
    rows.assignment = np.ones(int(bags.sizes[positive].sum()))
    solution = solve_swept(rows, origin(rows))
    return rows, solution.objective, swept(rows, Place(0.8 * solution.coef, solution.intercept))


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
    values = [swept(rows, found.place).value(rows.metric) for found in (growing, shrinking)]
    assert values[0] == pytest.approx(minimum, rel=SLACK)
    assert values[1] > values[0]


def test_one_step_is_one_step():
    rows, _, place = near_its_minimum()
    assert descend(rows, place, SLACK, 1, last=0.0).taken == 1


@pytest.mark.parametrize("seed", range(3))
def test_separable_rows_take_few_halvings(seed):
    """One witness per positive bag against all negatives: full steps overshoot for long."""
    bags, y = make_slide_bags(40, 96, bag_size=(60, 120), random_state=seed)
    positive, X = np.asarray(y) == 1, np.asarray(bags.X, np.float64)
    labels = Labels(bags.offsets, positive, np.ones(len(y)), 1.0, rest_is_negative=False)
    rows = Swept(Dense(X), labels)
    first = np.concatenate([[0], np.cumsum(bags.sizes[positive])])
    p = np.zeros(first[-1])
    p[first[:-1]] = 1.0
    rows.assignment = p
    solution = solve_swept(rows, origin(rows))
    assert solution.converged
    assert solution.gap <= 1e-8 * solution.objective
    assert rows.passes <= 2 * solution.n_iter
    inside = np.repeat(positive, bags.sizes)
    up, down = np.zeros(len(X)), 1.0 * ~inside
    up[inside] = p
    exact = newton(Problem(Dense(X), up, down, SquaredHinge()))
    assert solution.objective == pytest.approx(exact.objective, rel=1e-7)
    # Nothing is thrown away: no objective is above all of the three before it.
    values = [record["objective"] for record in solution.history]
    assert all(new <= max(values[max(0, i - 2) : i + 1]) for i, new in enumerate(values[1:], 0))
