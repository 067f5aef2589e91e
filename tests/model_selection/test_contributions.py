"""What a bag contributes: metrics against scikit-learn's, parts against their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score

from bagwise.metrics import MEASURES, bag_measures
from bagwise.model_selection.intervals import PARTS, Sample

RNG = np.random.default_rng(0)
Y = np.array(["a", "b"])[(RNG.random(60) < 0.4).astype(int)]
SCORES = np.round((Y == "b") + RNG.normal(size=60) - 0.5, 1)  # with ties
ONE_FOLD = np.zeros(60, dtype=int)


def sample(positive=None, y=Y):
    return Sample(y, np.unique(y), 5, None, positive)


@pytest.mark.parametrize("positive", ["a", "b"])
@pytest.mark.parametrize("metric", MEASURES)
def test_values_are_those_of_the_metrics_and_parts_are_centered(metric, positive):
    value, parts = PARTS[metric](sample(positive), SCORES, ONE_FOLD)
    expected = bag_measures(Y, SCORES, np.array(["a", "b"]), (metric,), positive)[metric]
    assert value == pytest.approx(expected, abs=1e-12)
    assert parts.shape == Y.shape
    assert parts.sum() == pytest.approx(0, abs=1e-10)
    assert np.any(parts != 0)


@pytest.mark.parametrize("metric", ["f1", "average_precision"])
def test_parts_are_derivatives_in_the_weights_of_bags(metric):
    truth, small = Y == "b", 1e-6

    def weighted(weight):
        if metric == "f1":
            return f1_score(truth, SCORES > 0, sample_weight=weight)
        return average_precision_score(truth, SCORES, sample_weight=weight)

    _, parts = PARTS[metric](sample(), SCORES, ONE_FOLD)
    slopes = [
        (weighted(1 + small * one) - weighted(1 - small * one)) / (2 * small) for one in np.eye(60)
    ]
    np.testing.assert_allclose(parts, np.array(slopes) * np.sqrt(60 / 59), atol=1e-8)


def test_f1_of_several_classes_is_the_mean_over_them():
    y = np.arange(60) % 3
    scores = np.eye(3)[y] + RNG.normal(size=(60, 3))
    value, parts = PARTS["f1"](sample(y=y), scores, ONE_FOLD)
    assert value == pytest.approx(f1_score(y, scores.argmax(axis=1), average="macro"))
    assert parts.sum() == pytest.approx(0, abs=1e-10)
    assert PARTS["f1"](sample(), np.full(60, -1.0), ONE_FOLD)[0] == 0


def test_negative_bags_count_for_the_sensitivity_at_a_specificity():
    _, parts = PARTS["sensitivity@0.9"](sample(), SCORES, ONE_FOLD)
    assert np.any(parts[Y == "a"] != 0)
    _, plain = PARTS["sensitivity"](sample(), SCORES, ONE_FOLD)
    assert not np.any(plain[Y == "a"])
