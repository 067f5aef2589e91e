"""Small decision trees on features that are binned once: the weak learners of `MILBoost`.

A split minimizes the weighted Gini impurity, as scikit-learn's trees do. Those sort every feature
in every tree; here a feature becomes bin numbers once, and a split is found in one pass over them.
With up to 4,096 distinct values of a feature, every value has its own bin and the splits are those
of sorting. Beyond, bins have about equal numbers of instances. Of equally good splits, the one of
the first feature is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array

_MOST_BINS = 4096  # their sums (64 KiB) stay in a level-2 cache


@dataclass(frozen=True)
class Forest:
    """The nodes of trees, one tree after the other, each node before its children."""

    starts: Array  # the first node of each tree, and the number of nodes
    feature: Array  # -1 for a leaf
    threshold: Array  # up to here a value goes to the left
    left: Array
    right: Array
    vote: Array  # -1 or 1

    @classmethod
    def of(cls, trees: list[list[tuple[Any, ...]]]) -> Forest:
        """Join trees; children count from the first node of their tree."""
        starts = np.cumsum([0, *map(len, trees)])
        columns = list(zip(*(node for tree in trees for node in tree), strict=True))
        kinds = (np.int64, np.float64, np.int64, np.int64, np.float64)
        parts = (np.array(part, dtype=kind) for part, kind in zip(columns, kinds, strict=True))
        return cls(starts, *parts)

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.starts) - 1

    def votes(self, number: int, X: Any) -> Array:
        """Return -1 or 1 for every row of X (float32, dense or CSC)."""
        start, stop = self.starts[number], self.starts[number + 1]
        votes, rows_of = np.zeros(X.shape[0]), {0: np.arange(X.shape[0])}
        for i in range(stop - start):
            rows, node = rows_of.pop(i), start + i
            votes[rows] = self.vote[node]
            if self.feature[node] >= 0:
                goes_left = _column(X, self.feature[node])[rows] <= self.threshold[node]
                rows_of[int(self.left[node])] = rows[goes_left]
                rows_of[int(self.right[node])] = rows[~goes_left]
        return votes


class BinnedFeatures:
    """Features as bin numbers, and trees grown on them."""

    def __init__(self, X: Any) -> None:
        self.X = sp.csc_array(X) if sp.issparse(X) else X
        binned = [_bins(values) for values in self._stored_values()]
        self.n_bins = np.array([len(lowest) for _, lowest, _ in binned])
        self.lowest, self.highest = [b[1] for b in binned], [b[2] for b in binned]
        codes = [b[0] for b in binned]
        if sp.issparse(X):
            self.zero_bin = np.array([of_feature[-1] for of_feature in codes])
            self.codes = np.concatenate([of_feature[:-1] for of_feature in codes])
        else:
            self.codes = np.stack(codes)

    def _stored_values(self) -> Any:
        """Yield the values of each feature; of sparse ones the stored values, then a zero."""
        if not sp.issparse(self.X):
            return (self.X[:, j] for j in range(self.X.shape[1]))
        ends = zip(self.X.indptr[:-1], self.X.indptr[1:], strict=True)
        return (np.append(self.X.data[a:b], np.float32(0)) for a, b in ends)

    def tree(self, pull: Array, max_depth: int, min_weight_fraction_leaf: float) -> list[Any]:
        """Grow a tree that separates pull > 0 from pull < 0, weighted by its size."""
        least = min_weight_fraction_leaf * float(np.abs(pull).sum())
        nodes: list[Any] = []

        def grow(rows: Array, depth: int) -> int:
            number, values = len(nodes), pull[rows]
            up, down = values[values > 0].sum(), -values[values < 0].sum()
            vote = 1.0 if up > down else -1.0
            nodes.append((-1, np.nan, -1, -1, vote))
            if depth == max_depth or up == 0 or down == 0:
                return number
            feature, last, after = self._split(rows, pull, least)
            if feature >= 0:
                low, high = self.highest[feature][last], self.lowest[feature][after]
                threshold = (float(low) + float(high)) / 2
                goes_left = _column(self.X, feature)[rows] <= threshold
                left = grow(rows[goes_left], depth + 1)
                right = grow(rows[~goes_left], depth + 1)
                nodes[number] = (feature, threshold, left, right, vote)
            return number

        grow(np.arange(len(pull)), 0)
        return nodes

    def _split(self, rows: Array, pull: Array, least: float) -> tuple[int, int, int]:
        from bagwise.models._splits import best_sparse_split, best_split

        if not sp.issparse(self.X):
            return best_split(self.codes, self.n_bins, rows, pull, least)
        columns = self.codes, self.X.indices, self.X.indptr, self.zero_bin
        return best_sparse_split(*columns, self.n_bins, rows, pull, least)


def _bins(values: Array) -> tuple[Array, Array, Array]:
    """Return the bin of every value, and the least and the largest value of each bin."""
    distinct, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) <= _MOST_BINS:
        return place.astype(np.uint16), distinct, distinct
    before = np.cumsum(counts) - counts
    _, bin_of = np.unique(before * _MOST_BINS // len(values), return_inverse=True)
    starts = np.flatnonzero(np.diff(bin_of, prepend=-1))
    ends = np.append(starts[1:], len(distinct)) - 1
    return bin_of[place].astype(np.uint16), distinct[starts], distinct[ends]


def _column(X: Any, j: int) -> Array:
    return X[:, [j]].toarray()[:, 0] if sp.issparse(X) else X[:, j]
