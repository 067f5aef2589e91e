"""What a task looks like to a method that chooses key instances: units, choices, negatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.segments import expand
from bagwise.designs import Gram, Iterative
from bagwise.estimators.task import Task
from bagwise.kernels import check_matrix
from bagwise.losses import MarginBand
from bagwise.procedures.columns import Choices
from bagwise.solvers import Solution
from bagwise.solvers.pool import Features, SaddlePoint
from bagwise.solvers.saddle import Saddle


@dataclass(frozen=True)
class KeyRows:
    """The rows of a task: positive bags that choose key instances, and negatives.

    Units are the instances of bags with positive weight; with ``negatives="bags"`` the mean of a
    negative bag takes the place of its instances. In a large kernel matrix all instances are units,
    but no row uses those of other bags.
    """

    task: Task
    negatives: str
    n_witnesses: int

    @cached_property
    def _used(self) -> Array:
        return self.task.weight[self.task.offsets[:-1]] > 0

    @cached_property
    def _instance_is_used(self) -> Array:
        return expand(self._used, self.task.offsets)

    @cached_property
    def units(self) -> Any:
        """The units as combinations of instances (CSR); None where they are the instances."""
        task, used = self.task, self._instance_is_used
        if self.negatives == "instances" and (used.all() or isinstance(task.design, Iterative)):
            return None  # a part of a large matrix would be a copy of it
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
            (1.0 / sizes[kept], (row[kept], np.flatnonzero(kept))), shape=(len(bags), n_instances)
        )
        return sp.vstack([plain, means], format="csr")

    @cached_property
    def _positive_units(self) -> tuple[Array, Array]:
        """The units in positive bags, and the others."""
        if self.units is None:
            used, positive = self._instance_is_used, self.task.in_positive
            return np.flatnonzero(used & positive), np.flatnonzero(used & ~positive)
        positive = self.task.in_positive[self.units.indices[self.units.indptr[:-1]]]
        return np.flatnonzero(positive), np.flatnonzero(~positive)

    @cached_property
    def choices(self) -> Choices:
        """What an assignment may choose."""
        sizes = np.diff(self.task.offsets)[self.task.positive & self._used]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        n_units = len(self.task.weight) if self.units is None else self.units.shape[0]
        return Choices(self._positive_units[0], offsets, n_units, self.n_witnesses)

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
        return self.task.weight[~self.task.in_positive & self._instance_is_used]

    def saddle(self, weight: Array, loss: MarginBand) -> Saddle:
        """Return the saddle problem without columns."""
        negatives = self._positive_units[1]
        if isinstance(self.task.design, Gram):
            return Saddle(self._kernel(self.task.design), negatives, weight, loss)
        rows, scale = self._features()
        if len(scale) <= len(rows):
            return Saddle(None, negatives, weight, loss, Features(rows, scale))
        smaller = "Use fewer bags, or WitnessSVC."
        check_matrix("The matrix between training instances", len(rows), len(rows), 8, smaller)
        known = rows[:, :-1] * scale[:-1]
        return Saddle(known @ known.T, negatives, weight, loss, Features(rows[:, -1:], scale[-1:]))

    def _kernel(self, design: Gram) -> Array:
        """Return the kernel matrix between units."""
        gram = design if self.units is None else design.aggregate(self.units)
        assert isinstance(gram, Gram)
        if gram.K.dtype == np.float64 or isinstance(gram, Iterative):
            return gram.K
        K = gram.K.astype(np.float64)
        return (K + K.T) / 2  # lower precision is symmetric to its own digits only

    def _features(self) -> tuple[Array, Array]:
        """Return the features of the units, the constant last, and their scale in |w|."""
        design = self.task.design.linear
        assert design is not None  # of kernels there is a matrix
        n_instances = len(self.task.weight)
        units = sp.eye_array(n_instances, format="csr") if self.units is None else self.units
        rows, scale = design.combine(units), np.broadcast_to(design.scale, design.n_coef)
        rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
        if design.augmented:
            return rows, scale
        return np.column_stack([rows, np.ones(len(rows))]), np.append(scale, 1.0)

    def solution(self, saddle: Saddle, point: SaddlePoint) -> Solution:
        """Return f = sum_i beta_i sum_j mu_ij k(x_ij, .) + negatives over the instances."""
        design = self.task.design
        on_units = saddle.coef(point)
        dual = on_units if self.units is None else self.units.T @ on_units
        coef, intercept = design.adjoint(dual), float(point.omega[-1])
        if saddle.K is None:
            coef = point.omega[: design.n_coef]
        if design.augmented:
            coef, intercept = np.append(coef[:-1], intercept), 0.0
        return Solution(
            coef=coef,
            intercept=intercept,
            scores=design @ coef + intercept,
            dual=dual,
            objective=point.upper,
            gap=min(point.gap, point.upper),  # losses and norms are not negative
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
