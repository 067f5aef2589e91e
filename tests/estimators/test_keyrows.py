"""Rows of a task that choose key instances: units, kernels and solutions against plain loops."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.designs import Gram, Iterative, matrix_design
from bagwise.estimators.keyrows import KeyRows
from bagwise.estimators.task import Task
from bagwise.losses import MarginBand
from bagwise.solvers.column_newton import column_newton

SIZES, OFFSETS = np.array([2, 3, 1, 4, 2]), np.array([0, 2, 5, 6, 10, 12])
POSITIVE = np.array([True, False, True, True, False])
BAND = MarginBand(0.4, 0.6)


def rows_of(negatives="instances", weight=(1.0, 1.0, 1.0, 1.0, 1.0), n_witnesses=1, kind="dense"):
    X = np.random.default_rng(0).normal(size=(12, 3))
    make = {
        "dense": matrix_design,
        "sparse": lambda X: matrix_design(sp.csr_array(X)),
        "gram": lambda X: Gram(X @ X.T),
        "gram32": lambda X: Gram((X @ X.T).astype(np.float32)),
    }[kind]
    task = Task(make(X), OFFSETS, POSITIVE, np.array(weight), BAND)
    return KeyRows(task, negatives, n_witnesses), X


def units_by_hand(X, negatives, used):
    """Positive instances and negative ones (or the means of negative bags), in their order."""
    of_bags = [X[a:b] for a, b in pairwise(OFFSETS)]
    rows = []
    if negatives == "instances":
        return np.vstack([bag for bag, use in zip(of_bags, used, strict=True) if use])
    for bag, use, positive in zip(of_bags, used, POSITIVE, strict=True):
        rows += list(bag) if use and positive else []
    for bag, use, positive in zip(of_bags, used, POSITIVE, strict=True):
        rows += [bag.mean(axis=0)] if use and not positive else []
    return np.array(rows)


@pytest.mark.parametrize("kind", ["dense", "sparse", "gram", "gram32"])
@pytest.mark.parametrize("negatives", ["instances", "bags"])
@pytest.mark.parametrize("weight", [(1, 1, 1, 1, 1), (1, 2, 0, 3, 1), (1, 0, 1, 2, 1)])
def test_the_kernel_is_that_of_the_units(kind, negatives, weight):
    rows, X = rows_of(negatives, weight, kind=kind)
    units = units_by_hand(X, negatives, np.array(weight) > 0)
    made = rows.saddle(np.ones(1), BAND)
    assert (made.K is None) == (kind in ("dense", "sparse"))
    K = np.zeros((len(units), len(units))) if made.K is None else made.K
    assert K.dtype == np.float64
    scaled = made.features.Z * made.features.scale
    K = K + scaled @ scaled.T - 1.0  # the constant
    np.testing.assert_allclose(K, units @ units.T, atol=1e-5 if kind == "gram32" else 1e-12)
    np.testing.assert_allclose(K, K.T, rtol=0, atol=1e-14)


def test_more_features_than_units_go_through_their_products():
    X = np.random.default_rng(0).normal(size=(12, 40))
    task = Task(matrix_design(X), OFFSETS, POSITIVE, np.ones(len(SIZES)), BAND)
    made = KeyRows(task, "instances", 1).saddle(np.ones(1), BAND)
    np.testing.assert_allclose(made.K, X @ X.T, atol=1e-12)
    np.testing.assert_array_equal(made.features.Z, np.ones((12, 1)))


@pytest.mark.parametrize("negatives", ["instances", "bags"])
def test_choices_are_the_instances_of_used_positive_bags(negatives):
    rows, _ = rows_of(negatives, (1, 1, 0, 2, 1), n_witnesses=3)
    choices = rows.choices
    assert np.diff(choices.offsets).tolist() == [2, 4]
    assert choices.counts.tolist() == [2, 3]  # a smaller bag uses all its instances
    as_instances = negatives == "instances"
    assert choices.rows.tolist() == ([0, 1, 5, 6, 7, 8] if as_instances else [*range(6)])
    assert choices.n_units == (11 if as_instances else 8)
    for_bags, against = rows.bag_weights
    assert (for_bags.tolist(), against.tolist()) == ([1, 2], [1, 1])
    assert rows.negative_weights.tolist() == ([1] * 5 if as_instances else [1, 1])


def test_a_large_matrix_is_not_copied_for_bags_without_weight():
    (plain, X), weight = rows_of(weight=(1, 1, 0, 2, 1)), np.array([1.0, 1, 0, 2, 1])
    large = KeyRows(
        Task(Iterative(X @ X.T), OFFSETS, POSITIVE, weight, BAND), "instances", n_witnesses=1
    )
    assert large.units is None
    loss_weight = np.concatenate([plain.bag_weights[0], plain.negative_weights])
    points = []
    for rows in (plain, large):
        saddle = rows.saddle(loss_weight, BAND)
        chosen = rows.choices.random(np.random.RandomState(0), 3)
        saddle = saddle.with_columns([rows.choices.weights(draw) for draw in chosen])
        points.append(rows.solution(saddle, column_newton(saddle)))
    np.testing.assert_allclose(points[1].dual, points[0].dual, atol=1e-9)
    np.testing.assert_allclose(points[1].scores, points[0].scores, atol=1e-9)


@pytest.mark.parametrize("kind", ["dense", "gram"])
@pytest.mark.parametrize("negatives", ["instances", "bags"])
@pytest.mark.parametrize("n_witnesses", [1, 2])
def test_a_solution_over_units_is_one_over_instances(kind, negatives, n_witnesses):
    rows, X = rows_of(negatives, (1, 2, 1, 1, 1), n_witnesses, kind)
    for_bags, _ = rows.bag_weights
    weight = np.concatenate([for_bags, rows.negative_weights])
    saddle = rows.saddle(weight, BAND)
    chosen = rows.choices.random(np.random.RandomState(0), 2)
    for draw in chosen:
        saddle = saddle.with_columns([rows.choices.weights(draw)])
    point = column_newton(saddle)
    solution = rows.solution(saddle, point)
    units = units_by_hand(X, negatives, np.ones(5, dtype=bool))
    on_units = saddle.coef(point)
    w, b = units.T @ on_units, on_units.sum()
    np.testing.assert_allclose(solution.scores, X @ w + b, atol=1e-10)
    assert solution.intercept == pytest.approx(b)
    assert (solution.objective, solution.gap) == (point.upper, point.gap)
    mu = rows.instance_weights(saddle, point)
    in_positive = np.repeat(POSITIVE, SIZES)
    assert not mu[~in_positive].any()
    sums = np.add.reduceat(mu, OFFSETS[:-1])
    np.testing.assert_allclose(sums[POSITIVE], 1.0, atol=1e-9)
    shares = np.zeros(12)
    for share, draw in zip(point.v, chosen, strict=True):
        of_units = np.asarray(rows.choices.weights(draw).sum(axis=0)).ravel()
        shares[in_positive] += share * of_units[rows.choices.rows]
    np.testing.assert_allclose(mu, shares, atol=1e-9)
