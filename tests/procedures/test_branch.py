"""Branch and bound against all assignments, and its convex bounds against the objective."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bagwise import Bags, LabelSVC, WitnessSVC
from bagwise.assumptions import AtLeastOne, ExactlyOne
from bagwise.designs import Gram
from bagwise.estimators.task import Task
from bagwise.losses import get_loss
from bagwise.procedures.branch import LabelTree, WitnessTree
from bagwise.solvers import solve
from bagwise.testing._problems import planted_bags


def small(seed, n_positive=3, n_negative=3, size=3):
    rng = np.random.default_rng(seed)
    n_bags = n_positive + n_negative
    X = rng.normal(size=(n_bags * size, 2))
    X[: n_positive * size : size] += 1.2
    y = np.repeat([1, 0], [n_positive, n_negative])
    return Bags(X, np.arange(n_bags + 1) * size), y


def task_of(bags, y, C, loss):
    X = bags.X - bags.X.mean(axis=0)
    weight = np.full(bags.n_instances, C)
    return Task(Gram(X @ X.T), bags.offsets, y == 1, weight, get_loss(loss), C)


def assignments(task, rule):
    """Yield all assignments of the positive bags' instances."""
    sizes = np.diff(task.positive_offsets)
    if rule.rest_is_negative:
        choices = [[c for c in product([0.0, 1.0], repeat=m) if any(c)] for m in sizes]
    else:
        choices = [list(map(tuple, np.eye(m))) for m in sizes]
    for chosen in product(*choices):
        yield task.spread(np.concatenate(chosen))


def least(task, rule):
    return min(
        solve(task.problem(p, rule.rest_is_negative)).objective for p in assignments(task, rule)
    )


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_proven_minimum_of_mi_svm_is_that_of_all_witnesses(seed, C, loss):
    bags, y = small(seed)
    model = WitnessSVC(kernel="linear", C=C, loss=loss, init="random").fit(bags, y)
    bound = model.global_bound(bags, y, tol=1e-4 if loss == "hinge" else 1e-6)
    expected = least(task_of(bags, y, C, loss), ExactlyOne())
    assert bound.closed
    assert bound.upper == pytest.approx(expected, rel=2e-4)
    assert bound.lower <= expected * (1 + 1e-6) <= bound.upper * (1 + 2e-4)
    assert bound.objective == model.objective_[0]
    assert bound.gap == pytest.approx(max(model.objective_[0] - expected, 0), abs=2e-4 * expected)


@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_proven_minimum_of_mi_svm_labels_is_that_of_all_labels(seed, C):
    bags, y = small(seed, n_positive=2, size=2)
    model = LabelSVC(kernel="linear", C=C).fit(bags, y)
    bound = model.global_bound(bags, y)
    expected = least(task_of(bags, y, C, "squared_hinge"), AtLeastOne())
    assert bound.closed
    assert bound.upper == pytest.approx(expected, rel=1e-6)
    task = task_of(bags, y, C, "squared_hinge")
    at = solve(task.problem(bound.assignment, True)).objective
    assert at == pytest.approx(bound.upper, rel=1e-9)


@pytest.mark.parametrize("max_nodes", [1, 2, 5, 20])
@pytest.mark.parametrize(("kind", "rule"), [(WitnessSVC, ExactlyOne()), (LabelSVC, AtLeastOne())])
def test_unfinished_bounds_enclose_the_minimum(kind, rule, max_nodes):
    bags, y = small(7)
    expected = least(task_of(bags, y, 1.0, "squared_hinge"), rule)
    bound = kind(kernel="linear").fit(bags, y).global_bound(bags, y, max_nodes=max_nodes)
    assert bound.n_nodes <= max_nodes
    assert bound.lower <= expected * (1 + 1e-9)
    assert bound.upper >= expected * (1 - 1e-9)
    assert bound.upper <= bound.objective


@pytest.mark.parametrize(("kind", "rule"), [(WitnessTree, ExactlyOne()), (LabelTree, AtLeastOne())])
@pytest.mark.parametrize("seed", range(3))
def test_the_convex_bound_holds_in_its_ball(kind, rule, seed):
    """At any (w, b) in the ball, the relaxed objective is below that of the cheapest labels."""
    bags, y = small(seed, n_positive=4)
    task = task_of(bags, y, 1.0, "squared_hinge")
    tree, rng = kind(task, rule), np.random.default_rng(seed)
    X, radius = bags.X - bags.X.mean(axis=0), 0.8
    center = rng.normal(size=2)
    _, bound = tree.relaxed(tree.root(), X @ center, radius)
    n_exact = len(bound.exact)
    mixed = np.add.reduceat(
        X[task.positive_rows] * bound.share[:, None], task.positive_offsets[:-1]
    )
    rows = np.vstack([X[bound.exact], mixed[bound.bags]])
    assert len(rows) == n_exact + len(bound.bags)
    np.testing.assert_allclose(bound.problem.design.K, rows @ rows.T, atol=1e-12)
    for _ in range(200):
        step = rng.normal(size=2)
        w = center + radius * rng.uniform() ** 0.5 * step / np.linalg.norm(step)
        b = rng.normal()
        p = tree.assignment(X @ w + b)
        true = task.problem(p, rule.rest_is_negative).risk(X @ w + b)
        assert bound.problem.risk(rows @ w + b) <= true + 1e-9


def test_kernels_weights_and_many_classes_are_bounded():
    bags, y = planted_bags(3, n_bags=9)
    weight = np.linspace(0.5, 2.0, 9)
    model = WitnessSVC(C=0.1).fit(bags, y, weight)
    bounds = model.global_bound(bags, y, weight, max_nodes=300)
    assert len(bounds) == 3
    for bound, objective in zip(bounds, model.objective_, strict=True):
        assert bound.objective == objective
        assert bound.lower <= bound.upper <= objective


def test_results_repeat_and_other_bags_are_refused():
    bags, y = small(0)
    model = WitnessSVC(C=1.0).fit(bags, y)
    one, other = (model.global_bound(bags, y, max_nodes=10) for _ in range(2))
    assert (one.lower, one.upper, one.n_nodes) == (other.lower, other.upper, other.n_nodes)
    with pytest.raises(ValueError, match="needs the bags of fit"):
        model.global_bound(bags[:5], y[:5])
    approximate = WitnessSVC(kernel_approx="nystroem", n_components=5).fit(bags, y)
    with pytest.raises(ValueError, match="exact kernel"):
        approximate.global_bound(bags, y)
