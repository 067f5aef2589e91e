"""Which candidates go on after the first fold."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.model_selection.auto import policy
from bagwise.model_selection.auto.race import Deadline, Trial


class Recorded:
    """A track on which candidates have the scores that are given."""

    splits = [(None, np.arange(40))] * 5

    def __init__(self):
        self.deadline, self.runs = Deadline.after(None), []

    def run(self, trials, folds, until):
        for fold in folds:
            for trial in trials:
                self.runs.append((trial.name, fold))
                trial.cells[fold] = np.zeros((1, 1))

    def affordable(self, trials):
        return trials


@pytest.fixture
def no_table(monkeypatch):
    monkeypatch.setattr(
        "bagwise.model_selection.auto.expected.measured", lambda: ([], np.zeros((1, 0)))
    )


@pytest.mark.usefixtures("no_table")
def test_the_better_half_goes_on_and_the_best_of_a_family_beside_it():
    areas = {"a": 0.9, "b": 0.89, "c": 0.88, "d": 0.86, "e": 0.7, "f": 0.6}
    families = {"d": "rare", "e": "other", "f": "other"}
    trials = [Trial(name, None, families.get(name, "usual")) for name in areas]
    track = Recorded()
    policy.run(track, trials, lambda trial: areas[trial.name])
    assert {name for name, fold in track.runs if fold == 0} == set(areas)
    assert {name for name, fold in track.runs if fold == 4} == {"a", "b", "c", "d"}


def test_candidates_without_hope_are_not_tried(monkeypatch):
    names = [f"m{i}" for i in range(12)]
    table = names, np.array([[0.9] * 8 + [0.95, 0.85, 0.7, 0.6]])
    monkeypatch.setattr("bagwise.model_selection.auto.expected.measured", lambda: table)
    trials, track = [Trial(name, None) for name in names], Recorded()
    policy.run(track, trials, lambda trial: 0.9)
    tried = {name for name, fold in track.runs if fold == 0}
    assert tried == {*names[:10]}  # the first eight, one that adds, one close to the best
