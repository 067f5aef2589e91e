"""What a task looks like to a method that chooses key instances: units, choices, negatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.segments import expand
from bagwise.designs import Design, Gram, Iterative
from bagwise.estimators.task import Task
from bagwise.kernels import check_matrix
from bagwise.losses import MarginBand
from bagwise.procedures.columns import Choices
from bagwise.solvers import Solution
from bagwise.solvers.saddle import Saddle, SaddlePoint


@dataclass(frozen=True)
class KeyRows:
    """The rows of a task: positive bags that choose key instances, and negatives.

    Units are the instances of bags with positive weight; with ``negatives="bags"`` the mean of a
    negative bag takes the place of its instances.
    """

    task: Task
    negatives: str
    n_witnesses: int

    @cached_property
    def _used(self) -> Array:
        return self.task.weight[self.task.offsets[:-1]] > 0

    @cached_property
    def units(self) -> Any:
        """The units as combinations of instances (CSR); None where they are the instances."""
        task, used = self.task, expand(self._used, self.task.offsets)
        if used.all() and self.negatives == "instances":
            return None
        n_instances = len(task.weight)
        single = used if self.negatives == "instances" else used & task.in_positive
        instances = np.flatnonzero(single)
        plain = sp.csr_array(
            (np.ones(len(instances)), (np.arange(len(instances)), instances)),
            shape=(len(instances), n_instances),
        )
        if self.negatives == "instances":
            return plain
        bags = np.flatnonzero(self._used & ~task.positive)
        number = np.full(len(task.positive), -1)
        number[bags] = np.arange(len(bags))
        row = expand(number, task.offsets)
        sizes = expand(np.diff(task.offsets), task.offsets)
        kept = row >= 0
        means = sp.csr_array(
            (1.0 / sizes[kept], (row[kept], np.flatnonzero(kept))),
            shape=(len(bags), n_instances),
        )
        return sp.vstack([plain, means], format="csr")

    @cached_property
    def _unit_is_positive(self) -> Array:
        if self.units is None:
            return self.task.in_positive
        first = self.units.indices[self.units.indptr[:-1]]
        return self.task.in_positive[first]

    @cached_property
    def choices(self) -> Choices:
        """What an assignment may choose."""
        sizes = np.diff(self.task.offsets)[self.task.positive & self._used]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.flatnonzero(self._unit_is_positive)
        return Choices(rows, offsets, len(self._unit_is_positive), self.n_witnesses)

    @cached_property
    def bag_weights(self) -> tuple[Array, Array]:
        """Weights of the bags in use, positive ones and negative ones."""
        weight = self.task.weight[self.task.offsets[:-1]]
        return weight[self.task.positive & self._used], weight[~self.task.positive & self._used]

    @cached_property
    def negative_weights(self) -> Array:
        """The bag's weight for every negative row."""
        if self.negatives == "bags":
            return self.bag_weights[1]
        return self.task.weight[~self.task.in_positive & expand(self._used, self.task.offsets)]

    def kernel(self) -> Array:
        """Return the kernel matrix between units."""
        design = self.task.design
        if isinstance(design, Gram):
            gram: Any = design if self.units is None else design.aggregate(self.units)
            if gram.K.dtype == np.float64 or isinstance(gram, Iterative):
                return gram.K
            K = gram.K.astype(np.float64)
            return (K + K.T) / 2  # lower precision is symmetric to its own digits only
        return _products(design, self.units)

    def saddle(self, weight: Array, loss: MarginBand) -> Saddle:
        """Return the saddle problem without columns."""
        return Saddle(self.kernel(), np.flatnonzero(~self._unit_is_positive), weight, loss)

    def solution(self, saddle: Saddle, point: SaddlePoint) -> Solution:
        """Return f = sum_i beta_i sum_j mu_ij k(x_ij, .) + negatives over the instances."""
        on_units = saddle.coef(point)
        dual = on_units if self.units is None else self.units.T @ on_units
        coef, intercept = self.task.design.T @ dual, float(on_units.sum())
        return Solution(
            coef=coef,
            intercept=intercept,
            scores=self.task.design @ coef + intercept,
            dual=dual,
            objective=point.upper,
            gap=point.gap,
            residual=float(np.abs(point.beta - saddle.dual(point.scores)).max()),
            n_iter=point.n_iter,
            converged=point.converged,
            history=point.history,
        )

    def instance_weights(self, saddle: Saddle, point: SaddlePoint) -> Array:
        """Return mu of every instance."""
        mu = np.asarray(saddle.assignment(point.v).sum(axis=0)).ravel()
        mu = mu if self.units is None else self.units.T @ mu
        return np.minimum(mu, 1.0)  # v sums to one up to rounding


def _products(design: Design, units: Any) -> Array:
    n_units = design.n_rows if units is None else units.shape[0]
    smaller = "This method needs it for every kernel: use fewer bags, or WitnessSVC."
    check_matrix("The matrix between training instances", n_units, n_units, 8, smaller)
    linear: Any = design
    rows = linear.matrix(np.arange(n_units)) if units is None else linear.combine(units)
    products = rows @ rows.T
    products = products.toarray() if sp.issparse(products) else products
    return np.asarray(products, dtype=np.float64)
