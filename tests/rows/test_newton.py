"""Newton by passes against Newton on vectors in memory, and how many passes it takes."""

import numpy as np
import pytest

from bagwise.assumptions import AtLeastOne, ExactlyOne
from bagwise.assumptions.rules import Everything, Given
from bagwise.datasets import make_slide_bags
from bagwise.designs import matrix_design
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.procedures.run import run
from bagwise.rows import Assignment, Labels, Newton, Place, Rows, make_rows
from bagwise.solvers import solve
from bagwise.tolerances import COARSE, INNER
from rows.planted import label, plant


def solve_by_passes(rows, labels, rule):
    newton = Newton(rows, labels)

    def fit():
        return (yield from newton.solve((yield from newton.start(rule))))

    view = run(rows, fit())
    return view, view.solution(newton.rounding, newton.n_looks, newton.at_zero)


def solve_vectors(bags, labels, p):
    weight = np.repeat(labels.weight, bags.sizes)
    inside = np.repeat(labels.positive, bags.sizes)
    negative = weight * np.where(inside, 1 - p, 1.0)
    X = np.asarray(bags.X, dtype=np.float64)
    return solve(Problem(matrix_design(X), weight * p, negative, SquaredHinge()))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_the_solution_is_that_of_vectors(C, offset):
    bags, positive = plant(offset=offset)
    given = 1.0 * (np.random.default_rng(0).random(bags.n_instances) < 0.4)
    labels = label(positive, C, given=given)
    rows = make_rows(bags.X, bags.offsets)
    assert (rows.coordinates is None) == (offset == 0)
    _, found = solve_by_passes(rows, labels, Given(AtLeastOne()))
    p = given * np.repeat(positive, bags.sizes)
    expected = solve_vectors(bags, labels, p)
    assert found.converged
    assert found.gap <= 1e-9 * found.objective
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    coef, intercept = rows.as_given(found.coef, found.intercept)
    np.testing.assert_allclose(bags.X @ coef + intercept, expected.scores, rtol=1e-3, atol=1e-3)


def test_wide_rows_have_the_solution_of_their_features():
    bags, positive = plant(20, 300, offset=2.0)
    labels = label(positive, 1e-3)
    rows = make_rows(bags.X, bags.offsets)
    assert rows.n_coef == bags.n_instances < bags.n_features
    view, found = solve_by_passes(rows, labels, Everything())
    expected = solve_vectors(bags, labels, 1.0 * np.repeat(positive, bags.sizes))
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    np.testing.assert_allclose(rows.as_given(view.at.coef, 0.0)[0], expected.coef, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1.0, 1e6])
def test_separable_rows_are_solved_to_their_gap(C, dtype):
    bags, y = make_slide_bags(40, 96, bag_size=(60, 120), random_state=0)
    first = np.zeros(bags.n_instances)
    first[bags.offsets[:-1]] = 1.0
    labels = Labels(np.asarray(y) == 1, np.full(len(y), C), C, given=first)
    rows = Rows(np.asarray(bags.X, dtype), bags.offsets)
    view, found = solve_by_passes(rows, labels, Given(ExactlyOne()))
    assert found.converged
    assert found.gap <= 1e-4 * found.objective
    assert view.residual <= 1e-2 * np.linalg.norm(view.at.coef)


def test_a_small_step_is_not_looked_at():
    bags, positive = plant(200, 5)
    rows, labels = Rows(bags.X, bags.offsets), label(positive)
    view, best = solve_by_passes(rows, labels, Everything())

    def descend(newton, last):
        at = Place(0.8 * view.at.coef, view.at.intercept)
        start = yield from newton.look(at, Assignment(Everything()))
        before = newton.n_looks
        found = yield from newton.descend(start, 100, last)
        return *found, newton.n_looks - before

    _, _, taken, promise, looks = run(rows, descend(Newton(rows, labels), np.inf))
    assert COARSE < promise < INNER
    assert (taken, looks) == (1, 0)
    # Where the promise has grown, all but the smallest steps are looked at.
    _, place, taken, same, looks = run(rows, descend(Newton(rows, labels), 0.5 * promise))
    assert same == promise
    assert looks >= taken
    newton = Newton(rows, labels)
    end = run(rows, newton.look(place, Assignment(Everything())))
    assert end.value == pytest.approx(best.objective, rel=COARSE)


def test_weights_of_bags_count_as_copies():
    bags, positive = plant(20)
    twice = bags[np.repeat(np.arange(20), 2)]
    one = solve_by_passes(
        Rows(bags.X, bags.offsets), Labels(positive, np.full(20, 2.0)), Everything()
    )[1]
    many = np.repeat(positive, 2)
    two = solve_by_passes(Rows(twice.X, twice.offsets), Labels(many, np.ones(40)), Everything())[1]
    assert one.objective == pytest.approx(two.objective, rel=1e-12)


def test_overflow_is_named():
    bags, positive = plant(10)
    rows = Rows(bags.X * 1e200, bags.offsets)
    with (
        pytest.raises((FloatingPointError, np.linalg.LinAlgError), match="overflow"),
        np.errstate(all="ignore"),
    ):
        solve_by_passes(rows, label(positive, 1e200), Everything())


def test_refining_in_float64_keeps_the_hessian(monkeypatch):
    pytest.importorskip("torch")
    bags, positive = plant(dtype=np.float16)
    rows, looks = make_rows(bags.to("cpu").X, bags.offsets), []
    plain = rows.run_pass
    monkeypatch.setattr(rows, "run_pass", lambda asked: looks.extend(asked) or plain(asked))
    newton = Newton(rows, label(positive))

    def fit():
        view = yield from newton.solve((yield from newton.start(Everything())))
        return (yield from newton.refine(view))

    view = run(rows, fit())
    exact = [look.since is not None for look in looks if look.exact]
    assert exact
    assert all(exact)  # X'SX of all rows is not made again
    assert view.gap <= 1e-12 * view.value
