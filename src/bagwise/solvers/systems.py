"""Newton systems of a saddle problem, all solved with few factorizations of the negatives' block.

The systems are (R_v + S^-1) beta + Z_v omega = r on the rows with curvature s > 0, and
Z_v'beta - omega / scale^2 = g, for the part R_v of the kernel K_v = R_v + scale^2 Z_v Z_v' that is
known by its matrix. Between two systems the column weights v change, which affects the rows of
positive bags only, and a few rows gain, lose or change their curvature. So the block of negatives
is factored once as I + S^1/2 K S^1/2 = L L', and

    [ LL'  C   E ] [y ]   [ S^1/2 r ]      C: positive bags and added negatives (scaled kernel), Z;
    [ C'   B   0 ] [yB] = [ S^1/2 r ]      E: unit vectors of the negatives that are to be zero,
    [ E'   0   0 ] [mu]   [    0    ]      B: I + scaled kernel between the bordering rows, with Z
                                              and -scale^-2 for omega,

is solved by its Schur complement, which has the size of the border. The block is factored again
only when too many negatives have changed.

Without a matrix (a linear kernel), R_v joins positive bags only, and all rows are eliminated: what
remains has the size of the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import lu_factor, lu_solve, solve_triangular

from bagwise._typing import Array
from bagwise.designs.base import definite, factor_in_place
from bagwise.designs.gram import double_block
from bagwise.solvers.pool import Mixture
from bagwise.solvers.saddle import Saddle

_LARGEST_SHARE = 0.15  # of the factored rows: a border of more costs as much as a new factor
_FEW_ROWS = 4  # negatives per positive bag up to which all rows are factored at once
_FEW = 32  # changed rows whose corrections are always cheaper than a new factor


class Systems:
    """Makes the systems of one saddle problem, over any pool, and keeps the last one."""

    def __init__(self, saddle: Saddle) -> None:
        self.saddle, self.n_factorizations = saddle, 0
        self._last: tuple[Mixture, Array, _Bordered | _Eliminated] | None = None
        self._base: _Base | None = None

    def at(self, mixture: Mixture, curvature: Array, near: bool = False) -> _Bordered | _Eliminated:
        """Return the system with these column weights and curvatures; the last one is cached.

        With ``near``, the last one serves if its column weights are the same.
        """
        if self._last is not None:
            same_mixture, last, system = self._last
            if same_mixture is mixture and (near or np.array_equal(last, curvature)):
                return system
        self._last = None  # frees the old factor before the new one is allocated
        self._last = mixture, curvature, self._make(mixture, curvature)
        return self._last[2]

    def _make(self, mixture: Mixture, curvature: Array) -> _Bordered | _Eliminated:
        if self.saddle.K is None:
            self.n_factorizations += 1
            return _eliminate_rows(self.saddle, mixture, curvature)
        p = self.saddle.n_bags
        if np.count_nonzero(curvature[p:]) <= _FEW_ROWS * np.count_nonzero(curvature[:p]):
            # A border as large as the block saves nothing.
            self.n_factorizations += 1
            rows = np.flatnonzero(curvature)
            blocks = _Blocks(self.saddle, mixture, rows[rows < p], rows[rows >= p] - p)
            factor = _factor(blocks.corner(), curvature[rows])
            return _eliminate_features(blocks, rows, factor, np.sqrt(curvature))
        base, kept = self._fitting_base(curvature[p:])
        missing = curvature[p:] > 0
        missing[base.rows[kept]] = False
        bags, added = np.flatnonzero(curvature[:p]), np.flatnonzero(missing)
        blocks = _Blocks(self.saddle, mixture, bags, added)
        return _border(blocks, base, kept, np.sqrt(curvature))

    def _fitting_base(self, wanted: Array) -> tuple[_Base, Array]:
        """Return a factor close to the wanted curvatures and which of its rows match exactly."""
        if self._base is not None:
            kept = wanted[self._base.rows] == self._base.curvature
            changes = np.count_nonzero(~kept) + np.count_nonzero(wanted) - np.count_nonzero(kept)
            if changes <= max(_LARGEST_SHARE * len(kept), 0.5 * self.saddle.n_bags, _FEW):
                return self._base, kept
        self._base = None  # frees the old factor before the new one is allocated
        self.n_factorizations += 1
        assert self.saddle.K is not None
        rows = np.flatnonzero(wanted)
        units = self.saddle.negatives[rows]
        factor = _factor(double_block(self.saddle.K, units, units), wanted[rows])
        self._base = _Base(rows, wanted[rows], factor)
        return self._base, np.ones(len(rows), dtype=bool)


# With a kernel matrix ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Base:
    rows: Array  # numbers among the negatives
    curvature: Array
    factor: Array  # L, lower triangle


@dataclass(frozen=True)
class _Blocks:
    """Blocks of the kernel K_v between some bags and negatives."""

    saddle: Saddle
    mixture: Mixture
    bags: Array
    negatives: Array  # numbers among the negatives

    @property
    def K(self) -> Array:
        assert self.saddle.K is not None
        return self.saddle.K

    @property
    def units(self) -> Array:
        return self.saddle.negatives[self.negatives]

    def corner(self) -> Array:
        """Return the kernel between all of them."""
        size = len(self.bags)
        corner = np.empty((size + len(self.units), size + len(self.units)))
        double_block(self.mixture.block, self.bags, self.bags, corner[:size, :size])
        double_block(self.mixture.cross, self.bags, self.negatives, corner[:size, size:])
        double_block(self.K, self.units, self.units, corner[size:, size:])
        corner[size:, :size] = corner[:size, size:].T
        return corner

    def features(self) -> Array:
        """Return their explicit features."""
        return np.concatenate(
            [self.mixture.features[self.bags], self.saddle.features.Z[self.units]]
        )

    def border(self, rows: Array) -> Array:
        """Return the kernel between other negatives and all of them."""
        of_bags = self.mixture.cross[np.ix_(self.bags, rows)].T
        of_added = double_block(self.K, self.units, self.saddle.negatives[rows]).T
        return np.concatenate([of_bags, of_added], axis=1)


@dataclass(frozen=True)
class _Bordered:
    """A system with a kernel matrix."""

    factor: Array  # L
    inner: Array  # its rows, numbers among all rows
    kept: Array  # which of them keep their curvature
    border: Array  # bordering rows, numbers among all rows
    root: Array  # S^1/2 of all rows
    half: Array  # L^-1 [C Z E]
    schur: tuple[Array, Array]  # the LU factors of the Schur complement
    n_features: int

    def solve(self, right: Array, moments: Array | None = None) -> tuple[Array, Array]:
        """Return beta and omega for right-hand sides r (n_rows, m) and g (n_features, m).

        g is 0 where it is not given, and beta is 0 on rows without curvature.
        """
        scaled = self.root[:, None] * right
        inner = scaled[self.inner]
        inner[~self.kept] = 0.0
        inner = solve_triangular(self.factor, inner, lower=True, check_finite=False)
        outer, size = np.zeros((self.half.shape[1], right.shape[1])), len(self.border)
        outer[:size] = scaled[self.border]
        if moments is not None:
            outer[size : size + self.n_features] = moments
        outer = lu_solve(self.schur, outer - self.half.T @ inner, check_finite=False)
        inner = solve_triangular(
            self.factor, inner - self.half @ outer, lower=True, trans=1, check_finite=False
        )
        solution = np.zeros_like(scaled)
        solution[self.inner[self.kept]] = inner[self.kept]
        solution[self.border] = outer[:size]
        return self.root[:, None] * solution, outer[size : size + self.n_features]


def _factor(block: Array, curvature: Array) -> Array:
    """Factor I + S^1/2 K S^1/2 in place of a block of K."""
    root = np.sqrt(curvature)
    block *= root
    block *= root[:, None]
    block.flat[:: len(root) + 1] += 1.0
    # The transpose is the same matrix, in the order that LAPACK overwrites.
    return factor_in_place(block.T)[0]


def _eliminate_features(blocks: _Blocks, rows: Array, factor: Array, root: Array) -> _Bordered:
    """Return the system of a factor of all rows: only the explicit features border it."""
    explicit = blocks.features() * root[rows, None]
    half = solve_triangular(factor, explicit, lower=True, check_finite=False)
    least = -(blocks.saddle.features.scale**-2.0)
    schur = lu_factor(np.diag(least) - half.T @ half, check_finite=False)
    kept = np.ones(len(rows), dtype=bool)
    return _Bordered(factor, rows, kept, rows[:0], root, half, schur, len(least))


def _border(blocks: _Blocks, base: _Base, kept: Array, root: Array) -> _Bordered:
    saddle = blocks.saddle
    border = np.concatenate([blocks.bags, saddle.n_bags + blocks.negatives])
    # 1) C, Z and E, carried through the factor.
    of_base, dropped = np.sqrt(base.curvature)[:, None], np.flatnonzero(~kept)
    scaled = blocks.border(base.rows) * of_base * root[border]
    zeroing = np.zeros((len(kept), len(dropped)))
    zeroing[dropped, np.arange(len(dropped))] = 1.0
    explicit = saddle.features.Z[saddle.negatives[base.rows]] * of_base
    right = np.concatenate([scaled, explicit, zeroing], axis=1)
    half = solve_triangular(base.factor, right, lower=True, check_finite=False)
    # 2) The Schur complement.
    least = -(saddle.features.scale**-2.0)
    schur, size, both = -half.T @ half, len(border), len(border) + len(least)
    schur[:size, :size] += blocks.corner() * root[border] * root[border, None] + np.eye(size)
    explicit = blocks.features() * root[border, None]
    schur[:size, size:both] += explicit
    schur[size:both, :size] += explicit.T
    schur[size:both, size:both] += np.diag(least)
    factored, inner = lu_factor(schur, check_finite=False), saddle.n_bags + base.rows
    return _Bordered(base.factor, inner, kept, border, root, half, factored, len(least))


# Without -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Eliminated:
    """A system without a kernel matrix."""

    bags: Array  # those with curvature
    rows: Array  # the negatives with curvature
    Z: tuple[Array, Array]  # features of both
    joint: Array  # (R_v + S^-1)^-1 of the bags
    curvature: Array  # of the negatives
    solver: Callable[[Array], Array]  # of scale^-2 + Z'(R_v + S^-1)^-1 Z

    def solve(self, right: Array, moments: Array | None = None) -> tuple[Array, Array]:
        """Return beta and omega, as `_Bordered.solve` does."""
        of_bags, of_rows = right[self.bags], right[self.rows]
        pulled = self.Z[0].T @ (self.joint @ of_bags)
        pulled += self.Z[1].T @ (self.curvature[:, None] * of_rows)
        omega = self.solver(pulled if moments is None else pulled - moments)
        beta = np.zeros_like(right)
        beta[self.bags] = self.joint @ (of_bags - self.Z[0] @ omega)
        beta[self.rows] = self.curvature[:, None] * (of_rows - self.Z[1] @ omega)
        return beta, omega


def _eliminate_rows(saddle: Saddle, mixture: Mixture, curvature: Array) -> _Eliminated:
    p = saddle.n_bags
    bags, rows = np.flatnonzero(curvature[:p]), p + np.flatnonzero(curvature[p:])
    of_bags, of_rows = mixture.features[bags], saddle.features.Z[saddle.negatives[rows - p]]
    root, weight = np.sqrt(curvature[bags]), curvature[rows]
    joint = np.diag(curvature[bags])
    if len(mixture.v) > 1 and len(bags):  # one assignment has no block
        system = mixture.block[np.ix_(bags, bags)] * root * root[:, None]
        system.flat[:: len(bags) + 1] += 1.0
        joint = root[:, None] * definite(system)(np.diag(root))
    hessian = of_bags.T @ joint @ of_bags + of_rows.T @ (weight[:, None] * of_rows)
    hessian.flat[:: len(hessian) + 1] += saddle.features.scale**-2.0
    return _Eliminated(bags, rows, (of_bags, of_rows), joint, weight, definite(hessian))
