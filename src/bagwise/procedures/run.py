"""`Run`, which every outer loop returns, the `Journal` that it keeps, and the lowest of several."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from bagwise._typing import Array

Callback = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Run:
    """The result of an outer loop, and its iterations.

    Attributes
    ----------
    solution : Solution, Point or SaddlePoint
        The solution of the last convex problem that was accepted.
    assignment : ndarray or Saddle
        What that problem was built from: weights of instances, witnesses, or a pool of assignments;
        None if there is no such thing.
    history : list of dict
        One record per iteration.
    converged : bool
        False only when a bound on the number of iterations ended the loop.
    starts : list of dict
        Objective, gap and iterations of every start, where there were several.
    stability : ndarray of shape (n_bags,) or None
        How well the other starts agree with this run about the positives of each bag.
    """

    solution: Any
    assignment: Any
    history: list[dict[str, Any]]
    converged: bool
    starts: list[dict[str, Any]] = field(default_factory=list)
    stability: Any = None


class Journal:
    """Collects one record per iteration and passes it to a callback."""

    def __init__(self, callback: Callback | None) -> None:
        self.records: list[dict[str, Any]] = []
        self._callback, self._began = callback, perf_counter()

    def add(self, **record: Any) -> dict[str, Any]:
        """Append a record with the seconds since the start, and return it."""
        record["seconds"] = perf_counter() - self._began
        self.records.append(record)
        if self._callback is not None:
            self._callback(record)
        return record


def keep_lowest(runs: Iterable[Run], offsets: Array, positive: Array) -> Run:
    """Keep the run with the lowest objective, with a record of all starts.

    The assignments of the runs are weights of all instances. The record has ``starts`` and
    ``stability``: for each positive bag, the mean overlap (Jaccard index) of the positive instances
    of the other starts with those of the one that is kept. NaN for other bags.
    """
    kept: Run | None = None
    records, found = [], []
    for number, run in enumerate(runs):
        solution = run.solution
        record = {"start": number, "objective": solution.objective, "gap": solution.gap}
        records.append({**record, "n_iter": len(run.history)})
        found.append(np.asarray(run.assignment) >= 0.5)
        if kept is None or solution.objective < kept.solution.objective:
            kept, best = run, number
    assert kept is not None  # n_init >= 1
    others = [one for number, one in enumerate(found) if number != best]
    stability = np.full(len(positive), np.nan)
    if others:
        overlaps = [_overlap(found[best], one, offsets) for one in others]
        stability[positive] = np.mean(overlaps, axis=0)[positive]
    return replace(kept, starts=records, stability=stability)


def _overlap(one: Array, other: Array, offsets: Array) -> Array:
    """Return the Jaccard index of two sets of instances in every bag; 1 where both are empty."""
    both = np.add.reduceat(1.0 * (one & other), offsets[:-1])
    either = np.add.reduceat(1.0 * (one | other), offsets[:-1])
    return np.divide(both, either, out=np.ones_like(both), where=either > 0)
