"""Kernels of bags without each of their instances, updated from those of the whole bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import bag_index
from bagwise.bags.without import equal_sizes, sum_of_others
from bagwise.kernels import Kernel, squared_distances
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


def extremes_without_each(bags: Bags) -> tuple[Array, Any]:
    """Return what leaving out instances changes of the minima and maxima of their bags.

    Returns
    -------
    instances : ndarray of int
        Those that are the only minimum or maximum of a feature in a bag of two or more.
    changes : csr_array of shape (len(instances), 2 n_features)
        By how much the (min, max) vector of the bag changes without each of them: at most one
        entry per bag and column.
    """
    parts = [_next_extremes(bags.X[rows], rows) for rows in _several(bags)]
    if not parts:
        return np.empty(0, dtype=np.int64), sp.csr_array((0, 2 * bags.n_features))
    rows, columns, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    instances, place = np.unique(rows, return_inverse=True)
    shape = len(instances), 2 * bags.n_features
    return instances, sp.csr_array((values, (place, columns)), shape=shape)


def _several(bags: Bags) -> list[Array]:
    blocks = equal_sizes(bags.offsets, bags.n_features)
    return [rows for rows in blocks if rows.shape[1] > 1]


def _next_extremes(block: Array, rows: Array) -> tuple[Array, Array, Array]:
    """Return instances, columns and changes of the extremes of a block (n_bags, size, d)."""
    n, d = block.shape[1:]
    found = []
    for side, sign in ((0, -1.0), (1, 1.0)):  # the minimum is the maximum of the negatives
        values = sign * np.asarray(block, dtype=np.float64)
        second, top = np.moveaxis(np.partition(values, n - 2, axis=1)[:, -2:], 1, 0)
        bag, column = np.nonzero(second < top)
        who = values.argmax(axis=1)[bag, column]
        change = sign * (second - top)[bag, column]
        found.append((rows[bag, who], side * d + column, change))
    instances, columns, changes = (np.concatenate(part) for part in zip(*found, strict=True))
    return instances, columns, changes


def changed_kernel_scores(
    kernel: Kernel, rows: Any, owner: Array, changes: Any, vectors: Any, coef: Array
) -> Array:
    """Return sum_z coef_z k(rows[owner] + changes, z) for sparse changes.

    Inner products and distances are those of the rows, plus what the changed entries add.
    """
    if kernel.name == "linear":
        of_features = vectors.T @ coef
        return (rows @ of_features)[owner] + changes @ of_features
    moved = changes @ vectors.T  # change . z
    if kernel.name == "rbf":
        place = bag_index(changes.indptr)
        before = rows[owner[place], changes.indices]
        added = np.bincount(place, changes.data * (changes.data + 2 * before), len(owner))
        squared = squared_distances(rows, vectors)[owner] + (added[:, None] - 2 * moved)
        return np.exp(-kernel.gamma * np.maximum(squared, 0.0)) @ coef
    products = (rows @ vectors.T)[owner] + moved
    return (kernel.gamma * products + kernel.coef0) ** kernel.degree @ coef
