"""Grow a pool of key-instance assignments until none outside it matters (column generation).

Zhang & Jin's (2020) relaxation weighs all assignments: 10^28 of them on musk1. The saddle problem
is solved over a pool, and the pool takes in the assignment that violates most, the one of largest
|w_A|^2 = |sum_i beta_i psi_i(A) + sum_neg beta psi|^2. That search does not fall apart into bags:
it is coordinate ascent, exact bag by bag, from many starts (members of the pool, the highest
scores, and random ones). So the gap over the pool is certified, the gap over all assignments is
what the search could find: a heuristic. The loop ends only when at least a hundred random starts
have found nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bagwise.segments import bag_index, expand, segment_rank
from bagwise.solvers.saddle import Saddle, SaddlePoint

__all__ = ["Choices", "Growth", "grow", "margin_moments", "most_violated"]

Array = NDArray[Any]

RANDOM_STARTS = 100  # that must find nothing before the end is declared
_FEW_STARTS = 10
_SWEEPS = 1000


@dataclass(frozen=True)
class Choices:
    """How key instances may be chosen: ``k`` in each positive bag, all of a smaller one.

    Attributes
    ----------
    rows : ndarray of int of shape (m,)
        The units that belong to positive bags, bag after bag.
    offsets : ndarray of int of shape (p + 1,)
        Where each bag starts within ``rows``.
    n_units : int
        Number of all units.
    k : int
        Key instances a bag.
    """

    rows: Array
    offsets: Array
    n_units: int
    k: int = 1

    @cached_property
    def counts(self) -> Array:
        """Key instances of each bag, min(k, size)."""
        return np.minimum(self.k, np.diff(self.offsets))

    @cached_property
    def slots(self) -> Array:
        """The bag of every slot; a bag has as many slots as key instances."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def top(self, scores: Array) -> Array:
        """Return the instances of highest score (m,), one entry a slot."""
        wanted = expand(self.counts, self.offsets)
        return np.flatnonzero(segment_rank(scores, self.offsets) < wanted)

    def random(self, rng: np.random.RandomState, n_draws: int) -> Array:
        """Draw assignments uniformly, (n_draws, n_slots)."""
        return np.stack([self.top(rng.random_sample(len(self.rows))) for _ in range(n_draws)])

    def weights(self, chosen: Array) -> Any:
        """Return an assignment as rows over all units: the mean of a bag's key instances."""
        share = 1.0 / self.counts[self.slots]
        shape = (len(self.counts), self.n_units)
        return sp.csr_array((share, (self.slots, self.rows[chosen])), shape=shape)

    def means(self) -> Any:
        """Return every bag as the mean of all its instances."""
        bags, sizes = bag_index(self.offsets), np.diff(self.offsets)
        shape = (len(sizes), self.n_units)
        return sp.csr_array((1.0 / sizes[bags], (bags, self.rows)), shape=shape)

    def means_of(self, values: Array, chosen: Array) -> Array:
        """Return the mean value of each bag's key instances."""
        return np.bincount(self.slots, values[chosen]) / self.counts


@dataclass(frozen=True)
class Growth:
    """Where the pool stopped growing."""

    saddle: Saddle
    point: SaddlePoint
    heuristic_gap: float
    history: list[dict[str, Any]]
    converged: bool


def grow(
    saddle: Saddle,
    choices: Choices,
    start: Array,
    master: Callable[[Saddle, SaddlePoint | None], SaddlePoint],
    *,
    tol: float,
    max_columns: int,
    random_state: np.random.RandomState,
    callback: Callable[[dict[str, Any]], None] | None = None,
) -> Growth:
    """Solve the relaxation over a growing pool.

    Parameters
    ----------
    saddle : Saddle
        Without columns.
    choices : Choices
        What an assignment may choose.
    start : ndarray of int of shape (n_slots,)
        The first assignment.
    master : callable
        ``master(saddle, last_point)`` solves the problem over the pool.
    tol : float
        Heuristic gap to stop at, relative to the objective.
    max_columns : int
        Largest pool.
    random_state : RandomState
        Draws the starts.
    callback : callable, default=None
        Called with each history record.

    Returns
    -------
    Growth
        ``converged`` is False only when ``max_columns`` ended it.
    """
    kernel = np.ascontiguousarray(saddle.K[np.ix_(choices.rows, choices.rows)])
    pool, point, history, began = [start], None, list[dict[str, Any]](), perf_counter()
    saddle = saddle.with_column(choices.weights(start))
    while True:
        point = master(saddle, point)
        few = _starts(saddle, choices, pool, point, random_state)
        best, gap = _search(saddle, choices, kernel, point, few)
        full = len(pool) >= max_columns
        searched = len(few)
        if full or _nothing_new(best, pool, gap <= tol * point.upper):
            many = choices.random(random_state, RANDOM_STARTS)
            other, other_gap = _search(saddle, choices, kernel, point, many)
            best, gap = (other, other_gap) if other_gap > gap else (best, gap)
            searched += RANDOM_STARTS
        history.append(_record(saddle, point, gap, searched, perf_counter() - began))
        if callback is not None:
            callback(history[-1])
        converged = _nothing_new(best, pool, gap <= tol * point.upper)
        if full or converged:
            return Growth(saddle, point, gap, history, converged)
        pool.append(best)
        saddle = saddle.with_column(choices.weights(best))


def _nothing_new(best: Array, pool: list[Array], closed: bool) -> bool:
    """Tell whether the gap is closed, or the worst violator known: then it is the master's gap."""
    return closed or any(np.array_equal(best, known) for known in pool)


def _starts(
    saddle: Saddle,
    choices: Choices,
    pool: list[Array],
    point: SaddlePoint,
    random_state: np.random.RandomState,
) -> Array:
    coef = saddle.coef(point)
    highest = choices.top((saddle.K @ coef)[choices.rows])
    return np.concatenate([pool, [highest], choices.random(random_state, _FEW_STARTS)])


def _search(
    saddle: Saddle, choices: Choices, kernel: Array, point: SaddlePoint, starts: Array
) -> tuple[Array, float]:
    """Return the most violated assignment found and the gap it proves there to be at least."""
    pull = saddle.pull(point.beta)
    of_bags, negatives = point.beta[: saddle.n_bags], point.beta[saddle.n_bags :]
    best, value = most_violated(kernel, pull[choices.rows], of_bags, choices, starts)
    largest = max(value + float(negatives @ pull[saddle.negatives]), _largest_in_pool(point))
    return best, max(point.upper + 0.5 * largest + saddle.conjugate(point.beta), 0.0)


def _largest_in_pool(point: SaddlePoint) -> float:
    return float((point.beta @ point.products).max())


def most_violated(
    kernel: Array, pull: Array, beta: Array, choices: Choices, starts: Array
) -> tuple[Array, float]:
    """Search the assignment of largest |w_A|^2 by coordinate ascent.

    Parameters
    ----------
    kernel : ndarray of shape (m, m)
        Kernel between the instances of positive bags, without the constant.
    pull : ndarray of shape (m,)
        The negatives' part of their scores.
    beta : ndarray of shape (p,)
        Dual variables of the positive bags.
    choices : Choices
        What an assignment may choose.
    starts : ndarray of int of shape (n_starts, n_slots)
        Where to start.

    Returns
    -------
    ndarray of int of shape (n_slots,)
        The best assignment found; of equal ones the first.
    float
        Its |w_A|^2 without the constant part |w_N|^2.
    """
    from bagwise.procedures._ascent import ascend

    amount = (beta / choices.counts)[choices.slots]
    first, last = choices.offsets[choices.slots], choices.offsets[choices.slots + 1]
    ends = np.cumsum(choices.counts)
    mates = np.stack([ends - choices.counts, ends], axis=1)[choices.slots]
    scores, found, values = np.empty(len(pull)), starts.copy(), np.empty(len(starts))
    for chosen, i in zip(found, range(len(starts)), strict=True):
        ascend(kernel, pull, amount, first, last, mates, chosen, scores, _SWEEPS)
        values[i] = amount @ (scores[chosen] + pull[chosen])
    best = int(np.argmax(values))
    return found[best], float(values[best])


def margin_moments(saddle: Saddle, scores: Array) -> dict[str, float]:
    """Return mean and variance of the rows' margins, weighted as in the objective."""
    margins = saddle.sign * scores
    mean = np.average(margins, weights=saddle.weight)
    variance = np.average((margins - mean) ** 2, weights=saddle.weight)
    return {"margin_mean": float(mean), "margin_variance": float(variance)}


def _record(
    saddle: Saddle, point: SaddlePoint, heuristic_gap: float, searched: int, seconds: float
) -> dict[str, Any]:
    return {
        "objective": point.upper,
        "gap": point.gap,
        "heuristic_gap": heuristic_gap,
        "n_columns": len(saddle.columns),
        "n_starts": searched,
        "solver_steps": point.n_iter,
        **point.counts,
        **margin_moments(saddle, point.scores),
        "seconds": seconds,
    }
