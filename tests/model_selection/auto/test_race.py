"""Cells of the automatic model: what they share changes nothing; the rows of the leaderboard."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    AnnealedWitnessSVC,
    AutoBagClassifier,
    BagKernelSVC,
    MeanSVC,
    PerInstance,
    StatisticsForest,
    StatisticsSVC,
    WitnessSVC,
)
from bagwise.bags import statistics
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.model_selection.auto.race import Track, Trial, forget_shared
from bagwise.model_selection.runner import Runner
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags(n_bags=40)
WEIGHT = np.where(np.arange(40) % 3, 1.0, 2.0)
SPLITS = folds(BAGS, Y, 3, 0)


def run(models):
    """Return the trials of the models after all cells."""
    track = Track(BAGS, Y, WEIGHT, SPLITS)
    trials = [Trial(str(i), model) for i, model in enumerate(models)]
    list(track.run(Runner(Track.judge, lambda _: track), trials))
    return trials


def test_cells_have_the_bits_of_plain_fits():
    models = [WitnessSVC(), AnnealedWitnessSVC(), BagKernelSVC(), StatisticsSVC()]
    models += [make_pipeline(PerInstance(StandardScaler()), clone(model)) for model in models[:2]]
    trials = run(models)
    for trial, model in zip(trials, models, strict=True):
        for fold, (train, test) in enumerate(SPLITS):
            last = (
                "sample_weight" if model in models[:4] else f"{model.steps[-1][0]}__sample_weight"
            )
            fitted = clone(model).fit(BAGS[train], Y[train], **{last: WEIGHT[train]})
            expected = fitted.decision_function(BAGS[test])
            np.testing.assert_array_equal(trial.cells[fold][:, 0], expected)


def test_statistics_of_a_fold_are_computed_once(monkeypatch):
    computed = []

    def counted(bags, names):
        computed.append((len(bags), names))
        return statistics.statistics(bags, names)

    monkeypatch.setattr("bagwise.models.statistics.statistics", counted)
    models = [StatisticsSVC(), StatisticsSVC(C=3.0), StatisticsSVC(statistics="quantiles")]
    models += [StatisticsForest(n_estimators=3)]
    trials = run(models)
    assert len(computed) == 12  # 3 folds, 2 parts, 2 sets of statistics
    forget_shared()
    for fold, (train, test) in enumerate(SPLITS[:2]):
        plain = clone(models[3]).fit(BAGS[train], Y[train], WEIGHT[train])
        expected = plain.decision_function(BAGS[test])
        np.testing.assert_array_equal(trials[3].cells[fold][:, 0], expected)


@pytest.mark.parametrize("pos_label", [None, 0])
def test_scores_are_those_of_plain_cross_validation(pos_label):
    bags, y = planted_bags(n_bags=40, shift=3.0)
    model = AutoBagClassifier(models=[MeanSVC(C=10.0), "MI-SVM"], cv=4, pos_label=pos_label)
    frame = model.fit(bags, y).leaderboard_.set_index("model")
    splits = folds(bags, y, 4, 0)
    scores = out_of_fold_scores(MeanSVC(C=10.0, pos_label=pos_label), bags, y, None, splits)
    expected = np.mean([roc_auc_score(y[test], scores[test]) for _, test in splits])
    assert frame.loc["MeanSVC", "auc"] == pytest.approx(expected)
    assert frame.index[0] == "ensemble"
    assert frame.loc["ensemble", "auc"] > 0.7
    assert (frame["low"] < frame["auc"]).all()
    assert (frame["auc"] <= frame["high"]).all()
    assert frame["weight"].iloc[1:].sum() == pytest.approx(1.0)
    assert frame["seconds"].iloc[0] == pytest.approx(frame["seconds"].iloc[1:].sum())


def test_three_classes_and_groups():
    bags, y = planted_bags(3, n_bags=60, shift=4.0)
    bags = bags.replace(groups=np.arange(60) // 2)
    frame = AutoBagClassifier(models=["MI-SVM", "SimpleMI"]).fit(bags, y).leaderboard_
    assert frame["auc"].between(0.5, 1.0).all()
    assert frame["low"].notna().all()
