"""Linear programs by column generation against the program written out whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from bagwise.solvers.l1_hinge import solve_l1_hinge


def whole_program(X, y, weights) -> float:
    """The program with all columns at once."""
    n, d = X.shape
    cost = np.concatenate([np.ones(2 * d), [0], weights])
    rows = np.hstack([y[:, None] * X, -y[:, None] * X, y[:, None], np.eye(n)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    return linprog(cost, A_ub=-rows, b_ub=-np.ones(n), bounds=bounds).fun


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_column_generation_equals_the_whole_program(seed, C):
    rng = np.random.default_rng(seed)
    X, y = rng.random((30, 80)), np.where(rng.random(30) < 0.4, 1.0, -1.0)
    weights = C * rng.integers(1, 4, 30)
    solution = solve_l1_hinge(X, y, weights)
    assert solution.converged
    assert solution.gap <= 1e-7 * solution.objective
    assert solution.objective == pytest.approx(whole_program(X, y, weights), rel=1e-8)
    slack = np.maximum(0, 1 - y * (X @ solution.coef + solution.intercept))
    assert solution.objective == pytest.approx(np.abs(solution.coef).sum() + weights @ slack)


def test_stopped_early_says_so_with_a_true_gap():
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 300)), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    weights = np.full(40, 10.0)
    early = solve_l1_hinge(X, y, weights, max_iter=2)
    best = whole_program(X, y, weights)
    assert not early.converged
    assert early.objective - early.gap <= best < early.objective


@pytest.mark.parametrize("squared", [False, True])
def test_columns_of_extreme_size_are_free_or_unused(squared):
    """In the limit a huge column costs nothing, and a tiny one is worth nothing."""
    rng = np.random.default_rng(3)
    X, y = rng.integers(0, 2, (30, 2)) * 1.0, np.where(rng.random(30) < 0.5, 1.0, -1.0)

    def objective(*scales):
        scaled = X * 2.0 ** np.array(scales)
        solution = solve_l1_hinge(scaled, y, np.ones(30), squared=squared)
        slack = np.maximum(0, 1 - y * (scaled @ solution.coef + solution.intercept))
        losses = slack**2 if squared else slack
        assert solution.objective == pytest.approx(np.abs(solution.coef).sum() + losses.sum())
        return solution.objective

    assert objective(370, 370) == pytest.approx(objective(30, 30), rel=1e-6)
    assert objective(370, -370) == pytest.approx(objective(30, -30), rel=1e-6)
