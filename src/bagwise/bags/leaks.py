"""Features that may give the label away without being about the instances: leaks.

All of it is suspicion, to be looked at and never acted on. Of large data a part is looked at: as
many instances of each bag as fit into one block.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from math import comb
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from bagwise._typing import Array
from bagwise.bags.arrays import feature_names
from bagwise.bags.bags import Bags
from bagwise.bags.segments import bag_index
from bagwise.errors import list_names
from bagwise.rowstores.base import count_rows, row_blocks

_SUSPICIOUS_AUC = 0.99  # of one feature alone; real ones hardly reach it on real data
FEWEST = 3  # bags that must differ from the others: fewer are coincidence


class Leak(NamedTuple):
    """A reason to distrust some features, or, without features, some instances."""

    reason: str
    features: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.reason}: {list_names(self.features)}" if self.features else self.reason


class _Sample(NamedTuple):
    """Some instances of each bag: dense rows, where bags begin, and what is known of them."""

    X: Array
    starts: Array
    bag: Array  # the bag of each row
    rows: Array  # their numbers among all rows

    @classmethod
    def draw(cls, bags: Bags) -> _Sample:
        """Take evenly spaced instances of each bag, and evenly spaced bags where they are many."""
        at_once = count_rows(8 * bags.n_features)
        chosen = np.arange(0, len(bags), max(1, -(-2 * len(bags) // at_once)))
        sizes = np.minimum(bags.sizes[chosen], max(2, at_once // len(chosen)))
        starts = np.cumsum(sizes) - sizes
        bag = np.repeat(np.arange(len(chosen)), sizes)
        place = (np.arange(len(bag)) - starts[bag]) * bags.sizes[chosen][bag] // sizes[bag]
        rows = bags.offsets[chosen][bag] + place
        taken = bags.X[rows]
        X = taken.toarray() if sp.issparse(taken) else np.asarray(taken)
        return cls(X.astype(np.float64, copy=False), starts, chosen[bag], rows)

    def reduce(self, ufunc: np.ufunc) -> Array:
        """Return a reduction of every feature over the rows of every bag."""
        return ufunc.reduceat(self.X, self.starts)


def find_leaks(bags: Bags, y: Any = None) -> list[Leak]:
    """Return what may give labels away, as `Bags.check` describes."""
    sample = _Sample.draw(bags)
    names = feature_names(bags)
    found = [*_leaking_columns(sample, bags, None if y is None else np.asarray(y))]
    leaks = [
        Leak(reason, tuple(str(names[j]) for j in np.flatnonzero(columns)))
        for reason, columns in found
        if columns.any()
    ]
    return leaks if y is None else leaks + _copies_across_labels(bags, np.asarray(y))


def _leaking_columns(sample: _Sample, bags: Bags, y: Array | None) -> Iterator[tuple[str, Array]]:
    """Yield reasons, and the features that each of them holds for."""
    low, high = sample.reduce(np.fmin), sample.reduce(np.fmax)
    of_bag = _is_constant_in_bags(sample, low, high)
    yield "Constant within every bag, so about the bag and not its instances", of_bag
    if bags.instance_labels is not None:
        of_rows = np.asarray(bags.instance_labels)[sample.rows]
        yield "Equal to the labels of instances", _equals_labels(sample.X, of_rows)
    if y is not None:
        known = _equals_labels(sample.X, y[sample.bag])
        yield "Equal to the labels of bags", known
        ranks = _ranks_bags(sample, low, high, y[sample.bag[sample.starts]]) & ~known
        yield f"Alone enough to rank the bags (AUC above {_SUSPICIOUS_AUC})", ranks
    yield "Rising or falling with the row number", _follows(sample.X) & ~of_bag
    if bags.has_instance_ids:
        order = _sort_numbers(bags.instance_ids[sample.rows])
        yield "Rising or falling with the instance id", _follows(sample.X[order])
    if bags.has_ids:
        order = _sort_numbers(bags.ids[sample.bag[sample.starts]])
        yield "Rising or falling with the bag id", _follows(low[order])


def _sort_numbers(ids: Array) -> Array:
    """Return the order of ids that are numbers; of others none."""
    return np.argsort(ids, kind="stable") if ids.dtype.kind in "iuf" else np.arange(0)


def _is_constant_in_bags(sample: _Sample, low: Array, high: Array) -> Array:
    """Return the features with one value per bag that differ between bags of several instances."""
    several = np.diff(np.append(sample.starts, len(sample.X))) > 1
    values = low[several]
    if len(values) < FEWEST:
        return np.zeros(low.shape[1], dtype=bool)
    middle = np.sort(values, axis=0)[len(values) // 2]
    return np.all(low == high, axis=0) & (np.sum(values != middle, axis=0) >= FEWEST)


def _equals_labels(X: Array, labels: Array) -> Array:
    """Return the features that have one value per label, another one for each."""
    classes = np.unique(labels)
    low, high = (
        np.array([ufunc.reduce(X[labels == each]) for each in classes])
        for ufunc in (np.fmin, np.fmax)
    )
    differ = np.all(np.diff(np.sort(low, axis=0), axis=0) > 0, axis=0)
    return np.all(low == high, axis=0) & differ & (len(classes) > 1)


def _ranks_bags(sample: _Sample, low: Array, high: Array, y: Array) -> Array:
    """Return the features whose smallest, mean or largest value ranks one class first or last."""
    sizes = np.diff(np.append(sample.starts, len(sample.X)))
    statistics = (low, sample.reduce(np.add) / sizes[:, None], high)
    ranks = [rankdata(values, axis=0) for values in statistics]
    suspicious = np.zeros(low.shape[1], dtype=bool)
    classes, counts = np.unique(y, return_counts=True)
    for label, n_own in zip(classes.tolist(), counts.tolist(), strict=True):
        n_tried = 2 * len(ranks) * low.shape[1] * len(classes)
        if comb(len(y), n_own) < 100 * n_tried:  # some feature might do it by chance
            continue
        for rank in ranks:
            wins = rank[y == label].sum(axis=0) - n_own * (n_own + 1) / 2
            auc = wins / (n_own * (len(y) - n_own))
            suspicious |= np.maximum(auc, 1 - auc) > _SUSPICIOUS_AUC
    return suspicious


def _follows(X: Array) -> Array:
    """Return the features that rise, or fall, from row to row; at most every other may rest."""
    steps = np.diff(X, axis=0)
    moves = 2 * np.count_nonzero(steps, axis=0) >= len(steps)
    in_order = np.all(steps >= 0, axis=0) | np.all(steps <= 0, axis=0)
    return in_order & moves & (len(X) > 10)


def _copies_across_labels(bags: Bags, y: Array) -> list[Leak]:

    count = count_shared(row_codes(bags), np.unique(y, return_inverse=True)[1], bags)
    return [Leak(f"{count:,} instances are in bags of different labels")] if count else []


def count_shared(codes: Array, places: Array, bags: Bags) -> int:
    """Count the instances whose copies (equal codes) lie in bags of several places."""
    pairs = np.unique(np.column_stack([codes, places[bag_index(bags.offsets)]]), axis=0)
    return int(np.sum(np.bincount(pairs[:, 0])[codes] > 1))


def fingerprints(bags: Bags) -> Array:
    """Return the CRC-32 of each bag's instances; equal bags of one data type have equal numbers."""
    prints = np.empty(len(bags), dtype=np.uint32)
    for i, rows in enumerate(bags):
        parts = (rows.data, rows.indices) if sp.issparse(rows) else (np.ascontiguousarray(rows),)
        value = len(rows.data) if sp.issparse(rows) else 0
        for part in parts:
            value = zlib.crc32(part.astype(np.float64).tobytes(), value)
        prints[i] = value
    return prints


def row_codes(bags: Bags) -> Array:
    """Return a number per instance; equal instances have equal numbers, others hardly ever."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 2**63, size=bags.n_features, dtype=np.uint64) | np.uint64(1)
    sums = np.empty(bags.n_instances, dtype=np.uint64)
    for some in row_blocks(bags.n_instances, 8 * bags.n_features):
        rows = bags.X[some]
        dense = rows.toarray() if sp.issparse(rows) else np.asarray(rows)
        block = np.ascontiguousarray(dense) + dense.dtype.type(0)  # -0 equals 0
        bits = block.view(f"u{block.itemsize}").astype(np.uint64)
        sums[some] = (bits * factors).sum(axis=1, dtype=np.uint64)
    return np.unique(sums, return_inverse=True)[1]


def pack_prints(prints: Array) -> str:
    """Return fingerprints as a text, for a model file."""
    return np.sort(prints).astype(">u4").tobytes().hex()


def unpack_prints(text: str) -> Array:
    """Return the fingerprints that `packed` wrote."""
    return np.frombuffer(bytes.fromhex(text), dtype=">u4")
