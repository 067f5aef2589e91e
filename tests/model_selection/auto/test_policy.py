"""Which candidates go on after the first fold."""

from __future__ import annotations

from types import SimpleNamespace

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
    policy.run(track, trials, policy.First(1, 40, lambda trial: areas[trial.name]))
    assert {name for name, fold in track.runs if fold == 0} == set(areas)
    assert {name for name, fold in track.runs if fold == 4} == {"a", "b", "c", "d"}


def test_costly_candidates_without_hope_are_not_tried(monkeypatch):
    cost = {"m10": 0.4, "m11": 0.6}
    monkeypatch.setattr(policy, "usual_seconds", lambda name: cost.get(name, 1.0))
    names = [f"m{i}" for i in range(12)]
    table = names, np.array([[0.9] * 8 + [0.95, 0.85, 0.7, 0.6]])
    monkeypatch.setattr("bagwise.model_selection.auto.expected.measured", lambda: table)
    trials, track = [Trial(name, None) for name in names], Recorded()
    policy.run(track, trials, policy.First(1, 40, lambda trial: 0.9))
    tried = {name for name, fold in track.runs if fold == 0}
    assert tried == {*names[:11]}  # eight, one that adds, one close to the best, a cheap one


def test_rare_classes_get_more_folds_before_the_choice():
    splits = [(None, np.arange(20 * k, 20 * k + 20)) for k in range(5)]
    track = SimpleNamespace(splits=splits, weight=np.ones(100))
    truth = np.zeros((100, 1), dtype=bool)
    truth[::5] = True  # 4 in each fold
    first = policy.first_folds(track, truth, lambda scores: scores)
    assert (first.n_folds, first.n_bags) == (2, 4 * 8 * 32 / 40)
    right, wrong = truth[:20].astype(float), -truth[:20].astype(float)
    assert first.score(Trial("a", None, cells={0: right, 1: wrong})) == 0.5
    assert first.score(Trial("a", None, cells={0: right})) == 1.0
    truth[::2] = True
    assert policy.first_folds(track, truth, lambda scores: scores).n_folds == 1
    assert policy.first_folds(track, truth[:, [0, 0]] & False, abs).n_folds == 5  # never enough


@pytest.mark.usefixtures("no_table")
def test_candidates_that_go_on_run_on_the_folds_that_are_left():
    trials, track = [Trial(name, None) for name in "abcd"], Recorded()
    policy.run(track, trials, policy.First(2, 40, lambda trial: "dcba".index(trial.name) / 4))
    assert [fold for name, fold in track.runs if name == "a"] == [0, 1, 2, 3, 4]
    assert [fold for name, fold in track.runs if name == "d"] == [0, 1]
