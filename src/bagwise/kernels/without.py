"""Weights of instances in bags without each of their instances."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags.without import sum_of_others
from bagwise.kernels.bag import _distances


def equal_weights_without_each(n: int) -> Array:
    """Return the weights 1 / (n - 1) of the others, one row per instance left out."""
    return (1.0 - np.eye(n)) / (n - 1)


def affinity_weights_without_each(X: Any, threshold: str | float) -> Array:
    """Return miGraph's weights of the others, one row per instance left out.

    The number of neighbors of an instance is that among all, minus one where the instance left out
    is a neighbor. With the threshold "mean", which is another one for every instance left out,
    neighbors are counted in the sorted distances.
    """
    distances = _distances(X, X)
    n = len(distances)
    if threshold == "mean":
        others = sum_of_others(distances[None, :, :])[0]  # (i, k): from k to all but i
        np.fill_diagonal(others, 0.0)
        limits = others.sum(axis=1) / (n - 1) ** 2
    else:
        limits = np.full(n, float(threshold))
    counts = np.empty((n, n))
    for j, row in enumerate(distances):
        counts[:, j] = np.searchsorted(np.sort(row), limits, side="right")
    counts -= distances <= limits[:, None]
    np.fill_diagonal(counts, np.inf)  # the one left out has no weight
    return (1.0 / counts) / (1.0 / counts).sum(axis=1, keepdims=True)
