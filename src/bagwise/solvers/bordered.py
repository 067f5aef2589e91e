"""Newton systems of a saddle problem, all solved with few factorizations of the negatives' block.

The systems are (K_v + S^-1) beta = r on the rows with curvature s > 0. Between two systems the
column weights v change, which affects the rows of positive bags only, and a few rows gain, lose or
change their curvature. So the block of negatives is factored once as I + S^1/2 K S^1/2 = L L', and

    [ LL'  C   E ] [y ]   [ S^1/2 r ]      C: positive bags and added negatives (scaled kernel),
    [ C'   B   0 ] [yB] = [ S^1/2 r ]      E: unit vectors of the negatives that are to be zero,
    [ E'   0   0 ] [mu]   [    0    ]      B: I + scaled kernel between the bordering rows,

is solved by its Schur complement, which has the size of the border. The block is factored again
only when too many negatives have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import lu_factor, lu_solve, solve_triangular

from bagwise._typing import Array
from bagwise.designs.inverse import block_of
from bagwise.designs.ridge import factor_in_place
from bagwise.solvers.saddle import Mixture

_LARGEST_SHARE = 0.4  # of the factored rows: with more changes a new factor costs less
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
    half: Array  # L^-1 [C E]
    schur: Any

    def solve(self, right: Array) -> Array:
        """Return beta for right-hand sides (n_rows, m), zero on rows without curvature."""
        scaled = self.root[:, None] * right
        inner = scaled[self.inner]
        inner[~self.kept] = 0.0
        inner = solve_triangular(self.factor, inner, lower=True, check_finite=False)
        if self.schur is None:
            solved = solve_triangular(self.factor, inner, lower=True, trans=1, check_finite=False)
            solution = np.zeros_like(scaled)
            solution[self.inner] = solved
            return self.root[:, None] * solution
        outer = np.zeros((self.half.shape[1], right.shape[1]))
        outer[: len(self.border)] = scaled[self.border]
        outer = lu_solve(self.schur, outer - self.half.T @ inner, check_finite=False)
        inner = solve_triangular(
            self.factor, inner - self.half @ outer, lower=True, trans=1, check_finite=False
        )
        solution = np.zeros_like(scaled)
        solution[self.inner[self.kept]] = inner[self.kept]
        solution[self.border] = outer[: len(self.border)]
        return self.root[:, None] * solution


class BorderedSystem:
    """Builds the `System`s of one saddle problem and keeps the last factor."""

    def __init__(self, K: Array, negatives: Array) -> None:
        self.K, self.negatives = K, negatives
        self.n_factorizations = 0
        self.n_systems = 0
        self._base: _Base | None = None
        self._last: tuple[Mixture, Array, System] | None = None

    def at(self, mixture: Mixture, curvature: Array, near: bool = False) -> System:
        """Return the system with these column weights and curvatures; the last one is cached.

        With ``near``, the last one serves if its column weights are the same.
        """
        if self._last is not None:
            same_mixture, last, system = self._last
            if same_mixture is mixture and (near or np.array_equal(last, curvature)):
                return system
        self._last = None
        self._last = mixture, curvature, self._made(mixture, curvature)
        return self._last[2]

    def _made(self, mixture: Mixture, curvature: Array) -> System:
        n_bags = len(mixture.block)
        wanted = curvature[n_bags:]
        self.n_systems += 1
        if np.count_nonzero(wanted) <= _FEW_ROWS * np.count_nonzero(curvature[:n_bags]):
            return self._factored(mixture, curvature)
        base, kept = self._fitting_base(wanted, n_bags)
        missing = wanted > 0
        missing[base.rows[kept]] = False
        added, bags = np.flatnonzero(missing), np.flatnonzero(curvature[:n_bags])
        border, root = np.concatenate([bags, n_bags + added]), np.sqrt(curvature)
        # 1) C and E, carried through the factor.
        scaled = self._border(mixture, base, bags, added) * root[border]
        dropped = np.flatnonzero(~kept)
        zeroing = np.zeros((len(kept), len(dropped)))
        zeroing[dropped, np.arange(len(dropped))] = 1.0
        right = np.concatenate([scaled, zeroing], axis=1)
        half = solve_triangular(base.factor, right, lower=True, check_finite=False)
        # 2) The Schur complement.
        schur, size = -half.T @ half, len(border)
        corner = self._corner(mixture, bags, added) * root[border] * root[border, None]
        schur[:size, :size] += corner + np.eye(size)
        factored = lu_factor(schur, check_finite=False)
        return System(base.factor, n_bags + base.rows, kept, border, root, half, factored)

    def _factored(self, mixture: Mixture, curvature: Array) -> System:
        """Factor all rows at once: a border as large as the block saves nothing."""
        n_bags = len(mixture.block)
        rows, root = np.flatnonzero(curvature), np.sqrt(curvature)
        bags, negatives = rows[rows < n_bags], rows[rows >= n_bags] - n_bags
        system = self._corner(mixture, bags, negatives) * root[rows] * root[rows, None]
        system.flat[:: len(rows) + 1] += 1.0
        factor = factor_in_place(system.T)[0]
        self.n_factorizations += 1
        kept, none = np.ones(len(rows), dtype=bool), np.empty((len(rows), 0))
        return System(factor, rows, kept, rows[:0], root, none, None)

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
        system = block_of(self.K, units, units).astype(np.float64, copy=False)
        system += 1.0
        system *= root
        system *= root[:, None]
        system.flat[:: len(rows) + 1] += 1.0
        # The transpose is the same matrix, in the order that LAPACK overwrites.
        return factor_in_place(system.T)[0]

    def _border(self, mixture: Mixture, base: _Base, bags: Array, added: Array) -> Array:
        units = self.negatives[base.rows]
        of_bags = mixture.cross[np.ix_(bags, base.rows)].T
        of_added = block_of(self.K, self.negatives[added], units).T + 1.0
        return np.concatenate([of_bags, of_added], axis=1) * np.sqrt(base.curvature)[:, None]

    def _corner(self, mixture: Mixture, bags: Array, added: Array) -> Array:
        units = self.negatives[added]
        cross = mixture.cross[np.ix_(bags, added)]
        among = block_of(self.K, units, units).astype(np.float64) + 1.0
        return np.block([[mixture.block[np.ix_(bags, bags)], cross], [cross.T, among]])
