"""Kernels of bags without each of their instances, updated from those of the whole bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.blocks import row_blocks
from bagwise.bags.segments import bag_index
from bagwise.bags.without import sum_of_others
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


def extremes_kernel_without_each(kernel: Kernel, bags: Bags, vectors: Any, coef: Array) -> Array:
    """Return sum_z coef_z k(s, z), s being the (min, max) vector of bags without each instance.

    Most instances change few entries of the vector of their bag: inner products with z and
    distances from z are those of the whole bag, plus what the changed entries add.
    """
    from bagwise.kernels._without import apply_changes, extreme_changes

    X, vectors = (
        values.astype(np.float32) if values.dtype == np.float16 else values
        for values in (bags.X, vectors)
    )
    rows, starts, columns, changes = extreme_changes(X, bags.offsets)
    owner, is_rbf = bag_index(bags.offsets), kernel.name == "rbf"
    if kernel.name == "linear":
        weights, shape = vectors.T @ coef, (bags.n_instances, rows.shape[1])
        return (rows @ weights)[owner] + sp.csr_array((changes, columns, starts), shape) @ weights
    base = squared_distances(rows, vectors) if is_rbf else rows @ vectors.T
    turned, scores = np.ascontiguousarray(vectors.T), np.empty((bags.n_instances, coef.shape[1]))
    for some in row_blocks(bags.n_instances, 8 * len(vectors)):
        values = np.empty((some.stop - some.start, len(vectors)))
        entries = (starts[some.start : some.stop + 1], columns, changes)
        apply_changes(base, owner[some], *entries, rows, turned, is_rbf, values)
        values = np.maximum(values, 0.0, out=values) if is_rbf else values  # rounding
        scores[some] = kernel.apply(values) @ coef
    return scores
