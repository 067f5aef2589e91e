"""The rows of the leaderboard, against scikit-learn and the intervals of a comparison."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bagwise import AutoBagClassifier, MeanSVC
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.testing._problems import planted_bags


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
