"""The leaderboard: what every candidate did on held-out bags, and the ensemble above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.model_selection.auto.race import Track, Trial
from bagwise.model_selection.intervals import Sample, estimate

Row = dict[str, Any]


def results(
    track: Track,
    trials: Sequence[Trial],
    weights: Mapping[str, float],
    ensemble: tuple[Array, Array],
) -> list[Row]:
    """Return the row of the ensemble, and one per candidate.

    Parameters
    ----------
    track : Track
        Bags, labels and folds.
    trials : sequence of Trial
        The candidates.
    weights : mapping of str to float
        Weights of the members by name.
    ensemble : (ndarray, ndarray)
        Cross-fitted scores of the ensemble toward ``classes_[1]`` or of all classes, and the
        numbers of the bags that they belong to.

    Returns
    -------
    list of dict
        "model", "auc" (the mean over folds) with its 95 % interval "low" to "high", "weight",
        "seconds" of CPU time, "folds", "failure" and "warnings" of its fits.
    """
    total = sum(trial.seconds for trial in trials)
    n_folds = max(len(trial.cells) for trial in trials)
    first = {"model": "ensemble", **_auc(track, *ensemble), "weight": 1.0, "seconds": total}
    return [first | {"folds": n_folds, "failure": "", "warnings": ""}] + [
        {
            "model": trial.name,
            **_of_trial(track, trial),
            "weight": weights.get(trial.name, 0.0),
            "seconds": trial.seconds,
            "folds": len(trial.cells),
            "failure": trial.failure,
            "warnings": " ".join(sorted(set(trial.warned))),
        }
        for trial in trials
    ]


def _of_trial(track: Track, trial: Trial) -> dict[str, float]:
    if not trial.cells:
        return dict.fromkeys(("auc", "low", "high"), float("nan"))
    bags = np.concatenate([track.splits[fold][1] for fold in trial.cells])
    scores = np.concatenate(list(trial.cells.values()))
    return _auc(track, scores[:, 0] if scores.shape[1] == 1 else scores, bags)


def _auc(track: Track, scores: Array, bags: Array) -> dict[str, float]:
    groups = None if track.bags.groups is None else track.bags.groups[bags]
    sample = Sample(track.y[bags], np.unique(track.y), len(track.splits), groups)
    found = estimate("auc", sample, [scores], [track.fold_numbers()[bags]])
    return {"auc": found.value, "low": found.low, "high": found.high}
