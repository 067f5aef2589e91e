"""Rows whose intercept is penalized: turned so that one column carries their offset.

The problem has 1/2|w|^2 + 1/2 b^2: a constant feature 1. Where the features have an offset c, all
rows (x, 1) lie near the direction of a = (c, 1), and what tells them apart is lost in the rounding
of sums. Unlike with a free intercept, centering changes the problem: the offset is what b costs.
But turning the space of (w, b) does not. With d = x - c, e = c / |c| and rho = |a|, the rows are

    (x, 1) = q a + along (e / |c|, -1) |c|^2 / rho^2 + (d - along e, 0),    along = d.e,
    q = 1 + along |c| / rho^2,

three parts orthogonal to each other. So the columns are q, near 1, whose coefficient costs
1 / rho^2 of a usual one's; ``along``, whose coefficient costs rho^2, because b must make up for it;
and d without e, in one dimension less. Features are measured in units of their spread. The problem
solved stays the stated one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.conditioned import SparseMoments, needs_conditioning, power_of_two
from bagwise.designs.linear import Dense, matrix_design
from bagwise.designs.sparse import Sparse
from bagwise.errors import SCALE, Message

_LARGEST = np.sqrt(np.finfo(float).max) / 100  # spread whose square, times many rows, is a number


@dataclass(frozen=True)
class Turn:
    """From features to turned columns and back."""

    center: Array  # in the features' own units
    unit: float
    augmented: ClassVar[bool] = True

    @cached_property
    def offset(self) -> Array:
        """c in units."""
        return self.center / self.unit

    @cached_property
    def length(self) -> float:
        """|c| in units."""
        return float(np.linalg.norm(self.offset))

    @cached_property
    def direction(self) -> Array:
        """e, any direction where nothing has an offset."""
        return self.offset / self.length if self.length > 0 else np.eye(1, len(self.offset))[0]

    @cached_property
    def place(self) -> int:
        """The column that ``along`` takes."""
        return int(np.argmax(np.abs(self.direction)))

    @cached_property
    def mirror(self) -> Array:
        """The vector of the reflection that turns e into the place's direction, |v|^2 = 2."""
        v = self.direction.copy()
        v[self.place] += np.copysign(1.0, v[self.place])
        return v * np.sqrt(2 / (v @ v))

    @cached_property
    def rho(self) -> float:
        """|(c, 1)| in units."""
        return float(np.hypot(self.length, 1 / self.unit))

    def of(self, some: Array) -> Turn:
        """Return the turn of some features, if the others have no offset."""
        return Turn(self.center[some], self.unit)

    @cached_property
    def scale(self) -> Array:
        """|(w, b)|^2 is the sum of (coefficient / scale)^2."""
        scale = np.full(len(self.center) + 1, self.unit)
        scale[self.place], scale[-1] = 1 / self.rho, self.unit * self.rho
        return scale

    def columns(self, rows: Array) -> Array:
        """Return rows of features as rows of columns."""
        return np.column_stack(self.turn((rows - self.center) / self.unit))

    def turn(self, away: Array) -> tuple[Array, Array]:
        """Return the columns of rows given by d in units, and q."""
        along = away @ self.direction
        turned = away - (away @ self.mirror)[:, None] * self.mirror
        turned[:, self.place] = along
        return turned, 1 + along * (self.length / self.rho) / self.rho

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the features as they were given."""
        across, along, height = coef[:-1].copy(), coef[self.place], coef[-1] / self.rho
        across[self.place] = 0.0
        across -= (across @ self.mirror) * self.mirror
        w = across + self.direction * (along + height * (self.length / self.rho))
        return w / self.unit, float(height / self.unit / self.rho / self.unit - along * self.length)


def augmented_design(X: Any) -> Any:
    """Return the design of rows whose intercept is penalized: turned where that saves digits."""
    if sp.issparse(X):
        return _augment_sparse(X)
    if not isinstance(X, np.ndarray):
        return matrix_design(X)
    needed, center, scale = needs_conditioning(X)
    return Dense(X, _turn(center, scale)) if needed else matrix_design(X)


def _turn(center: Array, spread: Array) -> Turn:
    unit = float(spread.max())
    if unit > _LARGEST:
        what = "The squares of the features overflow float64: scale the features with "
        raise FloatingPointError(Message(what, SCALE, "."))
    return Turn(center, unit)


def _augment_sparse(X: Any) -> Any:
    found = SparseMoments(X)
    if found.usual:
        return matrix_design(X)
    offset = found.offset
    turn = _turn(found.center * found.unit, power_of_two(found.spread * found.unit))
    part = found.unit / turn.unit
    sparse, height = found.scaled @ sp.diags_array(part), np.ones(X.shape[0])
    if offset.any():
        turned, height = turn.of(offset).turn(found.centered * part[offset])
        sparse = found.join(sparse[:, ~offset], turned)
    return Sparse(sp.csr_array(sp.hstack([sparse, height[:, None]])), turn)
