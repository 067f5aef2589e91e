"""Newton over columns against a cone program; the relaxation, warm starts, simplex steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.solvers.bordered import BorderedSystem
from bagwise.solvers.column_newton import column_newton, simplex_step
from reference.saddles import BANDS, assignments, clarabel_value, make, with_columns


@pytest.mark.parametrize("loss", BANDS)
@pytest.mark.parametrize("seed", range(3))
def test_fixed_assignment_primal_dual_and_clarabel_agree(seed, loss):
    saddle, features = make(seed, loss=loss)
    saddle = with_columns(saddle, assignments((2, 3, 2))[seed : seed + 1])
    point = column_newton(saddle)
    assert point.converged
    assert point.upper - point.lower <= 1e-9 * point.upper
    assert point.upper == pytest.approx(clarabel_value(saddle, features), rel=1e-9)


@pytest.mark.parametrize("loss", BANDS)
@pytest.mark.parametrize("seed", range(2))
def test_enumerated_relaxation_agrees_with_a_cone_program(seed, loss):
    saddle, features = make(seed, loss=loss)
    saddle = with_columns(saddle, assignments((2, 3, 2)))
    point = column_newton(saddle)
    assert point.converged
    assert point.gap <= 1e-8
    assert point.upper == pytest.approx(clarabel_value(saddle, features), rel=1e-8)
    assert point.v.min() >= 0
    assert point.v.sum() == pytest.approx(1)


def test_the_relaxation_is_below_every_single_assignment():
    saddle, _ = make(3)
    every = assignments((2, 3, 2))
    relaxed = column_newton(with_columns(saddle, every)).upper
    single = [column_newton(with_columns(saddle, [c])).upper for c in every]
    assert relaxed < min(single)


def test_a_larger_pool_starts_from_the_smaller_ones_solution():
    saddle, _ = make(0)
    every = assignments((2, 3, 2))
    system = BorderedSystem(saddle.K, saddle.negatives)
    small = column_newton(with_columns(saddle, every[:4]), system=system)
    warm = column_newton(with_columns(saddle, every[:5]), small, system=system)
    cold = column_newton(with_columns(saddle, every[:5]))
    assert warm.upper == pytest.approx(cold.upper, rel=1e-8)
    assert warm.upper <= small.upper * (1 + 1e-12)


@given(seed=st.integers(0, 1000), size=st.integers(1, 8))
def test_simplex_steps_meet_their_optimality_conditions(seed, size):
    rng = np.random.RandomState(seed)
    F, v = rng.randn(size, size), rng.dirichlet(np.ones(size))
    H, g = F @ F.T + 1e-6 * np.eye(size), rng.randn(size)
    x = v + simplex_step(H, g, v)
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1)
    gradient = H @ (x - v) + g
    assert x @ gradient - gradient.min() <= 1e-7 * max(1, np.abs(gradient).max())
