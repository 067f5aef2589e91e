"""What to know about bags before a model sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.fingerprint import row_codes
from bagwise.bags.segments import bag_index, bag_of_row
from bagwise.estimators.input import far_apart, feature_spreads
from bagwise.io._limits import rows_per_block


@dataclass(frozen=True)
class Findings:
    """Counts that say what a table holds and what it needs.

    Parameters
    ----------
    n_bags, n_instances, n_features : int
        Sizes.
    sizes : (int, int, int)
        Smallest, median and largest bag.
    labels : dict of str to int
        Number of bags per label; empty without labels.
    n_groups : int
        Number of groups; 0 without groups.
    missing : dict of str to int
        Number of missing values by feature, where there are any.
    constant : list of str
        Features with a single value.
    far : (str, str) or None
        The features of smallest and largest spread, if these differ by more than 1,000.
    counters : list of str
        Features that only number the instances of each bag.
    shared : int
        Instances that appear, with equal features, in more than one bag.
    shared_across_groups : int
        Those of them that appear in more than one group.

    Examples
    --------
    >>> from bagwise import Bags
    >>> from bagwise.io.findings import look_at
    >>> found = look_at(Bags.from_list([[[0.0, 1.0], [2.0, 1.0]], [[2.0, 1.0]]]), ["a", "b"])
    >>> found.labels, found.constant, found.shared
    ({'a': 1, 'b': 1}, ['f2'], 2)
    """

    n_bags: int
    n_instances: int
    n_features: int
    sizes: tuple[int, int, int]
    labels: dict[str, int]
    n_groups: int
    missing: dict[str, int]
    constant: list[str]
    far: tuple[str, str] | None
    counters: list[str]
    shared: int
    shared_across_groups: int


def look_at(bags: Bags, y: Any = None) -> Findings:
    """Count what matters before a model is fitted."""
    names = bags.feature_names
    known = (
        [f"f{j + 1}" for j in range(bags.n_features)] if names is None else list(map(str, names))
    )
    missing, low, high = _columns(bags)
    varying = np.where(np.isfinite(low), high - low, 0.0)
    far = far_apart(feature_spreads(bags)) if not missing.any() else far_apart(varying)
    labels = {} if y is None else dict(zip(*np.unique(y, return_counts=True), strict=True))
    codes = bag_index(bags.offsets)
    groups = None if bags.groups is None else np.unique(bags.groups, return_inverse=True)[1]
    copies = row_codes(bags)
    return Findings(
        *(len(bags), bags.n_instances, bags.n_features),
        sizes=(int(bags.sizes.min()), int(np.median(bags.sizes)), int(bags.sizes.max())),
        labels={str(label): int(count) for label, count in labels.items()},
        n_groups=0 if groups is None else len(set(groups.tolist())),
        missing={known[j]: int(missing[j]) for j in np.flatnonzero(missing)},
        constant=[known[j] for j in np.flatnonzero(varying == 0)],
        far=None if far is None else (known[far[0]], known[far[1]]),
        counters=[known[j] for j in _counters(bags)],
        shared=_in_several(copies, codes),
        shared_across_groups=0 if groups is None else _in_several(copies, groups[codes]),
    )


def _columns(bags: Bags) -> tuple[Array, Array, Array]:
    """Return the number of missing values, the lowest and the highest value of each feature."""
    d = bags.n_features
    missing, low, high = np.zeros(d, dtype=np.int64), np.full(d, np.inf), np.full(d, -np.inf)
    step = rows_per_block(d)
    for start in range(0, bags.n_instances, step):
        rows = bags.X[start : start + step]
        block = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=np.float64)
        missing += np.isnan(block).sum(axis=0)
        low, high = np.fmin(low, np.fmin.reduce(block)), np.fmax(high, np.fmax.reduce(block))
    return missing, low, high


def _in_several(copies: Array, places: Array) -> int:
    """Count the instances whose copies lie in more than one place."""
    pairs = np.unique(np.column_stack([copies, places]), axis=0)
    times = np.bincount(pairs[:, 0])
    return int(np.sum(times[copies] > 1))


def _counters(bags: Bags) -> list[int]:
    """Return the features that are 0, 1, 2, ... or 1, 2, 3, ... in every bag, in any order."""
    first = bags[: bag_of_row(rows_per_block(bags.n_features), bags.offsets) + 1]  # of a block
    if sp.issparse(first.X) or first.sizes.max() < 2:
        return []
    X = np.asarray(first.X, dtype=np.float64)
    sizes, starts = first.sizes[:, None], first.offsets[:-1]
    low = np.minimum.reduceat(X, starts)
    sums, squares = (
        np.add.reduceat(X - low[:1], starts),
        np.add.reduceat((X - low[:1]) ** 2, starts),
    )
    numbers = (low == low[0]) & (sums == sizes * (sizes - 1) / 2)
    numbers &= squares == sizes * (sizes - 1) * (2 * sizes - 1) / 6
    return np.flatnonzero(numbers.all(axis=0) & np.isin(low[0], (0, 1))).tolist()
