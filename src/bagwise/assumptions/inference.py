"""Exact inference and exact posteriors under a count potential.

`CountInference` finds the best labeling of a bag, and `CountPosterior` sums over all 2^m of them.
With scores s and the potential C_w, a bag as a negative (side 0) or positive one (side 1) has

    Z_side = sum_y exp(sum_i y_i s_i + C_w(sum_i y_i, side)) = sum_k e_k(exp s) exp C_w(k, side),

e_k the elementary symmetric polynomials. A tree of products of polynomials gives the likely ones of
them, O(sqrt n) in a node of n instances, and its reverse pass every P(y_i = 1 | side) =
d log Z / d s_i (`bagwise.assumptions._posterior`). That costs O(m log m), and up to O(m^2) where
the potential prefers counts that the scores make unlikely by hundreds of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions.count import (
    AtLeastPotential,
    CountPotential,
    FreePotential,
    OwnPotential,
    as_potential,
)
from bagwise.bags.segments import expand


@dataclass(frozen=True)
class BestLabelings:
    """The best labelings of every bag as a negative bag (side 0) and as a positive bag (side 1).

    All arrays have shape (n_models, 2, n_bags). The positives are the scores above the cut and the
    first ``quota`` of those equal to it.
    """

    value: Array  # maximum of the sum of positive instances' scores plus the potential
    count: Array  # number of positive instances in the maximizer
    cut: Array
    quota: Array


class CountInference:
    """The inference problems of one set of bags under one potential (Eqs. 18-21).

    Parameters
    ----------
    potential : CountPotential, or object with a method ``table(size)``
        The potential.
    offsets : ndarray of int of shape (n_bags + 1,)
        Where each bag starts.
    kinds : ndarray of int of shape (1 or n_models, n_bags, 3), default=None
        For bags without their known instances: the size of the whole bag, its number of known
        positives, and how many instances are unknown. A bag that is all known consists of one
        instance that never counts.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, CountInference
    >>> inference = CountInference(AtLeastPotential(positive_fraction=0.5), np.array([0, 4]))
    >>> best = inference.best(np.array([[3.0, -1.0, -2.0, -4.0]]), np.zeros((1, 2)))
    >>> best.value[0, :, 0].tolist(), best.count[0, :, 0].tolist()
    ([3.0, 2.0], [1, 2])
    """

    def __init__(self, potential: Any, offsets: Array, kinds: Array | None = None) -> None:
        self.potential = potential = as_potential(potential)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        self.n_bags, self.kinds = len(offsets) - 1, kinds
        self._work: BestLabelings | None = None
        self.at_least_one = (  # which needs no sorting
            isinstance(potential, AtLeastPotential)
            and kinds is None
            and bool(np.all(potential.least(self.offsets) == 1))
        )
        if not self.at_least_one:
            sizes = np.diff(self.offsets)[None] if kinds is None else kinds
            flat = flat_tables(potential, sizes.reshape(-1, *sizes.shape[2:]))
            self.start, self.table, self.bins = flat[0].reshape(-1, self.n_bags), *flat[1:]

    def bins_allowed_by(self, other: CountPotential) -> Array:
        """Return which learned weights have a count that another potential allows, too.

        The result has shape (2, n_weights): one row for negative and one for positive bags.
        """
        found = np.zeros((2, self.potential.n_weights + 1), dtype=bool)
        sizes = np.diff(self.offsets) if self.kinds is None else self.kinds[0, :, 0]
        for size in np.unique(sizes).tolist():
            bins, table = _check_bins(self.potential, size), _check_table(self.potential, size)
            possible = np.isfinite(other.table(size)) & np.isfinite(table)
            for side in range(2):
                found[side, bins[side, possible[side]]] = True
        return found[:, :-1]

    def best(
        self, scores: Array, weights: Array, out: BestLabelings | None = None
    ) -> BestLabelings:
        """Return the best labelings of all bags.

        ``scores`` (n_models, n_instances), float64, are what an instance adds if it is positive,
        and ``weights`` (n_models, n_weights) the learned weights of the potential. ``out`` is an
        earlier result to overwrite: with many small bags, allocating memory takes longer than the
        inference.
        """
        from bagwise.assumptions import _inference as kernels

        out = self._empty(len(scores)) if out is None else out
        found = (out.value, out.count, out.cut, out.quota)
        if self.at_least_one:
            kernels.at_least_one(scores, self.offsets, weights, *found)
        else:
            rising = self._sort_large_bags(scores, kernels.INSERTION)
            tables = (self.start, self.table, self.bins)
            kernels.by_table(rising, self.offsets, *tables, weights, *found)
        return out

    def best_counts(self, scores: Array, weights: Array) -> tuple[Array, Array]:
        """Return value and count of the best labelings for the scores of one model."""
        best = self.best(scores[None], weights[None])
        return best.value[0], best.count[0]

    def values(self, scores: Array, weights: Array) -> Array:
        """Return the values of the best labelings alone."""
        fits = self._work is not None and len(self._work.value) == len(scores)
        self._work = best = self.best(scores, weights, out=self._work if fits else None)
        return best.value

    def _empty(self, n_models: int) -> BestLabelings:
        kinds = (np.float64, np.int32, np.float64, np.int32)
        return BestLabelings(*(np.empty((n_models, 2, self.n_bags), kind) for kind in kinds))

    def _sort_large_bags(self, scores: Array, small: int) -> Array:
        rising = scores.copy()
        large = np.flatnonzero(np.diff(self.offsets) > small)
        for begin, end in zip(self.offsets[large], self.offsets[large + 1], strict=True):
            rising[:, begin:end].sort(axis=1)
        return rising

    def positives(self, scores: Array, best: BestLabelings, amount: Array) -> Array:
        """Return the derivative of sum(amount * best.value) in the scores of ``best``.

        ``amount`` has shape (n_models, 2, n_bags), the result that of ``scores``.
        """
        from bagwise.assumptions import _inference as kernels

        out = np.zeros(scores.shape)
        kernels.mark(scores, self.offsets, best.cut, best.quota, amount, out)
        return out

    def bin_sums(self, best: BestLabelings, amount: Array) -> Array:
        """Return the derivative of sum(amount * best.value) in the learned weights."""
        if self.at_least_one:
            return amount.sum(axis=2)
        entry = self.start[:, None] + best.count  # (n_models, 2, n_bags)
        bins = self.bins[np.array([[0], [1]]), entry]
        width = self.potential.n_weights + 1  # the last one: no bin
        pairs = zip(bins % width, amount, strict=True)
        return np.stack([np.bincount(b.ravel(), a.ravel(), width)[:-1] for b, a in pairs])


@dataclass(frozen=True)
class Posteriors:
    """Sums over the labelings of every bag as a negative bag (side 0) and as a positive one (1)."""

    log_sum: Array  # log Z, (n_models, 2, n_bags)
    marginals: Array  # P(y_i = 1 | side), (n_models, 2, n_instances)


class CountPosterior:
    """The sums over labelings of one set of bags under one potential.

    Parameters
    ----------
    potential : CountPotential, or object with a method ``table(size)``
        The potential.
    offsets : ndarray of int of shape (n_bags + 1,)
        Where each bag starts.

    Examples
    --------
    A bag of two instances with score 0: as a positive bag it has three possible labelings.

    >>> import numpy as np
    >>> from bagwise.assumptions import AtLeastPotential, CountPosterior
    >>> posterior = CountPosterior(AtLeastPotential(), np.array([0, 2]))
    >>> found = posterior.of(np.zeros((1, 2)), np.zeros((1, 2)))
    >>> np.exp(found.log_sum[0, :, 0]).round(6).tolist()
    [1.0, 3.0]
    >>> found.marginals[0, 1].round(4).tolist()
    [0.6667, 0.6667]
    """

    def __init__(self, potential: Any, offsets: Array) -> None:
        self.potential = as_potential(potential)
        self.offsets = np.ascontiguousarray(offsets, dtype=np.int64)
        flat = flat_tables(self.potential, np.diff(self.offsets))
        self.start, self.table, self.bins = flat

    @classmethod
    def of_known_counts(cls, counts: Array, offsets: Array) -> CountPosterior:
        """Return sums in which side 1 is a bag with a known count, and side 0 any labeling.

        The difference of the two sums is the log of P(count), labels being independent.
        """
        self = cls(FreePotential(), offsets)
        sizes = np.diff(self.offsets)
        self.start = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
        self.table = np.zeros((2, int((sizes + 1).sum())))
        self.table[1] = -np.inf
        self.table[1, self.start + counts] = 0.0
        self.bins = np.full(self.table.shape, -1)
        return self

    def of(self, scores: Array, weights: Array, *, marginals: bool = True) -> Posteriors:
        """Return the sums over labelings, and unless told otherwise the posteriors.

        Scores and weights are those of `CountInference.best`. Without ``marginals`` only
        ``log_sum`` is computed.
        """
        from bagwise.assumptions._posterior import sum_labelings

        n_models = len(scores)
        learned = np.hstack([weights, np.zeros((n_models, 1))])  # bin -1: no weight
        potential = self.table + learned[:, self.bins]  # (n_models, 2, entries)
        found = Posteriors(
            np.empty((n_models, 2, len(self.start))),
            np.empty((n_models, 2, scores.shape[1] if marginals else 0)),
        )
        filled = found.log_sum, found.marginals
        sum_labelings(np.ascontiguousarray(scores), self.offsets, self.start, potential, *filled)
        return found

    def instance_slopes(self, found: Posteriors, amount: Array) -> Array:
        """Return the derivative of sum(amount * log_sum) in the scores.

        ``amount`` has shape (n_models, 2, n_bags), the result that of the scores. With bag
        probabilities as amounts, these are the instances' posteriors.
        """
        of_rows = [expand(amount[:, side].T, self.offsets).T for side in range(2)]
        return found.marginals[:, 0] * of_rows[0] + found.marginals[:, 1] * of_rows[1]


def flat_tables(potential: CountPotential, sizes: Array) -> tuple[Array, Array, Array]:
    """Return each bag's start in the tables of all sizes side by side, the tables, the bins.

    Rows of three numbers in place of sizes are kinds, as in `CountInference`.
    """
    axis = None if sizes.ndim == 1 else 0
    distinct, which = np.unique(sizes, axis=axis, return_inverse=True)
    kinds = [(size, 0, size) if axis is None else size for size in distinct.tolist()]
    tables, bins = zip(*(_table_of(potential, *kind) for kind in kinds), strict=True)
    start = np.cumsum([0, *(table.shape[1] for table in tables[:-1])])
    return start[which.ravel()], np.hstack(tables), np.hstack(bins)


def _table_of(potential: CountPotential, size: int, first: int, free: int) -> tuple[Array, Array]:
    """Return table and bins of the counts from the known positives on."""
    counts = slice(first, first + free + 1)
    table, bins = _check_table(potential, size)[:, counts], _check_bins(potential, size)[:, counts]
    if free:
        return table, bins
    return np.insert(table, 1, -np.inf, axis=1), np.insert(bins, 1, -1, axis=1)


def _check_table(potential: CountPotential, size: int) -> Array:
    name = f"{_name(potential)}.table({size})"
    expected = (
        f"expected (2, {size + 1}): one row for negative and one for positive bags, one column per "
        "count, starting at 0."
    )
    given = potential.table(size)
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of real numbers ({error}), {expected}") from error
    if table.shape != (2, size + 1):
        raise ValueError(f"{name} has shape {table.shape}, {expected}")
    bad = np.argwhere(np.isnan(table) | (table == np.inf))
    if len(bad):
        side, count = bad[0]
        raise ValueError(
            f"{name} is {table[side, count]} at row {side}, count {count}: use finite numbers, or "
            "-inf for an impossible count."
        )
    for side, label in enumerate(("negative", "positive")):
        if np.all(np.isneginf(table[side])):
            raise ValueError(f"{name} forbids every count of a {label} bag: allow at least one.")
    return table


def _check_bins(potential: CountPotential, size: int) -> Array:
    bins = np.asarray(potential.bins(size))
    name = f"{_name(potential)}.bins({size})"
    if bins.shape != (2, size + 1) or bins.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers in shape (2, {size + 1}).")
    if bins.min() < -1 or bins.max() >= potential.n_weights:
        raise ValueError(
            f"{name} must lie between -1 (no weight) and n_weights - 1 = {potential.n_weights - 1}."
        )
    return bins.astype(np.int64)


def _name(potential: CountPotential) -> str:
    rule = potential.rule if isinstance(potential, OwnPotential) else potential
    return type(rule).__name__
