"""The saddle problem of key-instance assignments, over a pool of them (Zhang & Jin 2020).

Rows are p positive bags and N negatives, with signs g = +1, -1 and weights c. An assignment A turns
the instances of a positive bag into one row (its key instance, or a mean of several). For a fixed A
the problem is

    min_w 1/2|w|^2 + sum_s c_s l(g_s w.psi_s),    l the margin band,

where the intercept is a constant feature (kernel k + 1). Its dual (Eq. 5, corrected), with one
signed vector beta = g (a - b) because a_s b_s = 0 at the optimum, is

    D(beta, A) = -1/2 beta'K_A beta - sum_s c_s l*(-g_s beta_s / c_s)
               = -1/2 beta'K_A beta - sum a^2/(4C) - sum b^2/(4 nu C)
                 + (1 - theta) e'a - (1 + theta) e'b,

C_s = c_s / (1 - theta)^2. The printed Eq. 5 puts lambda1 on the whole a block and lambda2 nu on the
b block and omits p and q. The relaxation (Eq. 9) over a pool A_1 ... A_S is

    min_{v in simplex} max_beta sum_k v_k D(beta, A_k) = min_v min_w P_v,

where P_v is the problem with the kernel K_v = sum_k v_k K_k. Any v gives an upper bound on the
saddle value (P_v at any w), and any beta a lower bound (min_k D(beta, A_k)). The difference is the
certificate. `Saddle` evaluates points; the solvers move them.

The kernel is k(x, x') + sum_j scale_j^2 z_j z'_j: what is known by its matrix K, and explicit
features z, the constant at least, whose coefficients omega a point carries beside beta (omega =
scale^2 Z'beta at the optimum only). With a linear kernel all features are explicit, and there is no
matrix. Scores and norms then keep their digits where a feature is large beside its spread or weighs
little in |w|^2 = beta'K beta + |omega / scale|^2: sums over beta would lose them.

K_v differs from K only in the rows and columns of positive bags, and is never formed: the negatives
use the kernel matrix of the instances, the rest are p x p and p x N blocks. The rows of K that
belong to key instances of the pool are kept together, because every product reads them. Explicit
features of a mixture are those of the mean assignment, Z_v, and what the assignments differ by:
sum_k v_k Z_k Z_k' = Z_v Z_v' + sum_k v_k (Z_k - Z_v)(Z_k - Z_v)', a p x p block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.gram import double_block
from bagwise.kernels import check_matrix
from bagwise.losses import MarginBand
from bagwise.solvers.pool import (
    Among,
    Column,
    Entries,
    Features,
    Keys,
    Mixture,
    SaddlePoint,
    Weights,
    meet,
)


@dataclass(frozen=True)
class Saddle:
    """The kernel, the rows' weights and the pool.

    Units are instances; a negative unit may also be the mean of a bag.
    """

    K: Array | None  # kernel between units without explicit features, (n_units, n_units), if any
    negatives: Array  # the units that are negative rows, (N,)
    weight: Array  # weights c of the losses, positive bags first, (p + N,)
    loss: MarginBand
    given: Features | None = None  # the constant, if nothing is given
    columns: tuple[Column, ...] = ()  # the pool
    keys: Keys | None = None

    @cached_property
    def features(self) -> Features:
        """The explicit features of the units."""
        if self.given is None:
            assert self.K is not None
            return Features(np.ones((len(self.K), 1)), np.ones(1))
        return self.given

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.features.Z)

    @property
    def n_bags(self) -> int:
        """Number of positive bags p."""
        return len(self.weight) - len(self.negatives)

    @cached_property
    def sign(self) -> Array:
        """+1 for positive bags, -1 for negatives."""
        return np.where(np.arange(len(self.weight)) < self.n_bags, 1.0, -1.0)

    def with_columns(self, many: list[Any]) -> Saddle:
        """Return the problem with assignments (CSR, (p, n_units) each) added to its pool."""
        used = [np.unique(weights.indices) for weights in many]
        features = [np.asarray(weights @ self.features.Z) for weights in many]
        first = self.columns[0].features if self.columns else features[0]
        added = tuple(
            Column(weights, self._block(weights, units), own, (own - first) * self.features.scale)
            for weights, units, own in zip(many, used, features, strict=True)
        )
        keys = self._keys_with(np.unique(np.concatenate(used)))
        return replace(self, columns=self.columns + added, keys=keys)

    def part(self, kept: Array) -> Saddle:
        """Return the problem over some columns of its pool."""
        columns = [self.columns[k] for k in np.flatnonzero(kept)]
        first, scale = columns[0].features, self.features.scale
        around = (replace(column, away=(column.features - first) * scale) for column in columns)
        assert self.keys is not None
        return replace(self, columns=tuple(around), keys=self._drop_unused(self.keys, columns))

    def _drop_unused(self, keys: Keys, columns: list[Column]) -> Keys:
        """Return the key units without those that no column uses, if they are many."""
        used = np.unique(np.concatenate([column.weights.indices for column in columns]))
        if len(used) >= 0.5 * len(keys.units):  # not worth a copy of their kernel rows
            return keys
        place, cross = np.full_like(keys.place, -1), keys.cross[keys.place[used]]
        place[used] = np.arange(len(used))
        return Keys(used, place, cross, keys.negative)

    def _block(self, weights: Any, used: Array) -> Array:
        if self.K is None:
            return np.zeros((self.n_bags, self.n_bags))
        place = np.searchsorted(used, weights.indices)
        among = double_block(self.K, used, used)
        own = sp.csr_array((weights.data, place, weights.indptr), shape=(self.n_bags, len(used)))
        return np.asarray(own @ (own @ among).T)

    def _keys_with(self, used: Array) -> Keys:
        """Return the key units with those of another assignment added."""
        keys = self.keys
        if keys is None:
            n_cross, Z = 0 if self.K is None else len(self.negatives), self.features.Z
            none = np.empty((0, n_cross))
            keys = Keys(used[:0], np.full(self.n_units, -1), none, Z[self.negatives])
        added, place = used[keys.place[used] < 0], keys.place.copy()
        place[added] = len(keys.units) + np.arange(len(added))
        cross = np.empty((len(added), 0))
        if self.K is not None:
            cross = double_block(self.K, added, self.negatives)
        units = np.concatenate([keys.units, added])
        return Keys(units, place, np.concatenate([keys.cross, cross]), keys.negative)

    def only(self, weights: Any) -> Saddle:
        """Return the problem whose pool is one assignment: an ordinary convex problem."""
        return replace(self, columns=(), keys=None).with_columns([weights])

    def among(self, units: Array) -> Among:
        """Return units as their assignments see them: around one, as all rows sum to one."""
        Z, scale = self.features.Z, self.features.scale
        smaller = "Use fewer bags, or relax=False with a linear kernel."
        check_matrix(
            "The matrix between instances of positive bags", len(units), len(units), 8, smaller
        )
        around = (Z[units] - Z[units[0]]) * scale
        kernel = around @ around.T
        return Among(kernel if self.K is None else kernel + self.K[np.ix_(units, units)], around)

    # Kernel products -----------------------------------------------------------------------------

    @cached_property
    def _entries(self) -> Entries:
        weights = [column.weights for column in self.columns]
        rows = [np.repeat(np.arange(self.n_bags), np.diff(w.indptr)) for w in weights]
        units = np.concatenate([w.indices for w in weights]).astype(np.int64)
        assert self.keys is not None
        return Entries(
            np.concatenate([w.data for w in weights]),
            np.concatenate(rows),
            units,
            np.repeat(np.arange(len(weights)), [w.nnz for w in weights]),
            self.keys.place[units],
        )

    @cached_property
    def _blocks(self) -> Array:
        return np.stack([column.block for column in self.columns])

    @cached_property
    def _spreads(self) -> Array:
        """The blocks with what the features of an assignment differ by."""
        return np.stack([column.block + column.away @ column.away.T for column in self.columns])

    @cached_property
    def away(self) -> Array:
        """Distances of the assignments' features from the first one's, (S, p, m)."""
        return np.stack([column.away for column in self.columns])

    def mix(self, v: Array) -> Mixture:
        """Return the blocks of K_v."""
        assert self.keys is not None
        value, bag, _, column, key = self._entries
        used = v[column] > 0
        entries = (value * v[column])[used], (bag[used], key[used])
        weights = sp.csr_array(entries, shape=(self.n_bags, len(self.keys.units)))
        away = np.tensordot(v, self.away, axes=1)
        # Eq. 9: sum_k v_k K_k, without Z_v Z_v'.
        block = np.tensordot(v, self._spreads, axes=1) - away @ away.T
        features = self.columns[0].features + away / self.features.scale
        return Mixture(v, block, np.asarray(weights @ self.keys.cross), features, away)

    def weights(
        self, mixture: Mixture, beta: Array, omega: Array | None = None, shared: Array | None = None
    ) -> Weights:
        """Return dual variables with their scores; omega is scale^2 Z_v'beta where not given.

        ``shared`` is `pull(beta)` where it is known already.
        """
        if omega is None:
            omega = self.features.scale**2 * self._moments(mixture, beta)
        own = self._own(mixture, beta, self.pull(beta) if shared is None else shared)
        return Weights(beta, omega, own, own + self._of_features(mixture.features, omega))

    def scores(self, mixture: Mixture, beta: Array) -> Array:
        """Return K_v beta."""
        return self.weights(mixture, beta).scores

    def _own(self, mixture: Mixture, beta: Array, shared: Array) -> Array:
        p = self.n_bags
        if self.K is None:
            return np.concatenate([mixture.block @ beta[:p], np.zeros(len(beta) - p)])
        of_bags = mixture.block @ beta[:p] + mixture.cross @ beta[p:]
        return np.concatenate([of_bags, beta[:p] @ mixture.cross + shared[self.negatives]])

    def _of_features(self, of_bags: Array, omega: Array) -> Array:
        assert self.keys is not None
        return np.concatenate([of_bags @ omega, self.keys.negative @ omega])

    def _moments(self, mixture: Mixture, beta: Array) -> Array:
        """Return Z_v'beta."""
        assert self.keys is not None
        p = self.n_bags
        return beta[:p] @ mixture.features + beta[p:] @ self.keys.negative

    def unmet(self, mixture: Mixture, at: Weights) -> Array:
        """Return omega / scale^2 - Z_v'beta, 0 at the optimum."""
        return at.omega / self.features.scale**2 - self._moments(mixture, at.beta)

    def products(self, beta: Array) -> Array:
        """Return K_k beta, one column per assignment, explicit features included."""
        own = self._own_products(beta, self.pull(beta))
        first = self.mix(np.eye(len(self.columns))[0])
        reach = self._reach(first, self.features.scale * self._moments(first, beta), beta)
        omegas = self.features.scale[:, None] * reach
        of_features = [
            self._of_features(column.features, omega)
            for column, omega in zip(self.columns, omegas.T, strict=True)
        ]
        return own + np.stack(of_features, axis=1)

    def _own_products(self, beta: Array, shared: Array, rows: Array | None = None) -> Array:
        """Return K_k beta without explicit features, 0 in all negatives but ``rows``."""
        assert self.keys is not None
        p, size, n_keys = self.n_bags, len(self.columns), len(self.keys.units)
        products = np.zeros((len(beta), size))
        if self.K is None:
            return products
        value, bag, unit, column, key = self._entries
        coef = np.bincount(column * n_keys + key, value * beta[:p][bag], minlength=size * n_keys)
        pull = np.bincount(column * p + bag, value * shared[unit], minlength=size * p)
        products[:p] = (self._blocks @ beta[:p] + pull.reshape(size, p)).T
        rows = np.arange(len(self.negatives)) if rows is None else rows
        cross = self.keys.cross.take(rows, axis=1)
        products[p + rows] = (coef.reshape(size, n_keys) @ cross + shared[self.negatives[rows]]).T
        return products

    def _reach(self, mixture: Mixture, reach: Array, beta: Array) -> Array:
        """Return scale Z_k'beta of every column, given scale Z_v'beta."""
        beyond = beta[: self.n_bags] @ (self.away - mixture.away)  # (S, m)
        return reach[:, None] + beyond.T

    def pull(self, beta: Array) -> Array:
        """Return the negatives' contribution to the score of every unit, by the matrix."""
        used = np.flatnonzero(beta[self.n_bags :])
        return self._sum_rows(self.negatives[used], beta[self.n_bags :][used])

    def unit_scores(self, point: SaddlePoint) -> Array:
        """Return the scores of all units."""
        coef = self.coef(point)
        used = np.flatnonzero(coef)
        return self._sum_rows(used, coef[used]) + self.features.Z @ point.omega

    def _sum_rows(self, units: Array, factors: Array) -> Array:
        from bagwise.designs._products import add_rows

        scores = np.zeros(self.n_units)
        if self.K is not None:
            add_rows(self.K, units, factors, scores)
        return scores

    def coef(self, point: SaddlePoint) -> Array:
        """Return the coefficients of f = sum_i beta_i sum_j mu_ij k(x_ij, .) + negatives."""
        coef = np.asarray(self.assignment(point.v).T @ point.beta[: self.n_bags])
        coef[self.negatives] += point.beta[self.n_bags :]
        return coef

    def assignment(self, v: Array) -> Any:
        """Return the mean assignment mu = sum_k v_k A_k (CSR)."""
        value, bag, unit, column, _ = self._entries
        shape = (self.n_bags, self.n_units)
        return sp.csr_array((value * v[column], (bag, unit)), shape=shape)

    # Values --------------------------------------------------------------------------------------

    def squared_norm(self, at: Weights) -> float:
        """Return |w|^2."""
        explicit = at.omega / self.features.scale
        return float(at.beta @ at.own + explicit @ explicit)

    def primal(self, at: Weights) -> float:
        """Return P_v."""
        losses = self.loss.value(self.sign * at.scores)
        return 0.5 * self.squared_norm(at) + float(self.weight @ losses)

    def conjugate(self, beta: Array) -> float:
        """Return sum_s c_s l*(-g_s beta_s / c_s); rows without weight have no dual."""
        used = self.weight > 0
        ratio = -self.sign[used] * beta[used] / self.weight[used]
        return float(self.weight[used] @ self.loss.conjugate(ratio))

    def dual(self, scores: Array) -> Array:
        """Return beta from scores: a = 2C (1-theta-m)+, b = 2C nu (m-1-theta)+."""
        return -self.weight * self.sign * self.loss.gradient(self.sign * scores)

    def make_feasible(self, beta: Array) -> Array:
        """Return dual variables with a finite conjugate: of their row's sign where nu = 0."""
        return beta if self.loss.nu > 0 else np.where(self.sign * beta > 0, beta, 0.0)

    def pieces(self, scores: Array) -> tuple[Array, Array]:
        """Return the curvature and target of each row's piece of the loss."""
        curvature, center = self.loss.pieces(self.sign * scores)
        return self.weight * curvature, self.sign * center

    def point(
        self,
        mixture: Mixture,
        beta: Array,
        omega: Array | None = None,
        curvature: Array | None = None,
        **facts: Any,
    ) -> SaddlePoint:
        """Evaluate a pair of column weights and dual variables.

        If curvatures are given, products are for rows with curvature or a dual variable only.
        """
        shared, rows, scale = self.pull(beta), None, self.features.scale
        if curvature is not None:
            rows = np.flatnonzero((curvature != 0)[self.n_bags :] | (beta != 0)[self.n_bags :])
        at = self.weights(mixture, beta, omega, shared)
        products = self._own_products(beta, shared, rows)
        found = scale * self._moments(mixture, beta)
        moved = np.abs(beta) + self.pieces(at.scores)[0] * (1 + np.abs(at.scores))
        wanted, margin = at.omega / scale, 1 + float(np.abs(at.scores).max())
        reached, cost = meet(found, wanted, scale, self.features.lengths, moved, margin)
        reaches = [self._reach(mixture, reach, beta) for reach in (found, reached)]
        norms = [beta @ products + np.einsum("ij,ij->j", reach, reach) for reach in reaches]
        # Eq. 5, corrected: D(beta, A_k), the lowest over the pool.
        lower = -self.conjugate(beta) - 0.5 * min(norms[0].max(), norms[1].max() + 2 * cost)
        return SaddlePoint(
            mixture.v,
            beta,
            at.omega,
            at.scores,
            products,
            reaches[1],
            norms[1],
            self.primal(at),
            float(lower),
            **facts,
        )
