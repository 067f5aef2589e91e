"""Several starts of a procedure: the lowest objective is kept, and all that is known about it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from bagwise._typing import Array
from bagwise.procedures.run import Run


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
