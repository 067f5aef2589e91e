"""What kernels between bags need beside the kernel: landmarks, solutions over bags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_sum
from bagwise.estimators.task import rows_of, stack_models
from bagwise.kernels import Kernel, in_double
from bagwise.kernels.bag import set_norms
from bagwise.procedures import Run


def over_bags(fit: Run, vectors: Any) -> Run:
    """Express a solution over vectors as one over bags: w is the sum of the duals' bags.

    The intercept makes up for the rounding of that sum, which a large offset would magnify.
    """
    dual = fit.solution.dual
    missed = fit.solution.scores - vectors @ (vectors.T @ dual)
    return replace(fit, solution=replace(fit.solution, coef=dual, intercept=float(missed.mean())))


def spread_weights(positive: Array, bags: Bags, used: Array, shares: Array) -> Array:
    """Turn the weights of bags as positives into weights of instances."""
    offsets = bags[used].offsets
    shares = shares / expand(segment_sum(shares, offsets), offsets)
    weights = np.zeros((len(positive), bags.n_instances))
    weights[:, rows_of(bags, used)] = expand(positive.T, offsets).T * shares
    return stack_models(weights)


@dataclass(frozen=True)
class BagPairs:
    """What `bagwise.designs.Pairs` is for instances; ``between`` takes bags and shares twice."""

    between_bags: Callable[..., Array]
    bag_kernel: str
    kernel: Kernel
    train: Bags
    shares: Array

    @property
    def n_rows(self) -> int:
        """Number of bags."""
        return len(self.train)

    def _part(self, chosen: Any) -> tuple[Bags, Array]:
        numbers = np.arange(self.n_rows)[chosen]
        return bags_in_double(self.train[numbers]), self.shares[rows_of(self.train, numbers)]

    def between(self, rows: Any, columns: Array) -> Array:
        """Return the kernel between some bags and some others (in increasing order)."""
        return self.between_bags(*self._part(rows), *self._part(columns))

    def diagonal(self, rows: Any) -> Array:
        """Return the kernel of bags with themselves."""
        bags, shares = self._part(rows)
        if self.bag_kernel == "distribution":
            return np.ones(len(bags))
        return set_norms(self.kernel, bags, shares) ** 2


def bags_in_double(bags: Bags) -> Bags:
    """Return the bags with instances in double precision."""
    return bags.replace(X=in_double(bags.X))
