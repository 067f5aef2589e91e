"""Grow a pool of key-instance assignments until none outside it matters (column generation).

Zhang & Jin's (2020) relaxation weighs all assignments: 10^28 of them on musk1. The saddle problem
is solved over a pool, and the most violated assignment is added to it: the one with the largest
|w_A|^2 = |sum_i beta_i psi_i(A) + sum_neg beta psi|^2. That search does not separate into bags. It
is coordinate ascent, exact for each bag, from many starts (members of the pool, the highest scores,
and random ones). So the gap over the pool is certified; the gap over all assignments is a heuristic
one, found by the search. The loop ends only when at least a hundred random starts find nothing.

Several violated assignments enter the pool at a time, in place of those that lost their weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from bagwise._typing import Array
from bagwise.bags.segments import bag_index, expand, segment_argmax, segment_rank
from bagwise.procedures.run import Callback, Journal, Run
from bagwise.solvers.pool import Among, SaddlePoint
from bagwise.solvers.saddle import Saddle
from bagwise.tolerances import INNER, MAX_STEPS, TINY

RANDOM_STARTS = 100  # must all find nothing before the loop ends: a few could miss by chance
_AT_ONCE = 10  # starts of a kind, and assignments that enter: elephant takes 26 rounds with one
FINEST = 1e-8  # relative gap over the pool at the end
_SHARE_OF_GAP = 0.3  # of the heuristic gap: a solution over the pool to more digits is waste


@dataclass(frozen=True)
class Choices:
    """Which key instances can be chosen: ``n_witnesses`` per positive bag, all of a smaller one."""

    rows: Array  # the units in positive bags, bag after bag, (m,)
    offsets: Array  # where each bag starts within ``rows``, (p + 1,)
    n_units: int  # number of all units
    n_witnesses: int = 1

    @cached_property
    def counts(self) -> Array:
        """Number of key instances of each bag, min(n_witnesses, size)."""
        return np.minimum(self.n_witnesses, np.diff(self.offsets))

    @cached_property
    def slots(self) -> Array:
        """The bag of every slot; a bag has one slot per key instance."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def top(self, scores: Array) -> Array:
        """Return the instances of highest score (m,), one entry per slot."""
        wanted = expand(self.counts, self.offsets)
        return np.flatnonzero(segment_rank(scores, self.offsets) < wanted)

    def random(self, rng: np.random.RandomState, n_draws: int) -> Array:
        """Draw assignments uniformly, (n_draws, n_slots)."""
        drawn = rng.random_sample((n_draws, len(self.rows)))
        if self.n_witnesses == 1:  # many bags at once
            return self.offsets[:-1] + segment_argmax(drawn.T, self.offsets).T
        return np.stack([self.top(values) for values in drawn])

    def weights(self, chosen: Array) -> Any:
        """Return an assignment as rows over all units: the mean of each bag's key instances."""
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


def grow(
    saddle: Saddle,
    choices: Choices,
    start: Array,
    master: Callable[[Saddle, SaddlePoint | None, float], SaddlePoint],
    *,
    tol: float,
    max_columns: int,
    max_iter: int = MAX_STEPS,
    random_state: np.random.RandomState,
    callback: Callback | None = None,
    center: tuple[Saddle, SaddlePoint] | None = None,
) -> Run:
    """Solve the relaxation over a growing pool; return the saddle point and the problem with it.

    ``saddle`` has no columns, ``start`` is the first assignment, and ``master(saddle, last_point,
    tol)`` solves the problem over the pool to a relative gap. ``tol`` is the maximum heuristic gap,
    relative to the objective. ``center`` is another problem with the same rows, and its solution:
    what it violates enters the pool first. Where positive bags are their means, it is near the
    middle of all assignments. ``converged`` is False only when ``max_columns`` or
    ``max_iter``, the maximum number of rounds, ended the loop.
    """
    kernel, journal = saddle.among(choices.rows), Journal(callback)
    pool, point, precision = _Pool(saddle, choices), None, 1.0
    pool.add(start[None])
    if center is not None:
        some = np.concatenate([start[None], choices.random(random_state, _AT_ONCE)])
        found, _ = _search(center[0], choices, kernel, center[1], some)
        pool.add(found[: max_columns - 1])
    while True:
        # 1) Solve over the pool, as exactly as what it lacks justifies.
        point = master(pool.saddle, point, precision)
        # 2) Search for what it lacks.
        few = _starts(pool, point, random_state)
        found, gap = _search(pool.saddle, choices, kernel, point, few)
        full = bool(np.count_nonzero(pool.needed(point)) >= max_columns)
        full, searched = full or len(journal.records) + 1 >= max_iter, len(few)
        if full or pool.has(found[0]) or gap <= tol * point.upper:
            if precision > FINEST:  # what looks like the end must hold at a solution
                precision = INNER * tol if precision > INNER * tol > FINEST else FINEST
                continue
            many = choices.random(random_state, RANDOM_STARTS)
            other, other_gap = _search(pool.saddle, choices, kernel, point, many)
            found, gap = (other, other_gap) if other_gap > gap else (found, gap)
            searched += RANDOM_STARTS
        journal.add(
            objective=point.upper,
            gap=point.gap,
            heuristic_gap=gap,
            n_columns=len(pool.members),
            n_searches=searched,
            solver_steps=point.n_iter,
            **point.counts,
            **margin_moments(pool.saddle, point.scores),
        )
        converged = pool.has(found[0]) or gap <= tol * point.upper
        if full or converged:
            return Run(point, pool.saddle, journal.records, converged)
        # 3) Add it in place of what has no weight.
        point = pool.drop(point)
        pool.add(found[: max_columns - len(pool.members)])
        precision = max(_SHARE_OF_GAP * gap / max(point.upper, TINY), FINEST)


class _Pool:
    """The assignments that a saddle problem has as its columns.

    One that was dropped and comes back stays: the loop could go round in circles otherwise.
    """

    def __init__(self, saddle: Saddle, choices: Choices) -> None:
        self.saddle, self.choices = saddle, choices
        self.members, self._returned = list[Array](), list[bool]()
        self._dropped = set[bytes]()

    def has(self, chosen: Array) -> bool:
        return any(np.array_equal(chosen, known) for known in self.members)

    def add(self, found: Array) -> None:
        new = [chosen for chosen in found if not self.has(chosen)]
        if new:
            self.saddle = self.saddle.with_columns([self.choices.weights(c) for c in new])
        self.members += new
        self._returned += [chosen.tobytes() in self._dropped for chosen in new]

    def needed(self, point: SaddlePoint) -> Array:
        """Return which members have weight or stay for good."""
        return (point.v > 0) | np.array(self._returned)

    def drop(self, point: SaddlePoint) -> SaddlePoint:
        """Drop what is not needed; return the same point over what is left."""
        kept = self.needed(point)
        if kept.all():
            return point
        self._dropped |= {self.members[k].tobytes() for k in np.flatnonzero(~kept)}
        self.members = [self.members[k] for k in np.flatnonzero(kept)]
        self._returned = [self._returned[k] for k in np.flatnonzero(kept)]
        self.saddle = self.saddle.part(kept)
        return replace(point, v=point.v[kept])


def _starts(pool: _Pool, point: SaddlePoint, random_state: np.random.RandomState) -> Array:
    choices = pool.choices
    highest = choices.top(pool.saddle.unit_scores(point)[choices.rows])
    violated = np.argsort(-point.norms, kind="stable")[:_AT_ONCE]
    known = [pool.members[k] for k in violated]
    return np.concatenate([known, [highest], choices.random(random_state, _AT_ONCE)])


def _search(
    saddle: Saddle, choices: Choices, among: Among, point: SaddlePoint, starts: Array
) -> tuple[Array, float]:
    """Return violated assignments, the most violated one first, and the gap that it proves."""
    of_bags, negatives = point.beta[: saddle.n_bags], point.beta[saddle.n_bags :]
    by_matrix = saddle.pull(point.beta)
    # What the explicit features reach without the key instances, seen from around them.
    mean = saddle.assignment(point.v)[:, choices.rows] @ among.around
    rest = point.reach @ point.v - of_bags @ mean
    pull = by_matrix[choices.rows] + among.around @ rest
    found, values = search_violated(among.kernel, pull, of_bags, choices, starts)
    norms = values + float(negatives @ by_matrix[saddle.negatives] + rest @ rest)
    largest = max(float(norms[0]), float(point.norms.max()))
    useful = max(1, np.count_nonzero(norms > point.norms @ point.v))  # they are sorted
    gap = max(float(point.upper + 0.5 * largest + saddle.conjugate(point.beta)), 0.0)
    return found[: min(useful, _AT_ONCE)], gap


def search_violated(
    kernel: Array, pull: Array, beta: Array, choices: Choices, starts: Array
) -> tuple[Array, Array]:
    """Search for assignments with a large |w_A|^2 by coordinate ascent from each start.

    ``kernel`` (m, m) is between the instances of positive bags; ``pull`` (m,) is what the rest
    contributes to their scores; ``beta`` (p,) are the bags' dual variables. Returns the different
    assignments found, the best first, and their |w_A|^2 without that of the rest.
    """
    from bagwise.procedures._ascent import ascend

    amount = (beta / choices.counts)[choices.slots]
    first, last = choices.offsets[choices.slots], choices.offsets[choices.slots + 1]
    ends = np.cumsum(choices.counts)
    mates = np.stack([ends - choices.counts, ends], axis=1)[choices.slots]
    scores, found, values = np.empty(len(pull)), starts.copy(), np.empty(len(starts))
    for chosen, i in zip(found, range(len(starts)), strict=True):
        ascend(kernel, pull, amount, first, last, mates, chosen, scores, MAX_STEPS)
        values[i] = amount @ (scores[chosen] + pull[chosen])
    order = np.argsort(-values, kind="stable")
    _, first_of_equals = np.unique(found[order], axis=0, return_index=True)
    best = order[np.sort(first_of_equals)]
    return found[best], values[best]


def margin_moments(saddle: Saddle, scores: Array) -> dict[str, float]:
    """Return mean and variance of the rows' margins, weighted as in the objective."""
    margins = saddle.sign * scores
    mean = np.average(margins, weights=saddle.weight)
    variance = np.average((margins - mean) ** 2, weights=saddle.weight)
    return {"margin_mean": float(mean), "margin_variance": float(variance)}
