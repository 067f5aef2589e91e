"""Rows centered and scaled, for problems with a free intercept: dense on the fly, sparse stored.

Features whose offset is large beside their spread, or whose spreads differ by many orders of
magnitude, cost the digits that a certificate is made of. Here row x becomes (x - c) / s, with s
powers of two, and the coefficients u = s w: scores change by c.w, which a free intercept takes up,
and |w|^2 becomes sum_j u_j^2 / s_j^2, the diagonal `metric` that the ridge systems carry. The
problem solved stays the stated one.

A sparse feature whose mean is 30 times its spread has no more than one zero in 900 rows: it is
centered entry by entry, and all others keep their zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.linear import Dense, LinearDesign, matrix_design
from bagwise.designs.sparse import Sparse
from bagwise.rowstores import base
from bagwise.rowstores.base import map_ranges
from bagwise.rowstores.device import DeviceRows
from bagwise.tolerances import UNEVEN

OFFSET = 30.0  # mean, in units of the spread, from which on centering saves three digits


@dataclass(frozen=True)
class Shift:
    """Columns (x - center) / scale; coefficients are scale x w."""

    center: Array
    scale: Array
    augmented: ClassVar[bool] = False

    def columns(self, rows: Array) -> Array:
        """Return rows of features as rows of columns."""
        columns = rows - self.center
        columns /= self.scale  # in place: a second block would be fetched from the system each time
        return columns

    def as_given(self, coef: Array, intercept: float) -> tuple[Array, float]:
        """Return w and b of the features as they were given."""
        w = coef / self.scale
        return w, intercept - float(self.center @ w)


def conditioned_design(X: Any) -> LinearDesign:
    """Return the design of rows whose intercept is free: conditioned where that saves digits."""
    if sp.issparse(X):
        return _condition_sparse(X)
    if isinstance(X, DeviceRows):
        return matrix_design(X).condition()
    needed, center, scale = needs_conditioning(X)
    return Dense(X, Shift(center, scale)) if needed else matrix_design(X)


def needs_conditioning(X: Any, each: Any = None) -> tuple[bool, Array, Array]:
    """Return whether dense rows need it, their center, and the spread of the features."""
    return judge_moments(*moments(X, each))


def judge_moments(center: Array, spread: Array) -> tuple[bool, Array, Array]:
    """Return whether rows with these moments need conditioning, their center and the scales."""
    scale = np.exp2(np.round(np.log2(np.where(spread > 0, spread, 1.0))))
    uneven = scale.max() > UNEVEN * scale.min() or not 1 / UNEVEN <= scale.max() <= UNEVEN
    return bool(uneven or np.any(np.abs(center) > OFFSET * spread)), center, scale


class SparseMoments:
    """What decides how sparse rows are conditioned; all but ``unit`` is in the features' units."""

    def __init__(self, X: Any) -> None:
        columns = sp.csc_array(X)
        n_rows, filled = X.shape[0], np.diff(columns.indptr)
        self.unit = unit = power_of_two(abs(columns).max(axis=0).toarray().ravel())
        self.scaled = sp.csc_array(
            (columns.data / np.repeat(unit, filled), columns.indices, columns.indptr),
            shape=X.shape,
            dtype=np.float64,
        )
        mean = np.asarray(self.scaled.sum(axis=0)).ravel() / n_rows
        owner = np.repeat(np.arange(X.shape[1]), filled)
        square = np.bincount(owner, (self.scaled.data - mean[owner]) ** 2, minlength=X.shape[1])
        self.spread = np.sqrt((square + (n_rows - filled) * mean**2) / n_rows)
        self.offset = np.abs(mean) > OFFSET * self.spread
        self.center = np.where(self.offset, mean, 0.0)
        limit = UNEVEN**2  # rather than UNEVEN: scaling sparse rows costs a copy of them
        uneven = unit.max() > limit * unit.min()
        even = not uneven and 1 / limit <= unit.max() <= limit
        self.usual = even and not self.offset.any()

    @property
    def centered(self) -> Array:
        """The features with an offset, around it."""
        return self.scaled[:, self.offset].toarray() - self.center[self.offset]

    def join(self, sparse: Any, dense: Array) -> Any:
        """Return the features without an offset and those with one in their own order."""
        order = np.argsort(np.r_[np.flatnonzero(~self.offset), np.flatnonzero(self.offset)])
        return sp.csc_array(sp.hstack([sparse, sp.csc_array(dense)]))[:, order]


def _condition_sparse(X: Any) -> LinearDesign:
    found = SparseMoments(X)
    if found.usual:
        return matrix_design(X)
    offset, scaled = found.offset, found.scaled
    finer = np.where(offset, power_of_two(found.spread), 1.0)
    if offset.any():
        scaled = found.join(scaled[:, ~offset], found.centered / finer[offset])
    shift = Shift(found.center * found.unit, finer * found.unit)
    return Sparse(sp.csr_array(scaled), shift)


def power_of_two(sizes: Array) -> Array:
    """Return the power of two below each size; 1 for 0."""
    return np.exp2(np.floor(np.log2(np.where(sizes > 0, sizes, 1.0))))


class Moments(NamedTuple):
    """Count, mean and summed squared deviations of some rows."""

    n_rows: int
    mean: Any
    square: Any

    def merge(self, other: Moments) -> Moments:
        """Return the moments of the rows of both."""
        count, apart = self.n_rows + other.n_rows, other.mean - self.mean
        share = other.n_rows / count
        square = self.square + (other.square + apart**2 * (self.n_rows * share))
        return Moments(count, self.mean + share * apart, square)


def moments(X: Any, each: Any = None) -> tuple[Array, Array]:
    """Return mean and standard deviation of the features, merged from those of blocks.

    ``each(function, *args)`` returns the function of every part of the rows, in their order.
    """
    each, width = each or partial(_each, X), X.shape[1] * X.dtype.itemsize
    is_cut = len(base.parts_of(X)) > 1  # if so, temporaries in float64 are to fit into the cache
    rows = max(1, base.CACHE_BYTES // max(1, width)) if is_cut else base.count_rows(width)
    unit: Any = 1.0
    if X.dtype == np.float64:  # whose squares may overflow or vanish
        unit = power_of_two(np.max(each(_largest, rows), axis=0))
    found = reduce(Moments.merge, each(_part_moments, rows, unit))
    return found.mean * unit, np.sqrt(found.square / len(X)) * unit


def _each(X: Array, function: Any, *args: Any) -> list[Any]:
    ranges = (slice(*part) for part in base.parts_of(X))
    return map_ranges(X, ranges, lambda rows: function(X[rows], *args))


def _largest(X: Any, rows: int) -> Array:
    return np.max([np.abs(block).max(axis=0) for block in _blocks(X, rows)], axis=0)


def _part_moments(X: Any, rows: int, unit: Any) -> Moments:
    return reduce(Moments.merge, (_block_moments(block, unit) for block in _blocks(X, rows)))


def _block_moments(block: Array, unit: Any) -> Moments:
    part = np.asarray(block, dtype=np.float64) / unit
    center = part.mean(axis=0)
    part -= center
    return Moments(len(part), center, np.einsum("ij,ij->j", part, part))


def _blocks(X: Any, rows: int) -> Iterator[Array]:
    return (np.asarray(X[i : i + rows]) for i in range(0, len(X), rows))
