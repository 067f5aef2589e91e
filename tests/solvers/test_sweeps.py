"""Newton steps on swept rows: which are looked at, and what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.datasets import make_gaussian_bags
from bagwise.designs.dense import Dense
from bagwise.designs.swept import Labels, Swept
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
