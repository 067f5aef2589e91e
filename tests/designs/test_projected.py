"""Projected conjugate gradients against the bordered system."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.designs import projected
from bagwise.designs.projected import Woodbury, solve_projected
from bagwise.kernels import Kernel


def system(n=80, rank=10, seed=0):
    rng = np.random.default_rng(seed)
    K = Kernel("rbf", 0.1).gram(rng.normal(size=(n, 3)), np.float64)
    root = rng.uniform(0.5, 3, n)
    values, vectors = np.linalg.eigh(K)
    L = (vectors * np.sqrt(np.maximum(values, 0)))[:, -rank:]
    near = Woodbury(L, root, L.T @ (root[:, None] ** 2 * L))
    return K, root, near, rng.normal(size=n)


@pytest.mark.parametrize("rank", [1, 10, 80])
def test_solution_of_the_bordered_system(rank):
    K, root, near, target = system(rank=rank)
    n = len(K)
    bordered = np.block(
        [[np.eye(n) + root[:, None] * K * root, root[:, None]], [root, np.zeros((1, 1))]]
    )
    *u, intercept = np.linalg.solve(bordered, np.append(root * target, 0.0))
    start = np.random.default_rng(1).normal(size=n)  # not on the plane
    ours, close = solve_projected(
        lambda v: K @ v, near, root * target, (start, K @ (root * start)), -np.inf, 1e-7
    )
    assert close
    assert np.allclose(ours, u, atol=1e-6)
    rest = root * target - root * (K @ (root * ours)) - ours
    assert near.intercept(rest) == pytest.approx(intercept, abs=1e-6)


def test_the_exact_preconditioner_is_the_inverse():
    K, root, near, target = system(rank=80)
    assert np.allclose(near(target + root * (K @ (root * target))), target, atol=1e-9)


def test_it_stops_where_the_rest_does_not_matter():
    K, root, near, target = system()
    zero = np.zeros(len(K))
    value = 0.5 * np.sum((root * target) ** 2)
    rough, close = solve_projected(lambda v: K @ v, near, root * target, (zero, zero), value, 0.0)
    assert close

    def objective(u):
        scores = K @ (root * u)
        b = root**2 @ (target - scores) / np.sum(root**2)
        return 0.5 * (root * u) @ scores + 0.5 * np.sum((root * (scores + b - target)) ** 2)

    exact, _ = solve_projected(lambda v: K @ v, near, root * target, (zero, zero), -np.inf, 0.0)
    assert objective(rough) - objective(exact) <= 0.06 * (value - objective(exact))
    assert objective(rough) - objective(exact) > 1e-9 * value


def test_failure_is_said(monkeypatch):
    monkeypatch.setattr(projected, "_MAX_ITERATIONS", 3)
    K, root, near, target = system(rank=1)
    zero = np.zeros(len(K))
    _, close = solve_projected(lambda v: K @ v, near, root * target, (zero, zero), -np.inf, 1e-9)
    assert not close


def test_a_start_that_is_the_solution_is_returned():
    K, _, near, _ = system()
    zero = np.zeros(len(K))
    found, close = solve_projected(lambda v: K @ v, near, zero, (zero, zero), -np.inf, 0.0)
    assert close
    np.testing.assert_array_equal(found, zero)
