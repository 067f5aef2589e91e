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

K_v differs from K only in the rows and columns of positive bags, and is never formed: the negatives
use the kernel matrix of the instances, the rest are p x p and p x N blocks. The rows of K that
belong to key instances of the pool are kept together, because every product reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.designs.inverse import block_of
from bagwise.losses import MarginBand


@dataclass(frozen=True)
class Column:
    """One assignment: its weights on the instances, and the kernel between its rows."""

    weights: Any  # CSR, (p, n_units), rows sum to one
    block: Array  # (p, p), constant feature included


@dataclass(frozen=True)
class Mixture:
    """K_v without the block of negatives, for a vector v of column weights."""

    v: Array  # (S,)
    block: Array  # sum_k v_k K_k between positive bags, (p, p)
    cross: Array  # between positive bags and negatives, (p, N)


class _Entries(NamedTuple):
    """The nonzero weights of all assignments, one after the other."""

    value: Array
    bag: Array
    unit: Array
    column: Array
    key: Array  # the place of the unit among the key units


class _Keys(NamedTuple):
    """The units that some assignment of the pool uses, and their kernel rows."""

    units: Array  # in the order in which they came, (U,)
    place: Array  # of a unit among them, -1 for the others, (n_units,)
    cross: Array  # kernel with the negatives, constant feature included, (U, N)


@dataclass(frozen=True)
class SaddlePoint:
    """Column weights and dual variables, with bounds on the saddle value over the pool."""

    v: Array  # weights of the assignments in the pool, (n_columns,)
    beta: Array  # signed dual variables g (a - b), (n_rows,)
    scores: Array  # K_v beta; times g these are the margins, (n_rows,)
    products: Array  # K_k beta, (n_rows, n_columns)
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


@dataclass(frozen=True)
class Saddle:
    """The kernel, the rows' weights and the pool.

    Units are instances; a negative unit may also be the mean of a bag.
    """

    K: Array  # kernel between units, without the constant, (n_units, n_units)
    negatives: Array  # the units that are negative rows, (N,)
    weight: Array  # weights c of the losses, positive bags first, (p + N,)
    loss: MarginBand
    columns: tuple[Column, ...] = ()  # the pool
    keys: _Keys | None = None

    @property
    def n_bags(self) -> int:
        """Number of positive bags p."""
        return len(self.weight) - len(self.negatives)

    @cached_property
    def sign(self) -> Array:
        """+1 for positive bags, -1 for negatives."""
        return np.where(np.arange(len(self.weight)) < self.n_bags, 1.0, -1.0)

    def with_column(self, weights: Any) -> Saddle:
        """Return the problem with this assignment (CSR, (p, n_units)) added to its pool."""
        used = np.unique(weights.indices)
        place = np.searchsorted(used, weights.indices)
        among = self.K[np.ix_(used, used)].astype(np.float64)
        own = sp.csr_array((weights.data, place, weights.indptr), shape=(self.n_bags, len(used)))
        block = np.asarray(own @ (own @ among).T) + 1.0
        columns = (*self.columns, Column(weights, block))
        return replace(self, columns=columns, keys=self._keys_with(used))

    def _keys_with(self, used: Array) -> _Keys:
        """Return the key units with those of another assignment added."""
        keys = self.keys
        if keys is None:
            keys = _Keys(used[:0], np.full(len(self.K), -1), np.empty((0, len(self.negatives))))
        added, place = used[keys.place[used] < 0], keys.place.copy()
        place[added] = len(keys.units) + np.arange(len(added))
        cross = block_of(self.K, added, self.negatives).astype(np.float64) + 1.0
        return _Keys(
            np.concatenate([keys.units, added]), place, np.concatenate([keys.cross, cross])
        )

    def only(self, weights: Any) -> Saddle:
        """Return the problem whose pool is one assignment: an ordinary convex problem."""
        return replace(self, columns=(), keys=None).with_column(weights)

    # Kernel products -----------------------------------------------------------------------------

    @cached_property
    def _entries(self) -> _Entries:
        weights = [column.weights for column in self.columns]
        rows = [np.repeat(np.arange(self.n_bags), np.diff(w.indptr)) for w in weights]
        units = np.concatenate([w.indices for w in weights]).astype(np.int64)
        assert self.keys is not None
        return _Entries(
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
    def _alone(self) -> list[Saddle]:
        return [replace(self, columns=(column,)) for column in self.columns]

    def mix(self, v: Array) -> Mixture:
        """Return the blocks of K_v."""
        assert self.keys is not None
        value, bag, _, column, key = self._entries
        used = v[column] > 0
        entries = (value * v[column])[used], (bag[used], key[used])
        weights = sp.csr_array(entries, shape=(self.n_bags, len(self.keys.units)))
        block = np.tensordot(v, self._blocks, axes=1)  # Eq. 9: sum_k v_k K_k
        return Mixture(v, block, np.asarray(weights @ self.keys.cross))

    def scores(self, mixture: Mixture, beta: Array) -> Array:
        """Return K_v beta."""
        p, shared = self.n_bags, self.pull(beta)[self.negatives]
        of_bags = mixture.block @ beta[:p] + mixture.cross @ beta[p:]
        return np.concatenate([of_bags, beta[:p] @ mixture.cross + shared])

    def product(self, beta: Array, k: int) -> Array:
        """Return K_k beta for one assignment."""
        return self._alone[k].products(beta)[:, 0]

    def products(self, beta: Array) -> Array:
        """Return K_k beta, one column per assignment."""
        assert self.keys is not None
        p, size, n_keys = self.n_bags, len(self.columns), len(self.keys.units)
        value, bag, unit, column, key = self._entries
        shared = self.pull(beta)
        coef = np.bincount(column * n_keys + key, value * beta[:p][bag], minlength=size * n_keys)
        own = coef.reshape(size, n_keys) @ self.keys.cross
        pull = np.bincount(column * p + bag, value * shared[unit], minlength=size * p)
        of_bags = self._blocks @ beta[:p] + pull.reshape(size, p)
        return np.concatenate([of_bags.T, (own + shared[self.negatives]).T])

    def pull(self, beta: Array) -> Array:
        """Return the contribution of the negatives to the score of every unit."""
        used = np.flatnonzero(beta[self.n_bags :])
        return self._sum_rows(self.negatives[used], beta[self.n_bags :][used])

    def unit_scores(self, coef: Array) -> Array:
        """Return the scores of all units, given coefficients of all units."""
        used = np.flatnonzero(coef)
        return self._sum_rows(used, coef[used])

    def _sum_rows(self, units: Array, factors: Array) -> Array:
        from bagwise.designs._products import add_rows

        scores = np.full(len(self.K), factors.sum())
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
        shape = (self.n_bags, len(self.K))
        return sp.csr_array((value * v[column], (bag, unit)), shape=shape)

    # Values --------------------------------------------------------------------------------------

    def primal(self, beta: Array, scores: Array) -> float:
        """Return P_v at w = sum beta psi."""
        losses = self.loss.value(self.sign * scores)
        return float(0.5 * beta @ scores + self.weight @ losses)

    def conjugate(self, beta: Array) -> float:
        """Return sum_s c_s l*(-g_s beta_s / c_s); rows without weight have no dual."""
        used = self.weight > 0
        ratio = -self.sign[used] * beta[used] / self.weight[used]
        return float(self.weight[used] @ self.loss.conjugate(ratio))

    def dual(self, scores: Array) -> Array:
        """Return beta from scores: a = 2C (1-theta-m)+, b = 2C nu (m-1-theta)+."""
        return -self.weight * self.sign * self.loss.gradient(self.sign * scores)

    def feasible(self, beta: Array) -> Array:
        """Return dual variables with a finite conjugate: of their row's sign where nu = 0."""
        return beta if self.loss.nu > 0 else np.where(self.sign * beta > 0, beta, 0.0)

    def pieces(self, scores: Array) -> tuple[Array, Array]:
        """Return the curvature and target of each row's piece of the loss."""
        curvature, center = self.loss.pieces(self.sign * scores)
        return self.weight * curvature, self.sign * center

    def point(self, mixture: Mixture, beta: Array, **facts: Any) -> SaddlePoint:
        """Evaluate a pair of column weights and dual variables."""
        products = self.products(beta)
        scores = products @ mixture.v
        # Eq. 5, corrected: D(beta, A_k), the lowest over the pool.
        lower = -0.5 * float((beta @ products).max()) - self.conjugate(beta)
        upper = self.primal(beta, scores)
        return SaddlePoint(mixture.v, beta, scores, products, upper, lower, **facts)
