"""Kernels and distances between whole bags, computed in blocks.

Everything here reduces the matrix of values between the instances of two collections of bags to one
number per pair of bags. The matrix itself is never held in memory: a block has at most `_SIDE` rows
and columns, and bags that cross a block boundary are merged afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from math import isqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_sum
from bagwise.kernels import Kernel, in_double, squared_distances, squared_norms
from bagwise.rowstores.base import BLOCK_BYTES

_SIDE = isqrt(BLOCK_BYTES // 8)  # rows and columns of a block of float64


def set_kernel(kernel: Kernel, A: Bags, weights: Array, B: Bags, other: Array) -> Array:
    """Return sum_{a in i, b in j} u_a v_b k(a, b) for every bag i of A and j of B.

    Positive semi-definite when A is B: an inner product of weighted sums of instances.
    """

    def weigh(i: slice, j: slice) -> Array:
        return kernel(A.X[i], B.X[j]) * weights[i, None] * other[j]

    return _reduce_pairs(weigh, A, B, np.add, np.add)


def weighted_sums(bags: Bags, weights: Array) -> Any:
    """Return sum_{a in i} u_a a for every bag i: what a linear set kernel multiplies."""
    sums = sp.csr_array((weights, np.arange(bags.n_instances), bags.offsets))
    X = bags.X.astype(np.float32) if bags.X.dtype == np.float16 else bags.X
    return sums @ X


def set_norms(kernel: Kernel, bags: Bags, weights: Array) -> Array:
    """Return the square root of the set kernel of every bag with itself."""
    squares = np.empty(len(bags))
    for i, (start, stop) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
        X, w = bags.X[start:stop], weights[start:stop]
        pairs = product(_blocks(len(w)), _blocks(len(w)))
        squares[i] = sum(w[a] @ kernel(X[a], X[b]) @ w[b] for a, b in pairs)
    return np.sqrt(squares)


def embedding_distances(kernel: Kernel, A: Bags, weights: Array, B: Bags, other: Array) -> Array:
    """Return the squared distances between weighted sums of instances, in feature space."""
    norms, others = set_norms(kernel, A, weights) ** 2, set_norms(kernel, B, other) ** 2
    squared = norms[:, None] + others - 2 * set_kernel(kernel, A, weights, B, other)
    return np.maximum(squared, 0.0)


def kernel_scores(kernel: Kernel, X: Any, Z: Any, coef: Array) -> Array:
    """Return sum_z coef_z k(x, z) for every row x, one column per column of ``coef``."""
    if kernel.name == "linear":
        return np.asarray(X @ (Z.T @ coef), dtype=np.float64)
    scores = np.zeros((X.shape[0], coef.shape[1]))
    for i in _blocks(X.shape[0]):
        rows = in_double(X[i]) if Z.dtype == np.float64 else X[i]
        for j in _blocks(Z.shape[0]):
            scores[i] += kernel(rows, Z[j]) @ coef[j]
    return scores


def hausdorff(A: Bags, B: Bags, kind: str = "minimal") -> Array:
    """Return Hausdorff distances between the bags of A and of B, an array (len(A), len(B)).

    With d(a, B) the distance of an instance to the nearest one in B, ``kind`` is "minimal" for
    min_a d(a, B); "average" for the mean, over all instances of both bags, of the distance to the
    other bag; or "maximal" for max(max_a d(a, B), max_b d(b, A)).
    """
    outer = {"minimal": np.minimum, "average": np.add, "maximal": np.maximum}[kind]

    def one_way(A: Bags, B: Bags) -> Array:
        return _reduce_pairs(lambda i, j: _distances(A.X[i], B.X[j]), A, B, np.minimum, outer)

    there = one_way(A, B)
    back = there.T if A is B else one_way(B, A).T
    if kind == "average":
        return (there + back) / (A.sizes[:, None] + B.sizes)
    return outer(there, back)


def nearest_squared(X: Any, bags: Bags) -> Array:
    """Return the squared distance of every row of X to the nearest instance of every bag."""
    squared = np.empty((X.shape[0], len(bags)))
    for i in _blocks(X.shape[0]):
        distances = (squared_distances(X[i], bags.X[j]) for j in _blocks(bags.n_instances))
        squared[i] = _nearest(distances, bags, np.minimum, i.stop - i.start)
    return squared


def affinity_weights(bags: Bags) -> Array:
    """Return miGraph's weight of every instance: one over its number of neighbors.

    Two instances of a bag are neighbors if their distance is at most the mean distance within the
    bag. An instance is its own neighbor. Weights sum to 1 per bag.
    """
    weights = np.empty(bags.n_instances)
    for start, stop in zip(bags.offsets[:-1], bags.offsets[1:], strict=True):
        weights[start:stop] = 1.0 / _neighbors(bags.X[start:stop])
    return weights / expand(segment_sum(weights, bags.offsets), bags.offsets)


def bag_statistics(bags: Bags) -> Any:
    """Return the minimum and the maximum of every feature in each bag, side by side."""
    if sp.issparse(bags.X):
        rows = [sp.hstack([X.min(axis=0), X.max(axis=0)]) for X in bags]
        return sp.csr_array(sp.vstack(rows))
    starts = bags.offsets[:-1]
    return np.hstack([reduce.reduceat(bags.X, starts) for reduce in (np.minimum, np.maximum)])


# Blocks ------------------------------------------------------------------------------------------


def _blocks(n: int) -> Iterator[slice]:
    return (slice(i, min(i + _SIDE, n)) for i in range(0, n, _SIDE))


def _reduce_pairs(
    values: Callable[[slice, slice], Array], A: Bags, B: Bags, inner: Any, outer: Any
) -> Array:
    """Reduce ``values(rows of A, rows of B)`` with ``inner`` over B's bags, ``outer`` over A's."""
    reduced = np.full((len(A), len(B)), _neutral(outer))
    for i in _blocks(A.n_instances if len(B) else 0):  # a model may have no support vectors
        blocks = (values(i, j) for j in _blocks(B.n_instances))
        nearest = _nearest(blocks, B, inner, i.stop - i.start)
        _merge(outer, reduced, nearest, A.offsets, i.start)
    return reduced


def _nearest(blocks: Iterable[Array], bags: Bags, reduce: Any, n_rows: int) -> Array:
    """Reduce the columns in these blocks over the bags that they belong to, none of no bags."""
    reduced = np.full((len(bags), n_rows), _neutral(reduce))
    for j, block in zip(_blocks(bags.n_instances), blocks, strict=True):
        _merge(reduce, reduced, block.T, bags.offsets, j.start)
    return reduced.T


def _merge(reduce: Any, reduced: Array, rows: Array, offsets: Array, start: int) -> None:
    """Reduce rows ``start, start + 1, ...`` by bag into the result of earlier blocks."""
    first = int(np.searchsorted(offsets, start, side="right")) - 1
    last = int(np.searchsorted(offsets, start + len(rows), side="left"))
    starts = np.maximum(offsets[first:last] - start, 0)
    part = reduce.reduceat(rows, starts, axis=0)
    reduced[first:last] = reduce(reduced[first:last], part)


def _neutral(reduce: Any) -> float:
    return {np.add: 0.0, np.minimum: np.inf, np.maximum: -np.inf}[reduce]


def _distances(A: Any, B: Any) -> Array:
    """Return Euclidean distances, exactly zero between copies of a row.

    Rounding makes copies differ a little, and the square root would magnify that.
    """
    squared = squared_distances(A, B)
    norms = max(squared_norms(A).max(), squared_norms(B).max())
    squared[squared <= 64 * np.finfo(squared.dtype).eps * norms] = 0.0
    return np.sqrt(squared, out=squared)


def _neighbors(X: Any) -> Array:
    """Count, for every row, the rows within the mean distance."""

    def over_rows(summary: Callable[[Array], Array]) -> Array:
        parts = [summary(_distances(X[i], X)) for i in _blocks(X.shape[0])]
        return np.concatenate(parts)

    limit = over_rows(lambda d: d.mean(axis=1)).mean()
    return over_rows(lambda d: (d <= limit).sum(axis=1))
