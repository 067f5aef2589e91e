"""Scalar margin losses: functions of t = (label) x (score), seeing neither X nor weights.

Every loss has ``value``, ``gradient``, ``curvature`` and its convex ``conjugate``
l*(u) = sup_t u t - l(t) (infinite outside its domain), which duality gaps are made of. Losses that
are quadratic on pieces also say which quadratic holds at t: l(t) = h/2 (t - r)^2 with curvature h
and centre r. A Newton step on those is a weighted ridge regression, and it has ended when the
pieces repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

__all__ = ["Absolute", "Hinge", "Loss", "MarginBand", "Squared", "SquaredHinge", "get_loss"]

Array = NDArray[Any]


class Loss(Protocol):
    """A convex margin loss."""

    def value(self, t: Array) -> Array:
        """Return l(t)."""

    def gradient(self, t: Array) -> Array:
        """Return a (sub)gradient of l at t."""

    def curvature(self, t: Array) -> Array:
        """Return the second derivative of l at t, where it exists."""

    def conjugate(self, u: Array) -> Array:
        """Return l*(u)."""


@runtime_checkable
class PiecewiseQuadratic(Loss, Protocol):
    """A loss that is h/2 (t - r)^2 on pieces, with zero gradient wherever h is zero."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return the curvature h and the centre r of the piece that holds t."""


class _Pieces:
    """Value, gradient and curvature from the pieces alone."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def value(self, t: Array) -> Array:
        h, r = self.pieces(t)
        return 0.5 * h * (t - r) ** 2

    def gradient(self, t: Array) -> Array:
        h, r = self.pieces(t)
        return h * (t - r)

    def curvature(self, t: Array) -> Array:
        return self.pieces(t)[0]


@dataclass(frozen=True)
class SquaredHinge(_Pieces):
    """l(t) = max(0, 1 - t)^2."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return curvature 2 below the margin, 0 above it; the centre is 1."""
        return 2.0 * (t < 1), np.ones_like(t)

    def value(self, t: Array) -> Array:
        """Return max(0, 1 - t)^2."""
        return np.maximum(0.0, 1 - t) ** 2

    def gradient(self, t: Array) -> Array:
        """Return -2 max(0, 1 - t)."""
        return -2 * np.maximum(0.0, 1 - t)

    def conjugate(self, u: Array) -> Array:
        """Return u + u^2 / 4 for u <= 0."""
        return np.where(u <= 0, u + u**2 / 4, np.inf)


@dataclass(frozen=True)
class Squared(_Pieces):
    """l(t) = (1 - t)^2."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return curvature 2 and centre 1 everywhere."""
        return np.full_like(t, 2.0), np.ones_like(t)

    def conjugate(self, u: Array) -> Array:
        """Return u + u^2 / 4."""
        return u + u**2 / 4


@dataclass(frozen=True)
class MarginBand(_Pieces):
    """l(t) = [max(0, 1 - theta - t)^2 + nu max(0, t - 1 - theta)^2] / (1 - theta)^2.

    The optimal margin distribution machine's loss: free inside the band of half-width ``theta``
    around margin 1, quadratic below it, and ``nu`` times quadratic above it.
    """

    theta: float = 0.5
    nu: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.theta < 1 and self.nu >= 0):
            raise ValueError(f"0 <= theta < 1 and nu >= 0 are needed, not {self}.")

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return curvature and centre of the three pieces: below, inside and above the band."""
        low, high = 1 - self.theta, 1 + self.theta
        scale = 2 / low**2
        return scale * ((t < low) + self.nu * (t > high)), np.where(t > high, high, low)

    def conjugate(self, u: Array) -> Array:
        """Return the two half parabolas; infinite for u > 0 when nu is 0."""
        low, high = 1 - self.theta, 1 + self.theta
        below = low * u + (low * u) ** 2 / 4
        if self.nu == 0:
            return np.where(u <= 0, below, np.inf)
        return np.where(u <= 0, below, high * u + (low * u) ** 2 / (4 * self.nu))


@dataclass(frozen=True)
class Hinge:
    """l(t) = max(0, 1 - t)."""

    def value(self, t: Array) -> Array:
        """Return max(0, 1 - t)."""
        return np.maximum(0.0, 1 - t)

    def gradient(self, t: Array) -> Array:
        """Return -1 below the margin, 0 from it on."""
        return -1.0 * (t < 1)

    def curvature(self, t: Array) -> Array:
        """Return 0: the loss is linear on its pieces."""
        return np.zeros_like(t)

    def conjugate(self, u: Array) -> Array:
        """Return u on [-1, 0]."""
        return np.where((u >= -1) & (u <= 0), u, np.inf)


@dataclass(frozen=True)
class Absolute:
    """l(t) = |1 - t|."""

    def value(self, t: Array) -> Array:
        """Return |1 - t|."""
        return np.abs(1 - t)

    def gradient(self, t: Array) -> Array:
        """Return the sign of t - 1."""
        return np.sign(t - 1)

    def curvature(self, t: Array) -> Array:
        """Return 0: the loss is linear on its pieces."""
        return np.zeros_like(t)

    def conjugate(self, u: Array) -> Array:
        """Return u on [-1, 1]."""
        return np.where(np.abs(u) <= 1, u, np.inf)


_BY_NAME: dict[str, Any] = {"squared_hinge": SquaredHinge(), "hinge": Hinge()}


def get_loss(name: str) -> Any:
    """Return the loss an estimator's ``loss`` parameter names."""
    return _BY_NAME[name]
