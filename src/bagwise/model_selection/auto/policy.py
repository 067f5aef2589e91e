"""Which candidates run on which folds, and when the race is over.

1. The first fold: candidates in order of expected gain, in batches. After each batch the gains are
   estimated anew from what was seen. Those that usually cost much are tried only if they are
   expected to be worth it: the table knows few tasks, and what it expects may be wrong.
   Where the fold holds out only a few bags of a class, further folds belong to the first one.
2. Candidates that usually cost little go on to the other folds, of the others the better half by
   expected AUC, and the best of each family if it is not far behind; as far as the time allows.

Nothing here depends on the clock or the number of workers unless the time limit is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bagwise._typing import Array
from bagwise.model_selection.auto.blend import area
from bagwise.model_selection.auto.expected import (
    expected_areas,
    expected_gains,
    in_order,
    usual_seconds,
)
from bagwise.model_selection.auto.race import Deadline, Track, Trial

_BATCH = 8  # candidates between two estimates of the gains
_MODEST = 0.5  # seconds of a fit, on tasks of about 100 bags: what costs no more is tried
_WORTH = 0.002  # AUC: what costs more is tried if it is expected to add as much to the best,
_BESIDE = 0.1  # or not to be further behind: ensembles live from variety
_KEPT = 0.5  # of the costly candidates go on after the first folds
_CHEAP = 0.1  # seconds of a fit, on tasks of about 100 bags: less is not worth a decision
_BEHIND = 0.05  # AUC: how far the best of a family may be behind and still go on
_FIRST = 0.3  # of the time may go into what comes before the choice
_FEW = 6  # held-out bags of a class: the AUC of fewer has a standard deviation above 0.1


@dataclass(frozen=True)
class First:
    """The folds before the choice: how many they are, and what a candidate did there.

    ``n_bags`` is the number of bags, half of them positive, that would say as much.
    """

    n_folds: int
    n_bags: float
    score: Callable[[Trial], float]


def first_folds(track: Track, truth: Array, columns: Callable[[Array], Array]) -> First:
    """Return the folds before the choice; ``truth`` has a column per class, or one for two."""

    def score(trial: Trial) -> float:
        tests = {fold: track.splits[fold][1] for fold in trial.cells}
        areas = [
            area(columns(trial.cells[fold]), truth[test], track.weight[test])
            for fold, test in tests.items()
        ]
        return float(np.mean(areas))

    n_positive = np.cumsum([truth[test].sum(axis=0) for _, test in track.splits], axis=0)
    n_bags = np.cumsum([len(test) for _, test in track.splits])[:, None]
    n_rarest = np.minimum(n_positive, n_bags - n_positive).min(axis=1)
    n_folds = min(int(np.searchsorted(n_rarest, _FEW)) + 1, len(track.splits))
    worth = 4 * n_positive * (n_bags - n_positive) / n_bags  # that of a balanced sample
    return First(n_folds, max(1.0, float(worth[n_folds - 1].min())), score)


def run(track: Track, trials: Sequence[Trial], first: First) -> None:
    """Run the race."""
    seen = _first_folds(track, trials, first)
    if not seen:
        return
    kept = _better_half([trial for trial in trials if trial.name in seen], seen, first.n_bags)
    track.run(track.affordable(kept), range(first.n_folds, len(track.splits)), track.deadline)


def _first_folds(track: Track, trials: Sequence[Trial], first: First) -> dict[str, float]:
    by_name = {trial.name: trial for trial in trials}
    left, seen = in_order(list(by_name)), dict[str, float]()
    early = Deadline.after(_FIRST * track.deadline.left)
    while left:
        batch = [by_name[name] for name in left[:_BATCH]]
        track.run(batch, range(first.n_folds), early if seen else track.deadline)
        seen |= {trial.name: first.score(trial) for trial in batch if trial.cells}
        left = _worth_trying(left[_BATCH:], seen, first.n_bags)
    return seen


def _worth_trying(left: list[str], seen: dict[str, float], n_bags: float) -> list[str]:
    """Return candidates that cost little or may be among the best, by expected gain."""
    if not seen:
        return left
    gains, areas = expected_gains(seen, left), expected_areas(seen, n_bags, [*seen, *left])
    best = max(areas[name] for name in seen)
    hopeful = {n for n in left if gains[n] > _WORTH or areas[n] > best - _BESIDE}
    worth = [n for n in left if n in hopeful or usual_seconds(n) <= _MODEST]
    return sorted(worth, key=lambda name: -gains[name])


def _better_half(trials: list[Trial], seen: dict[str, float], n_bags: float) -> list[Trial]:
    expected = expected_areas(seen, n_bags, list(seen))
    order = sorted(trials, key=lambda trial: -expected[trial.name])
    costly = [trial for trial in order if usual_seconds(trial.name) > _CHEAP]
    out = costly[int(np.ceil(_KEPT * len(costly))) :]
    for family in dict.fromkeys(trial.family for trial in order):
        best = next(trial for trial in order if trial.family == family)
        if best in out and expected[best.name] > expected[order[0].name] - _BEHIND:
            out.remove(best)
    return [trial for trial in order if trial not in out]
