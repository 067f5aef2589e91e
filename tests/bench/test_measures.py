"""Measures of a benchmark against their definitions."""

import numpy as np
import pytest

from bagwise import CitationKNN, LabelSVC, OptimalMarginSVC
from bagwise.bench.measures import measure_calibrated, measure_fit, measure_instances
from bagwise.crossfit import best_threshold, fit_sigmoids, sigmoid_probabilities
from bagwise.datasets import make_gaussian_bags
from bagwise.metrics import instance_auc, key_instance_rate


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=40, shift=2.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_uses_the_inner_scores_only(n_classes):
    rng = np.random.default_rng(0)
    classes, inner_y, y = np.arange(n_classes), np.arange(30) % n_classes, np.arange(12) % n_classes
    shape = (30,) if n_classes == 2 else (30, 3)
    inner = rng.normal(size=shape) + (inner_y if n_classes == 2 else np.eye(3)[inner_y])
    scores = inner[:12] + 0.5
    found = measure_calibrated(y, scores, inner_y, inner, classes)
    columns = [1] if n_classes == 2 else classes
    wide, outer = inner.reshape(30, -1), scores.reshape(12, -1)
    slope, midpoints = fit_sigmoids(wide, inner_y[:, None] == columns, np.ones(30))
    chances = sigmoid_probabilities(outer - midpoints, slope)
    if n_classes == 2:
        threshold = best_threshold(inner, inner_y == 1, np.ones(30))
        assert found["calibrated_accuracy"] == np.mean((scores > threshold) == y)
        assert found["brier"] == pytest.approx(np.mean((chances[:, 0] - y) ** 2))
    else:
        shares = chances / chances.sum(axis=1, keepdims=True)
        assert found["calibrated_accuracy"] is None
        assert found["brier"] == pytest.approx(np.sum((shares - np.eye(3)[y]) ** 2) / 12)


def test_instances_are_measured_where_labels_and_scores_are_known(problem):
    bags, y = problem
    model = LabelSVC().fit(bags, y)
    found = measure_instances(model, bags, y)
    right = np.mean(model.predict_instances(bags) == bags.instance_labels)
    assert found == {
        "instance_accuracy": right,
        "key_instance_rate": key_instance_rate(model, bags, y),
        "instance_auc": instance_auc(model, bags),
    }
    assert list(measure_instances(model, bags[y == 0], y[y == 0])) == ["instance_accuracy"]
    assert measure_instances(model, bags.replace(instance_labels=None), y) == {}


def test_fits_are_measured_where_the_model_says_something(problem):
    bags, y = problem
    model = OptimalMarginSVC(relax=False, threshold=0.0).fit(bags, y)
    found = measure_fit(model, bags, y)
    shares = [w.mean() for w in np.split(model.instance_weights_, bags.offsets[1:-1])]
    assert found["objective"] == model.objective_[0]
    assert found["gap"] == model.gap_[0]
    assert found["p_hat"] == pytest.approx(np.mean(np.array(shares)[y == 1]))
    assert "gap" not in measure_fit(CitationKNN().fit(bags, y), bags, y)
