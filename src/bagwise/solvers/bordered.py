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

Without a matrix (a linear kernel) R_v joins positive bags only, and `FeatureSystem` eliminates all
rows: what remains has the size of the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve, solve_triangular

from bagwise._typing import Array
from bagwise.designs.inverse import double_block
from bagwise.designs.ridge import definite, factor_in_place
from bagwise.solvers.pool import Features, Mixture

_LARGEST_SHARE = 0.15  # of the factored rows: a border of more costs as much as a new factor
_FEW_ROWS = 4  # negatives per positive bag up to which all rows are factored at once
_FEW = 32  # changed rows whose corrections are always cheaper than a new factor


@dataclass(frozen=True)
class _Base:
    rows: Array  # numbers among the negatives
    curvature: Array
    factor: Array  # L, lower triangle


@dataclass(frozen=True)
class System:
    """One system, ready to be solved for any number of right-hand sides."""

    factor: Array  # L
    inner: Array  # its rows, numbers among all rows
    kept: Array  # which of them keep their curvature
    border: Array  # bordering rows, numbers among all rows
    root: Array  # S^1/2 of all rows
    half: Array  # L^-1 [C Z E]
    schur: Any
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


class _Cached:
    """Keeps the last system."""

    def __init__(self) -> None:
        self.n_factorizations = 0
        self.n_systems = 0
        self._last: tuple[Mixture, Array, Any] | None = None

    def at(self, mixture: Mixture, curvature: Array, near: bool = False) -> Any:
        """Return the system with these column weights and curvatures; the last one is cached.

        With ``near``, the last one serves if its column weights are the same.
        """
        if self._last is not None:
            same_mixture, last, system = self._last
            if same_mixture is mixture and (near or np.array_equal(last, curvature)):
                return system
        self._last = None
        self.n_systems += 1
        self._last = mixture, curvature, self._made(mixture, curvature)
        return self._last[2]

    def _made(self, mixture: Mixture, curvature: Array) -> Any:
        raise NotImplementedError


class BorderedSystem(_Cached):
    """Builds the `System`s of one saddle problem and keeps the last factor."""

    def __init__(self, K: Array, negatives: Array, features: Features) -> None:
        super().__init__()
        self.K, self.negatives = K, negatives
        self.Z, self.least = features.Z[negatives], -(features.scale**-2.0)
        self._base: _Base | None = None

    def _made(self, mixture: Mixture, curvature: Array) -> System:
        n_bags = len(mixture.block)
        wanted = curvature[n_bags:]
        if np.count_nonzero(wanted) <= _FEW_ROWS * np.count_nonzero(curvature[:n_bags]):
            return self._factored(mixture, curvature)
        base, kept = self._fitting_base(wanted, n_bags)
        missing = wanted > 0
        missing[base.rows[kept]] = False
        added, bags = np.flatnonzero(missing), np.flatnonzero(curvature[:n_bags])
        border, root = np.concatenate([bags, n_bags + added]), np.sqrt(curvature)
        # 1) C, Z and E, carried through the factor.
        of_base = np.sqrt(base.curvature)[:, None]
        scaled = self._border(mixture, base, bags, added) * of_base * root[border]
        dropped = np.flatnonzero(~kept)
        zeroing = np.zeros((len(kept), len(dropped)))
        zeroing[dropped, np.arange(len(dropped))] = 1.0
        right = np.concatenate([scaled, self.Z[base.rows] * of_base, zeroing], axis=1)
        half = solve_triangular(base.factor, right, lower=True, check_finite=False)
        # 2) The Schur complement.
        schur, size, both = -half.T @ half, len(border), len(border) + len(self.least)
        corner = self._corner(mixture, bags, added) * root[border] * root[border, None]
        schur[:size, :size] += corner + np.eye(size)
        explicit = self._rows(mixture, bags, added) * root[border, None]
        schur[:size, size:both] += explicit
        schur[size:both, :size] += explicit.T
        schur[size:both, size:both] += np.diag(self.least)
        factored = lu_factor(schur, check_finite=False)
        inner = n_bags + base.rows
        return System(base.factor, inner, kept, border, root, half, factored, len(self.least))

    def _factored(self, mixture: Mixture, curvature: Array) -> System:
        """Factor all rows at once: a border as large as the block saves nothing."""
        n_bags = len(mixture.block)
        rows, root = np.flatnonzero(curvature), np.sqrt(curvature)
        bags, negatives = rows[rows < n_bags], rows[rows >= n_bags] - n_bags
        system = self._corner(mixture, bags, negatives)
        system *= root[rows]
        system *= root[rows, None]
        system.flat[:: len(rows) + 1] += 1.0
        factor = factor_in_place(system.T)[0]
        self.n_factorizations += 1
        explicit = self._rows(mixture, bags, negatives) * root[rows, None]
        half = solve_triangular(factor, explicit, lower=True, check_finite=False)
        schur = lu_factor(np.diag(self.least) - half.T @ half, check_finite=False)
        kept = np.ones(len(rows), dtype=bool)
        return System(factor, rows, kept, rows[:0], root, half, schur, len(self.least))

    def _fitting_base(self, wanted: Array, n_bags: int) -> tuple[_Base, Array]:
        """Return a factor close to the wanted curvatures and which of its rows match exactly."""
        if self._base is not None:
            kept = wanted[self._base.rows] == self._base.curvature
            changes = np.count_nonzero(~kept) + np.count_nonzero(wanted) - np.count_nonzero(kept)
            if changes <= max(_LARGEST_SHARE * len(kept), 0.5 * n_bags, _FEW):
                return self._base, kept
        rows = np.flatnonzero(wanted)
        self._base = None  # frees the old factor before the new one is allocated
        self._base = _Base(rows, wanted[rows], self._factor(rows, wanted[rows]))
        self.n_factorizations += 1
        return self._base, np.ones(len(rows), dtype=bool)

    def _factor(self, rows: Array, curvature: Array) -> Array:
        units, root = self.negatives[rows], np.sqrt(curvature)
        system = double_block(self.K, units, units)
        system *= root
        system *= root[:, None]
        system.flat[:: len(rows) + 1] += 1.0
        # The transpose is the same matrix, in the order that LAPACK overwrites.
        return factor_in_place(system.T)[0]

    def _border(self, mixture: Mixture, base: _Base, bags: Array, added: Array) -> Array:
        units = self.negatives[base.rows]
        of_bags = mixture.cross[np.ix_(bags, base.rows)].T
        of_added = double_block(self.K, self.negatives[added], units).T
        return np.concatenate([of_bags, of_added], axis=1)

    def _corner(self, mixture: Mixture, bags: Array, added: Array) -> Array:
        units, size = self.negatives[added], len(bags)
        corner = np.empty((size + len(added), size + len(added)))
        double_block(mixture.block, bags, bags, corner[:size, :size])
        double_block(mixture.cross, bags, added, corner[:size, size:])
        double_block(self.K, units, units, corner[size:, size:])
        corner[size:, :size] = corner[:size, size:].T
        return corner

    def _rows(self, mixture: Mixture, bags: Array, added: Array) -> Array:
        return np.concatenate([mixture.features[bags], self.Z[added]])


@dataclass(frozen=True)
class _Eliminated:
    """A system without a kernel matrix, ready to be solved."""

    bags: Array  # those with curvature
    rows: Array  # the negatives with curvature, numbers among the negatives
    Z: tuple[Array, Array]  # features of both
    joint: Array  # (R_v + S^-1)^-1 of the bags
    curvature: Array  # of the negatives
    solver: Callable[[Array], Array]  # of scale^-2 + Z'(R_v + S^-1)^-1 Z
    n_rows: int
    n_bags: int

    def solve(self, right: Array, moments: Array | None = None) -> tuple[Array, Array]:
        """Return beta and omega, as `System.solve` does."""
        of_bags, of_rows = right[self.bags], right[self.n_bags + self.rows]
        pulled = self.Z[0].T @ (self.joint @ of_bags)
        pulled += self.Z[1].T @ (self.curvature[:, None] * of_rows)
        omega = self.solver(pulled if moments is None else pulled - moments)
        beta = np.zeros((self.n_rows, right.shape[1]))
        beta[self.bags] = self.joint @ (of_bags - self.Z[0] @ omega)
        negative = self.curvature[:, None] * (of_rows - self.Z[1] @ omega)
        beta[self.n_bags + self.rows] = negative
        return beta, omega


class FeatureSystem(_Cached):
    """Builds the systems of a saddle problem without a kernel matrix."""

    def __init__(self, negatives: Array, features: Features) -> None:
        super().__init__()
        self.Z, self.least = features.Z[negatives], features.scale**-2.0

    def _made(self, mixture: Mixture, curvature: Array) -> _Eliminated:
        n_bags = len(mixture.block)
        bags, rows = np.flatnonzero(curvature[:n_bags]), np.flatnonzero(curvature[n_bags:])
        of_bags, of_rows = mixture.features[bags], self.Z[rows]
        root, weight = np.sqrt(curvature[bags]), curvature[n_bags + rows]
        joint = np.diag(curvature[bags])
        if len(mixture.v) > 1 and len(bags):  # one assignment has no block
            system = mixture.block[np.ix_(bags, bags)] * root * root[:, None]
            system.flat[:: len(bags) + 1] += 1.0
            joint = root[:, None] * definite(system)(np.diag(root))
        hessian = of_bags.T @ joint @ of_bags + of_rows.T @ (weight[:, None] * of_rows)
        hessian.flat[:: len(hessian) + 1] += self.least
        self.n_factorizations += 1
        solver, both = definite(hessian), (of_bags, of_rows)
        return _Eliminated(bags, rows, both, joint, weight, solver, len(curvature), n_bags)


def system_of(saddle: Any) -> BorderedSystem | FeatureSystem:
    """Return what solves the systems of a saddle problem."""
    if saddle.K is None:
        return FeatureSystem(saddle.negatives, saddle.features)
    return BorderedSystem(saddle.K, saddle.negatives, saddle.features)
