from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise import MICA, InstanceSVC, LabelSVC, MeanSVC, MissSVM, SparseMIL, WitnessSVC
from bagwise.designs import Dense, conditioned_design
from bagwise.designs.conditioned import Conditioned
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.solvers import solve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
POSITIVE = np.where(X[:, 0] + 0.5 * RNG.normal(size=60) > 0, 1.0, 0.0)


def solved(design):
    return solve(Problem(design, 3 * POSITIVE, 3 * (1 - POSITIVE), SquaredHinge()))


def test_rows_that_need_nothing_stay_as_they_are():
    assert type(conditioned_design(X)) is Dense
    assert type(conditioned_design(X.astype(np.float32))) is Dense


@given(
    offset=st.sampled_from([0.0, 1e3, -1e6, 1e8]),
    sizes=st.lists(st.sampled_from([1e-120, 1e-6, 1.0, 1e4]), min_size=4, max_size=4),
)
def test_offsets_leave_the_solution_alone(offset, sizes):
    moved = (X + offset) * np.array(sizes)
    design = conditioned_design(moved)
    if not isinstance(design, Conditioned):
        return
    solution = solved(design)
    assert solution.converged
    # The same rows, centered and scaled by hand, with the penalty of the rows as given.
    centered = moved - moved.mean(axis=0)
    w, b = design.as_given(solution.coef, solution.intercept)
    scores = centered @ w + (b + moved.mean(axis=0) @ w)
    tolerance = 1e-6 + 1e-15 * abs(offset) * np.abs(solution.scores).max()
    np.testing.assert_allclose(scores, solution.scores, atol=10 * tolerance)
    norm = design.squared_norm(solution.coef)
    assert norm == pytest.approx(float(w @ w), rel=1e-9)
    assert solution.gap <= 1e-9 * solution.objective


def test_the_problem_solved_is_the_stated_one():
    plain, moved = solved(Dense(X)), solved(conditioned_design(X + 1e6))
    assert moved.objective == pytest.approx(plain.objective, rel=1e-9)
    np.testing.assert_allclose(moved.scores, plain.scores, atol=1e-7)


def test_subsets_keep_the_coordinates():
    design = conditioned_design(X + 1e4)
    rows = np.array([3, 5, 8])
    coef = RNG.normal(size=4)
    np.testing.assert_array_equal(design.subset(rows) @ coef, (design @ coef)[rows])
    np.testing.assert_allclose(design.matrix(rows), (X + 1e4 - design.center)[rows], atol=1e-11)


@pytest.mark.parametrize(
    "kind", [InstanceSVC, LabelSVC, WitnessSVC, MICA, MeanSVC, SparseMIL, MissSVM]
)
def test_estimators_do_not_see_an_offset(kind, recwarn):
    rng = np.random.default_rng(1)
    bags = [rng.normal(size=(4, 3)) + 1.5 * (i % 2) for i in range(40)]
    y = np.arange(40) % 2
    plain = kind(kernel="linear").fit(bags, y)
    moved = kind(kernel="linear").fit([bag + 1e6 for bag in bags], y)
    assert not [w for w in recwarn if "converge" in str(w.message)]
    assert moved.objective_ == pytest.approx(plain.objective_, rel=1e-8)
    np.testing.assert_allclose(
        moved.decision_function([bag + 1e6 for bag in bags]),
        plain.decision_function(bags),
        atol=1e-6,
    )
