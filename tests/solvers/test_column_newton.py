"""Newton over columns against a cone program; the relaxation, warm starts, simplex steps."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import ConvergenceWarning

from bagwise import Bags, KeyInstanceSVC
from bagwise.solvers.column_newton import column_newton, simplex_step, thin_start
from bagwise.solvers.systems import Systems
from reference.saddles import BANDS, assignments, clarabel_value, make, with_columns


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("loss", BANDS)
@pytest.mark.parametrize("seed", range(2))
def test_enumerated_relaxation_agrees_with_a_cone_program(seed, loss, explicit):
    saddle, features = make(seed, loss=loss, explicit=explicit)
    for chosen in (assignments((2, 3, 2)), assignments((2, 3, 2))[seed : seed + 1]):
        pool = with_columns(saddle, chosen)
        point = column_newton(pool)
        assert point.converged
        assert point.gap <= 1e-8
        assert point.upper == pytest.approx(clarabel_value(pool, features), rel=1e-8)
        assert point.v.min() >= 0
        assert point.v.sum() == pytest.approx(1)


def test_a_larger_pool_starts_from_the_smaller_ones_solution():
    saddle, _ = make(0)
    every = assignments((2, 3, 2))
    system = Systems(saddle)
    small = column_newton(with_columns(saddle, every[:4]), system=system)
    warm = column_newton(with_columns(saddle, every[:5]), small, system=system)
    cold = column_newton(with_columns(saddle, every[:5]))
    assert warm.upper == pytest.approx(cold.upper, rel=1e-8)
    assert warm.upper <= small.upper * (1 + 1e-12)


def test_steps_end_where_margins_of_large_features_are_met_to_the_last_digit():
    """Planes are above g by rounding then, and a step that promises a rise is none."""
    rng, offsets, y = np.random.default_rng(2), np.arange(0, 21, 2), np.arange(10) % 2
    X = rng.normal(size=(20, 4))
    X[offsets[:-1], 0] += 3 * y
    model = KeyInstanceSVC(kernel="linear", negatives="bags", threshold=0.0)
    with pytest.warns(ConvergenceWarning, match="ran out of digits"):
        model.fit(Bags(1e125 * X, offsets), y)
    assert max(record.get("solver_steps", 0) for record in model.history_) < 10


def test_planes_that_cannot_bind_are_left_out(capfd):
    """Piqp says on stderr what it takes for infinity, which no user can mend."""
    planes = np.array([-1e60]), np.ones((1, 2))
    step = simplex_step(np.eye(2), np.array([1.0, 2.0]), np.array([0.5, 0.5]), planes)
    assert step == pytest.approx(np.array([0.5, -0.5]), abs=1e-6)
    assert capfd.readouterr() == ("", "")


@given(seed=st.integers(0, 1000), size=st.integers(1, 8))
def test_simplex_steps_meet_their_optimality_conditions(seed, size):
    rng = np.random.RandomState(seed)
    F, v = rng.randn(size, size), rng.dirichlet(np.ones(size))
    H, g = F @ F.T + 1e-6 * np.eye(size), rng.randn(size)
    x = v + simplex_step(H, g, v, (np.empty(0), np.empty((0, size))))
    assert x.min() >= 0
    assert x.sum() == pytest.approx(1)
    gradient = H @ (x - v) + g
    assert x @ gradient - gradient.min() <= 1e-7 * max(1, np.abs(gradient).max())


@given(seed=st.integers(0, 100))
def test_simplex_steps_stay_above_planes(seed):
    """No other point of the simplex has a lower maximum of planes plus quadratic."""
    rng = np.random.RandomState(seed)
    F, v, g = rng.randn(4, 4), rng.dirichlet(np.ones(4)), rng.randn(4)
    H, heights, slopes = F @ F.T + 1e-6 * np.eye(4), -rng.rand(3), 3 * rng.randn(3, 4)

    def value(d):
        return 0.5 * d @ H @ d + max(g @ d, (heights + slopes @ d).max())

    step = simplex_step(H, g, v, (heights, slopes))
    assert step.sum() == pytest.approx(0, abs=1e-9)
    others = np.concatenate([rng.dirichlet(np.ones(4), 200), np.eye(4)]) - v
    for t in (1.0, 0.1, 0.01):
        towards = step + t * (others - step)
        assert value(step) <= min(value(d) for d in towards) + 1e-7


@pytest.mark.parametrize("loss", BANDS)
def test_a_thin_start_is_near_the_solution_and_leads_to_it(loss, monkeypatch):
    saddle, _ = make(1, sizes=(3,) * 8, n_negatives=200, d=4, loss=loss)
    saddle = with_columns(saddle, [3 * np.arange(8), 3 * np.arange(8) + 1])
    assert thin_start(saddle) is None
    expected = column_newton(saddle)
    monkeypatch.setattr("bagwise.solvers.column_newton.LARGEST_DENSE", 100)
    start = thin_start(saddle)
    assert np.flatnonzero(start.beta[8:]).tolist() == [
        i for i in range(0, 200, 5) if start.beta[8 + i] != 0
    ]
    at_start = saddle.point(saddle.mix(start.v), start.beta).upper
    at_zero = saddle.point(saddle.mix(start.v), np.zeros_like(start.beta)).upper
    assert expected.upper < at_start < 0.5 * (expected.upper + at_zero)
    again = column_newton(saddle, start)
    assert again.upper == pytest.approx(expected.upper, rel=1e-9)


@pytest.mark.parametrize("loss", BANDS)
def test_a_rough_solution_proves_its_gap(loss):
    saddle, _ = make(2, loss=loss)
    saddle = with_columns(saddle, assignments((2, 3, 2)))
    exact, rough = column_newton(saddle), column_newton(saddle, tol=0.1)
    assert rough.counts["factorizations"] < exact.counts["factorizations"]
    assert rough.gap <= 0.1 * rough.upper
    assert rough.lower <= exact.upper * (1 + 1e-9)
    assert rough.upper >= exact.upper * (1 - 1e-9)
