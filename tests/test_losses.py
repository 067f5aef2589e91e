"""Losses: derivatives by differences, conjugates by Fenchel and Young, pieces."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.losses import Hinge, MarginBand, PiecewiseQuadratic, SquaredHinge

QUADRATIC = [SquaredHinge(), MarginBand(0.3, 0.2), MarginBand(0.0, 1.0), MarginBand(0.6, 0.0)]
LOSSES = [*QUADRATIC, Hinge()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
quadratic_losses = pytest.mark.parametrize("loss", QUADRATIC, ids=repr)

# No multiple of 1 / 100, so never on a kink.
GRID = np.linspace(-3, 4, 701) + 0.00371


def by_definition(loss, t):
    below = np.maximum(0, 1 - t)
    if isinstance(loss, MarginBand):
        low, high = 1 - loss.theta, 1 + loss.theta
        return (np.maximum(0, low - t) ** 2 + loss.nu * np.maximum(0, t - high) ** 2) / low**2
    return {SquaredHinge: below**2, Hinge: below}[type(loss)]


@every_loss
def test_values_are_those_of_the_formula(loss):
    assert np.allclose(loss.value(GRID), by_definition(loss, GRID), rtol=1e-14, atol=1e-15)


@every_loss
def test_gradient_is_the_limit_of_differences(loss):
    h = 1e-6
    differences = (loss.value(GRID + h) - loss.value(GRID - h)) / (2 * h)
    assert np.allclose(loss.gradient(GRID), differences, atol=1e-7)


@quadratic_losses
def test_pieces_reproduce_value_and_gradient(loss):
    assert isinstance(loss, PiecewiseQuadratic)
    t = np.concatenate([GRID, [1.0, 1 - 0.3, 1 + 0.3, 0.4, 1.6]])  # kinks too
    h, r = loss.pieces(t)
    assert np.allclose(h / 2 * (t - r) ** 2, loss.value(t), atol=1e-15)
    assert np.allclose(h * (t - r), loss.gradient(t), atol=1e-15)
    assert np.all(h >= 0)


@every_loss
@given(t=st.floats(-50, 50), u=st.floats(-50, 50))
def test_fenchel_young_inequality(loss, t, u):
    t, u = np.array([t]), np.array([u])
    assert loss.value(t) + loss.conjugate(u) >= t * u - 1e-9 * (1 + np.abs(t * u))


@every_loss
@given(t=st.floats(-50, 50))
def test_fenchel_young_is_an_equality_at_the_gradient(loss, t):
    t = np.array([t])
    u = loss.gradient(t)
    assert np.allclose(loss.value(t) + loss.conjugate(u), t * u, rtol=1e-10, atol=1e-9)


def test_domains_of_the_conjugates():
    u = np.array([-1.5, -1.0, 0.0, 0.5, 1.5])
    finite = {loss: np.isfinite(loss.conjugate(u)).tolist() for loss in LOSSES}
    assert (
        finite[SquaredHinge()] == finite[MarginBand(0.6, 0.0)] == [True, True, True, False, False]
    )
    assert finite[MarginBand(0.3, 0.2)] == [True] * 5
    assert finite[Hinge()] == [False, True, True, False, False]


@pytest.mark.parametrize(("theta", "nu"), [(1.0, 0.5), (-0.1, 0.5), (0.5, -1.0)])
def test_bands_without_meaning_are_refused(theta, nu):
    with pytest.raises(ValueError, match="theta"):
        MarginBand(theta, nu)
