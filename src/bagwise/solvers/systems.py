"""Newton systems of a saddle problem.

The systems are (R_v + S^-1) beta + Z_v omega = r on the rows with curvature s > 0, and
Z_v'beta - omega / scale^2 = g, for the part R_v of the kernel K_v = R_v + scale^2 Z_v Z_v' that is
known by its matrix. With a matrix, I + S^1/2 R_v S^1/2 is factored, and omega follows from the
Schur complement. Without one (a linear kernel), R_v joins positive bags only, and all rows are
eliminated: what remains has the size of the features.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import lu_factor, lu_solve, solve_triangular

from bagwise._typing import Array
from bagwise.designs.gram import double_block
from bagwise.designs.ridge import definite, factor_in_place
from bagwise.solvers.pool import Mixture
from bagwise.solvers.saddle import Saddle


class System(Protocol):
    """One system, ready to be solved for any number of right-hand sides."""

    def solve(self, right: Array, moments: Array | None = None) -> tuple[Array, Array]:
        """Return beta and omega for right-hand sides r (n_rows, m) and g (n_features, m).

        g is 0 where it is not given, and beta is 0 on rows without curvature.
        """


class Systems:
    """Builds the systems of one saddle problem, over any pool, and keeps the last one."""

    def __init__(self, saddle: Saddle) -> None:
        self.saddle, self.n_factorizations = saddle, 0
        self._build = _eliminate_rows if saddle.K is None else _factor_rows
        self._last: tuple[Mixture, Array, System] | None = None

    def at(self, mixture: Mixture, curvature: Array) -> System:
        """Return the system with these column weights and curvatures."""
        if self._last is not None:
            same_mixture, last, system = self._last
            if same_mixture is mixture and np.array_equal(last, curvature):
                return system
        self._last = None  # frees the old factor before the new one is allocated
        self.n_factorizations += 1
        self._last = mixture, curvature, self._build(self.saddle, mixture, curvature)
        return self._last[2]


@dataclass(frozen=True)
class _Factored:
    """A system with a kernel matrix."""

    rows: Array  # those with curvature
    root: Array  # their S^1/2
    factor: Array  # L with L L' = I + S^1/2 R_v S^1/2, lower triangle
    half: Array  # L^-1 S^1/2 Z_v
    schur: Any

    def solve(self, right: Array, moments: Array | None = None) -> tuple[Array, Array]:
        inner = self._carry(self.root[:, None] * right[self.rows])
        of_features = -self.half.T @ inner + (0.0 if moments is None else moments)
        omega = lu_solve(self.schur, of_features, check_finite=False)
        beta = np.zeros_like(right)
        beta[self.rows] = self.root[:, None] * self._carry(inner - self.half @ omega, transposed=1)
        return beta, omega

    def _carry(self, right: Array, transposed: int = 0) -> Array:
        return solve_triangular(
            self.factor, right, lower=True, trans=transposed, check_finite=False
        )


def _factor_rows(saddle: Saddle, mixture: Mixture, curvature: Array) -> _Factored:
    assert saddle.K is not None
    p, rows = saddle.n_bags, np.flatnonzero(curvature)
    bags, negatives = rows[rows < p], rows[rows >= p] - p
    root, size = np.sqrt(curvature[rows]), len(bags)
    # 1) Factor I + S^1/2 R_v S^1/2.
    system, units = np.empty((len(rows), len(rows))), saddle.negatives[negatives]
    double_block(mixture.block, bags, bags, system[:size, :size])
    double_block(mixture.cross, bags, negatives, system[:size, size:])
    double_block(saddle.K, units, units, system[size:, size:])
    system[size:, :size] = system[:size, size:].T
    system *= root
    system *= root[:, None]
    system.flat[:: len(rows) + 1] += 1.0
    # The transpose is the same matrix, in the order that LAPACK overwrites.
    factor = factor_in_place(system.T)[0]
    # 2) The Schur complement of the explicit features.
    features = np.concatenate([mixture.features[bags], saddle.features.Z[units]])
    half = solve_triangular(factor, features * root[:, None], lower=True, check_finite=False)
    least = np.diag(-(saddle.features.scale**-2.0))
    return _Factored(rows, root, factor, half, lu_factor(least - half.T @ half, check_finite=False))


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
