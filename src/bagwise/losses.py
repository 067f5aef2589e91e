"""Scalar margin losses: functions of t = (label) x (score) that see neither X nor weights.

Every loss has ``value``, ``gradient`` and, for duality gaps, its convex ``conjugate``
l*(u) = sup_t u t - l(t). A piecewise quadratic loss also gives the quadratic that holds at t:
l(t) = h/2 (t - r)^2 with curvature h and center r. A Newton step on such a loss is a weighted ridge
regression, and Newton's method has converged when the pieces repeat.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from bagwise._typing import Array

__all__ = ["LOSSES", "Hinge", "Loss", "MarginBand", "PiecewiseQuadratic", "SquaredHinge"]


class Loss(Protocol):
    """A convex margin loss."""

    def value(self, t: Array) -> Array:
        """Return l(t)."""

    def gradient(self, t: Array) -> Array:
        """Return a (sub)gradient of l at t."""

    def conjugate(self, u: Array) -> Array:
        """Return l*(u)."""


@runtime_checkable
class PiecewiseQuadratic(Loss, Protocol):
    """A loss that is h/2 (t - r)^2 on pieces, with zero gradient wherever h is zero."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return the curvature h and the center r of the piece that holds t."""


class _Pieces:
    """Value and gradient computed from the pieces."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        raise NotImplementedError

    def value(self, t: Array) -> Array:
        h, r = self.pieces(t)
        return 0.5 * h * (t - r) ** 2

    def gradient(self, t: Array) -> Array:
        h, r = self.pieces(t)
        return h * (t - r)


@dataclass(frozen=True)
class SquaredHinge(_Pieces):
    """l(t) = max(0, 1 - t)^2."""

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return curvature 2 below the margin and 0 above it; the center is 1."""
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
class MarginBand(_Pieces):
    """l(t) = [max(0, 1 - theta - t)^2 + nu max(0, t - 1 - theta)^2] / (1 - theta)^2.

    The loss of optimal margin distribution learning (ODM): zero inside the band of half-width
    ``theta`` around margin 1, quadratic below it, and ``nu`` times quadratic above it.
    """

    theta: float = 0.5
    nu: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.theta < 1 and self.nu >= 0):
            raise ValueError(f"0 <= theta < 1 and nu >= 0 are needed, not {self}.")

    def pieces(self, t: Array) -> tuple[Array, Array]:
        """Return curvature and center of the three pieces: below, inside and above the band."""
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
        """Return -1 below the margin, 0 elsewhere."""
        return -1.0 * (t < 1)

    def conjugate(self, u: Array) -> Array:
        """Return u on [-1, 0]."""
        return np.where((u >= -1) & (u <= 0), u, np.inf)


LOSSES: dict[str, Loss] = {"squared_hinge": SquaredHinge(), "hinge": Hinge()}  # by parameter
