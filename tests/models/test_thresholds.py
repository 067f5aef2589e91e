"""Probabilities made monotone, and thresholds that cannot be learned."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.preprocessing import StandardScaler

from bagwise import OrdinalBagClassifier, StatisticsLogistic, make_pipeline
from bagwise.errors import TaskWarning
from bagwise.models.thresholds import make_monotone
from bagwise.preprocessing import PerInstance
from bagwise.testing._problems import planted_bags


@pytest.mark.parametrize("rising", [True, False])
def test_rows_are_those_of_isotonic_regression(rising):
    rows = np.random.default_rng(0).random((50, 6))
    for row, found in zip(rows, make_monotone(rows, rising=rising), strict=True):
        expected = IsotonicRegression(increasing=rising).fit_transform(np.arange(6), row)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_threshold_with_one_bag_is_skipped_with_a_warning():
    bags, y = planted_bags(n_bags=36)
    y[0] = 2
    with pytest.warns(TaskWarning, match="Grade 2 or more has fewer than two bags"):
        model = OrdinalBagClassifier().fit(bags, y)
    assert model.estimators_[1] is None
    assert model.constants_[1] == pytest.approx(1 / 36)
    assert set(model.predict(bags)) <= {0, 1}


def test_a_threshold_that_nothing_ranks_is_named():
    bags, y = planted_bags(3, n_bags=60)
    rest = np.flatnonzero(y > 0)
    y[rest] = np.random.default_rng(3).permutation(y[rest])  # nothing tells grades 1 and 2 apart
    with pytest.warns() as caught:
        OrdinalBagClassifier().fit(bags, y)
    (said,) = [str(each.message) for each in caught]
    assert said.startswith("Grade 2 or more is ranked no better than by chance (AUC 0.")


@pytest.mark.parametrize(
    "estimator",
    [StatisticsLogistic(), make_pipeline(PerInstance(StandardScaler()), StatisticsLogistic())],
    ids=["alone", "in a pipeline"],
)
def test_models_of_whole_bags_score_instances_by_occlusion(estimator):
    bags, y = planted_bags(3, n_bags=36)
    model = OrdinalBagClassifier(estimator=estimator).fit(bags, y)
    assert not hasattr(model, "predict_instances")
    scores = model.instance_decision_function(bags)
    whole = model.predict_proba(bags) @ np.arange(3)
    without = bags.X[bags.offsets[1] :]  # the first bag, without each instance by hand
    assert len(without)
    for i in range(bags.sizes[0]):
        rest = [np.delete(bags.X[: bags.offsets[1]], i, axis=0)]
        if bags.sizes[0] > 1:
            left = model.predict_proba(rest) @ np.arange(3)
            assert scores[i] == pytest.approx(whole[0] - left[0], abs=1e-9)
