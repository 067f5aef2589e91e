"""The kernel between training bags as the approximation by landmarks asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.kernels import Kernel, in_double
from bagwise.kernels.bag import set_norms, weighted_sums


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
        if self.bag_kernel == "hausdorff":
            return np.ones(len(bags))
        if self.bag_kernel == "max":
            return np.array([self.kernel(X, X).max() for X in bags])
        return set_norms(self.kernel, bags, shares) ** 2

    def vectors(self, rows: Array) -> Any:
        """Return the weighted sums of bags."""
        return weighted_sums(*self._part(rows))


def bags_in_double(bags: Bags) -> Bags:
    """Return the bags with instances in float64."""
    return bags.replace(X=in_double(bags.X))


def rows_of(bags: Bags, chosen: Array) -> Array:
    """Return which rows belong to the chosen bags (in increasing order)."""
    return expand(np.isin(np.arange(len(bags)), chosen), bags.offsets)
