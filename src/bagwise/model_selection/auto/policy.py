"""Which candidates run on which folds, and when the race is over.

1. The first fold: candidates in order of expected gain, in batches. After each batch the gains are
   estimated anew from what was seen, and the race goes on while one is worth it.
2. Candidates that usually cost little go on to the other folds, of the others the better half by
   expected AUC, and the best of each family if it is not far behind; as far as the time allows.

Nothing here depends on the clock or the number of workers unless the time limit is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
_WORTH = 0.002  # AUC: candidates that are expected to add as much to the best are tried,
_BESIDE = 0.1  # and those that are not further behind: ensembles live from variety
_KEPT = 0.5  # of the costly candidates go on after the first fold
_CHEAP = 0.1  # seconds of a fit, on tasks of about 100 bags: less is not worth a decision
_BEHIND = 0.05  # AUC: how far the best of a family may be behind and still go on
_FIRST_FOLD = 0.3  # of the time may go into the first fold


def run(track: Track, trials: Sequence[Trial], score: Callable[[Trial], float]) -> None:
    """Run the race; ``score`` is a candidate's AUC on the first fold."""
    seen = _first_fold(track, trials, score)
    if not seen:
        return
    kept = _better_half([trial for trial in trials if trial.name in seen], seen, track)
    track.run(track.affordable(kept), range(1, len(track.splits)), track.deadline)


def first_area(
    track: Track, truth: Array, columns: Callable[[Array], Array]
) -> Callable[[Trial], float]:
    """Return the function that gives a candidate's AUC on the first fold."""
    test = track.splits[0][1]
    return lambda trial: area(columns(trial.cells[0]), truth[test], track.weight[test])


def _first_fold(
    track: Track, trials: Sequence[Trial], score: Callable[[Trial], float]
) -> dict[str, float]:
    by_name = {trial.name: trial for trial in trials}
    left, seen = in_order(list(by_name)), dict[str, float]()
    early = Deadline.after(_FIRST_FOLD * track.deadline.left)
    while left:
        batch = left[:_BATCH]
        track.run([by_name[name] for name in batch], [0], early if seen else track.deadline)
        seen |= {name: score(by_name[name]) for name in batch if by_name[name].cells}
        left = _worth_trying(left[_BATCH:], seen, len(track.splits[0][1]))
    return seen


def _worth_trying(left: list[str], seen: dict[str, float], n_bags: int) -> list[str]:
    """Return candidates that may add to the best or stand beside it, by expected gain."""
    if not seen:
        return left
    gains, areas = expected_gains(seen, left), expected_areas(seen, n_bags, [*seen, *left])
    best = max(areas[name] for name in seen)
    worth = [n for n in left if gains[n] > _WORTH or areas[n] > best - _BESIDE]
    return sorted(worth, key=lambda name: -gains[name])


def _better_half(trials: list[Trial], seen: dict[str, float], track: Track) -> list[Trial]:
    expected = expected_areas(seen, len(track.splits[0][1]), list(seen))
    order = sorted(trials, key=lambda trial: -expected[trial.name])
    costly = [trial for trial in order if usual_seconds(trial.name) > _CHEAP]
    out = costly[int(np.ceil(_KEPT * len(costly))) :]
    for family in dict.fromkeys(trial.family for trial in order):
        best = next(trial for trial in order if trial.family == family)
        if best in out and expected[best.name] > expected[order[0].name] - _BEHIND:
            out.remove(best)
    return [trial for trial in order if trial not in out]
