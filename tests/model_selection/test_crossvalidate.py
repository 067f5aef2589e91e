"""Cross-validation of one model: the metrics of folds that scikit-learn makes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, PerInstance, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import Message
from bagwise.metrics import bag_report
from bagwise.model_selection import CrossValidation, cross_validate_bags

MODEL = WitnessSVC(kernel="linear")


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)


def test_each_fold_is_judged_by_a_model_that_did_not_see_it(problem):
    bags, y = problem
    model = make_pipeline(PerInstance(StandardScaler()), MODEL)
    result = cross_validate_bags(model, bags, y, cv=3, n_repeats=2, random_state=5)
    expected = []
    for seed in (5, 6):
        splits = StratifiedKFold(3, shuffle=True, random_state=seed).split(np.zeros(len(y)), y)
        expected += [bag_report(model.fit(bags[a], y[a]), bags[b], y[b]) for a, b in splits]
    assert result.folds == expected
    assert result.warned == []


def test_groups_stay_together():
    bags, y = make_gaussian_bags(n_bags=24, shift=4.0, random_state=0)
    groups = np.arange(24) // 4
    seen = []

    class Watched(WitnessSVC):
        def fit(self, bags, y):
            seen.append(set(bags.groups.tolist()))
            return super().fit(bags, y)

    bags = Bags(bags.X, bags.offsets, groups=groups)
    cross_validate_bags(Watched(kernel="linear"), bags, y, cv=3)
    assert [len(trained) for trained in seen] == [4, 4, 4]


def test_the_callback_counts_folds_and_workers_send_their_warnings(problem):
    bags, y = problem
    calls = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # none comes through
        result = cross_validate_bags(
            WitnessSVC(kernel="linear", max_iter=1), bags, y, cv=3, n_jobs=2,
            callback=lambda: calls.append(1),
        )  # fmt: skip
    assert len(calls) == 3
    assert len(result.warned) == 3
    assert all(isinstance(message, Message) for message in result.warned)


def test_a_summary_leaves_out_folds_that_do_not_define_a_metric():
    folds = [{"accuracy": 0.5, "auc": np.nan}, {"accuracy": 1.0, "auc": 0.7, "rate": 1.0}]
    summary = CrossValidation(folds, []).summary()
    assert summary["accuracy"] == {"mean": 0.75, "error": pytest.approx(0.25)}
    assert summary["auc"] == {"mean": 0.7, "error": None}
    assert summary["rate"] == {"mean": 1.0, "error": None}
    assert CrossValidation([{"auc": np.nan}], []).summary()["auc"]["mean"] is None


def test_too_few_bags_are_refused_before_anything_is_fitted(problem):
    bags, y = problem
    with pytest.raises(ValueError, match=r"fewer than the 19 folds of cv\. Lower cv to 18"):
        cross_validate_bags(MODEL, bags, y, cv=19)
