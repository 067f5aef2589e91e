"""One class against the rest: rows, weights and combinations, against plain loops."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.designs import Gram, matrix_design
from bagwise.estimators.task import Task, combinations_of, mean_scores
from bagwise.losses import SquaredHinge
from reference.program import reference_solution

drawn_sizes = st.lists(st.integers(1, 4), min_size=2, max_size=6)


def make_task(sizes, seed=0, C=2.0, design=matrix_design):
    """Draw a task with positive and negative bags of these sizes; return it and its rows."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(size=(offsets[-1], 3))
    positive = np.arange(len(sizes)) % 2 == 0
    bag_weight = rng.uniform(0.5, 2.0, len(sizes))
    task = Task(design(X), offsets, positive, C * bag_weight, SquaredHinge(), C)
    return task, X, bag_weight


def parts(sizes):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return [range(a, b) for a, b in pairwise(offsets)]


@given(drawn_sizes)
def test_rows_of_positive_bags(sizes):
    task, _, _ = make_task(sizes)
    inside = [k for bag in parts(sizes)[::2] for k in bag]
    assert task.positive_rows.tolist() == inside
    assert np.flatnonzero(task.in_positive).tolist() == inside
    assert np.diff(task.positive_offsets).tolist() == sizes[::2]
    values = np.arange(1.0, len(inside) + 1)
    spread = task.spread(values)
    np.testing.assert_array_equal(spread[inside], values)
    assert spread.sum() == values.sum()


@given(drawn_sizes, st.booleans())
def test_weights_of_the_two_sided_problem(sizes, rest_is_negative):
    task, _, _ = make_task(sizes)
    p = task.spread(np.random.default_rng(1).random(len(task.positive_rows)))
    problem = task.problem(p, rest_is_negative)
    for k, inside in enumerate(task.in_positive):
        up = p[k] if inside else 0.0
        down = (1 - p[k]) * rest_is_negative if inside else 1.0
        assert problem.positive[k] == pytest.approx(task.weight[k] * up)
        assert problem.negative[k] == pytest.approx(task.weight[k] * down)


@given(drawn_sizes)
def test_combinations_are_positive_bags_then_negative_instances(sizes):
    task, X, _ = make_task(sizes)
    shares = np.random.default_rng(2).random(len(task.positive_rows))
    shares[::3] = 0.0
    combinations, is_bag = combinations_of(task, shares)
    of_all = task.spread(shares)
    expected = [sum(of_all[k] * X[k] for k in bag) for bag in parts(sizes)[::2]]
    expected += [X[k] for bag in parts(sizes)[1::2] for k in bag]
    np.testing.assert_allclose(combinations @ X, expected, atol=1e-12)
    assert is_bag.tolist() == [True] * len(sizes[::2]) + [False] * sum(sizes[1::2])
    assert combinations.nnz == np.count_nonzero(shares) + sum(sizes[1::2])  # no stored zeros


@pytest.mark.parametrize("kind", ["linear", "kernel", "sparse"])
@pytest.mark.parametrize("sizes", [(3, 2, 1, 4), (1, 1), (2, 5, 3)])
def test_mean_scores_are_those_of_the_svm_of_the_means(sizes, kind):
    designs = {
        "linear": matrix_design,
        "kernel": lambda X: Gram(X @ X.T),
        "sparse": lambda X: matrix_design(sp.csr_array(X)),
    }
    task, X, bag_weight = make_task(sizes, design=designs[kind])
    rows = [X[list(bag)].mean(axis=0) for bag in parts(sizes)[::2]]
    rows += [X[k] for bag in parts(sizes)[1::2] for k in bag]
    weight = 2.0 * np.concatenate([bag_weight[::2], np.repeat(bag_weight[1::2], sizes[1::2])])
    up = np.arange(len(rows)) < len(sizes[::2])
    found = reference_solution(np.array(rows), weight * up, weight * ~up, SquaredHinge())
    # Without the intercept: it moves no instance past another.
    np.testing.assert_allclose(mean_scores(task), X @ found.coef, atol=1e-5)
