"""The concave-convex procedure on problems whose every step is known."""

import numpy as np
import pytest

from bagwise.procedures.cccp import cccp
from bagwise.solvers import Solution


def solution(x, objective, gap):
    """Return a solution at the point x; what the procedure does not read is left empty."""
    x = np.array([x])
    return Solution(
        coef=x,
        intercept=0.0,
        scores=x,
        dual=np.zeros(1),
        objective=objective,
        gap=gap,
        residual=0.0,
        n_iter=1,
        converged=True,
    )


def quartic(x):
    """Return x^4 - 2x^2: convex minus convex, minima at -1 and 1."""
    return x**4 - 2 * x**2


def solved(tangent, last, gap=0.0):
    """Minimize x^4 - 4 t x, the tangent of -2x^2 at t taken for it."""
    x = np.cbrt(tangent[0])
    return solution(x, x**4 - 4 * tangent[0] * x, gap)


def value(found):
    return float(quartic(found.scores[0]))


def test_falls_to_the_minimum_on_its_side():
    for start in (0.3, -0.3):
        run = cccp(lambda s: s, solved, value, np.array([start]), max_iter=200, tol=1e-14)
        objectives = [record["objective"] for record in run.history]
        assert np.all(np.diff(objectives) <= 1e-15)
        assert run.converged
        assert {record["rise"] for record in run.history} == {0.0}
        assert run.solution.scores[0] == pytest.approx(np.sign(start), abs=1e-6)
        assert run.solution.objective == pytest.approx(-1.0)


def test_max_iter_is_told():
    run = cccp(lambda s: s, solved, value, np.array([0.1]), max_iter=2, tol=0)
    assert not run.converged
    assert len(run.history) == 2


def test_a_tangent_that_repeats_ends_it():
    run = cccp(np.sign, solved, value, np.array([0.2]), max_iter=50, tol=0)
    assert run.converged
    assert [record["changed"] for record in run.history] == [0]


def climbing(tangent, last):
    """Go up, whatever the tangent."""
    return solution(tangent[0] + 1, 0.0, gap=0.5)


def test_a_climb_is_refused_or_measured():
    height = {1.0: 5.0, 2.0: 4.0, 3.0: 7.0, 4.0: 6.0}
    args = (lambda s: s, climbing, lambda s: height[s.scores[0]], np.array([0.0]))
    kept = cccp(*args, max_iter=4)
    assert kept.solution.objective == 4.0
    assert kept.solution.scores[0] == 2.0
    assert kept.assignment[0] == 1.0
    assert kept.converged
    printed = cccp(*args, max_iter=4, monotone=False)
    assert printed.solution.objective == 6.0
    rise = max(record["rise"] for record in printed.history)
    assert rise == pytest.approx(7.0 - 4.0 - 0.5)  # beyond the gap of 0.5


def test_every_step_is_reported():
    seen = []
    cccp(lambda s: s, solved, value, np.array([0.3]), max_iter=3, tol=0, callback=seen.append)
    assert len(seen) == 3
    assert {"objective", "convex_objective", "gap", "rise", "changed"} <= seen[0].keys()
