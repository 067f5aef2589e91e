"""What the saddle problem of `bagwise.solvers.saddle` is made of: features, assignments, points."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bagwise._typing import Array
from bagwise.tolerances import ROUNDING


@dataclass(frozen=True)
class Features:
    """Explicit features of the units."""

    Z: Array  # (n_units, m)
    scale: Array  # |w|^2 is the sum of (omega / scale)^2, (m,)

    @cached_property
    def lengths(self) -> Array:
        """The norms of the columns of Z."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", self.Z, self.Z)))


@dataclass(frozen=True)
class Column:
    """One assignment: its weights on the instances, and what follows for its rows."""

    weights: Any  # CSR, (p, n_units), rows sum to one
    block: Array  # the kernel between its rows, without explicit features, (p, p)
    features: Array  # of its rows, (p, m)
    away: Array  # their distance from the first assignment's, in units of 1 / scale, (p, m)


@dataclass(frozen=True)
class Mixture:
    """K_v without the block of negatives, for a vector v of column weights."""

    v: Array  # (S,)
    block: Array  # between positive bags, without Z_v Z_v', (p, p)
    cross: Array  # between positive bags and negatives, (p, N); of no columns without a matrix
    features: Array  # Z_v of positive bags, (p, m)
    away: Array  # sum_k v_k away_k, (p, m)


class Weights(NamedTuple):
    """A weight vector and its scores, for a mixture."""

    beta: Array  # (n_rows,)
    omega: Array  # coefficients of the explicit features, (m,)
    own: Array  # scores without explicit features, (n_rows,)
    scores: Array  # (n_rows,)

    def toward(self, other: Weights, share: float) -> Weights:
        """Return the weights that lie the given share of the way to others."""
        if share == 1:
            return other
        return Weights(*(a + share * (b - a) for a, b in zip(self, other, strict=True)))


class Among(NamedTuple):
    """Units around one of them."""

    kernel: Array  # explicit features included
    around: Array  # scaled features, minus those of that one


class Entries(NamedTuple):
    """The nonzero weights of all assignments, one after the other."""

    value: Array
    bag: Array
    unit: Array
    column: Array
    key: Array  # the place of the unit among the key units


class Keys(NamedTuple):
    """The units that some assignment of the pool uses, and their kernel rows."""

    units: Array  # in the order in which they came, (U,)
    place: Array  # of a unit among them, -1 for the others, (n_units,)
    cross: Array  # kernel with the negatives, (U, N); of no columns without a matrix
    negative: Array  # explicit features of the negatives, (N, m)


@dataclass(frozen=True)
class SaddlePoint:
    """Column weights and dual variables, with bounds on the saddle value over the pool."""

    v: Array  # weights of the assignments in the pool, (n_columns,)
    beta: Array  # signed dual variables g (a - b), (n_rows,)
    omega: Array  # coefficients of the explicit features, (m,)
    scores: Array  # times g these are the margins, (n_rows,)
    products: Array  # K_k beta without explicit features, on rows in use, (n_rows, n_columns)
    reach: Array  # scale Z_k'beta, (m, n_columns)
    norms: Array  # beta'K_k beta with explicit features, (n_columns,)
    upper: float  # P_v
    lower: float  # min_k D(beta, A_k)
    converged: bool = False
    n_iter: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list, repr=False)

    @property
    def gap(self) -> float:
        """Certified bound on the distance from the saddle value over the pool."""
        return max(self.upper - self.lower, 0.0)


def meet(
    found: Array, wanted: Array, scale: Array, lengths: Array, moved: Array, margin: float
) -> tuple[Array, float]:
    """Return ``wanted`` where ``found`` equals it up to rounding, and what that costs a dual bound.

    ``found`` = scale Z'beta of dual variables that should add up to ``wanted`` = omega / scale.
    They inherit the rounding of scores (``moved`` bounds what is rounded), and sums inherit theirs:
    where a feature weighs next to nothing in |w|^2, its large scale would make much of it. Dual
    variables that add up exactly are as near as the rounding, and their conjugate differs by that
    times the largest ``margin``. This counts rounding, but is no interval arithmetic.
    """
    missed = np.abs(found - wanted) / scale
    close = missed <= ROUNDING * lengths * float(np.linalg.norm(moved))
    used = close & (lengths > 0)
    change = float((missed[used] / lengths[used]).sum()) * np.sqrt(len(moved))
    return np.where(close, wanted, found), change * margin
