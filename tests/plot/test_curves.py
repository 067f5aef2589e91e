"""Curves with their bands, and scikit-learn's displays of bags."""

import numpy as np
import pytest
from sklearn.calibration import CalibrationDisplay
from sklearn.metrics import (
    PrecisionRecallDisplay,
    RocCurveDisplay,
    average_precision_score,
    roc_auc_score,
)
from sklearn.model_selection import LearningCurveDisplay

from bagwise import MeanSVC, WitnessSVC
from bagwise.bags import Bags
from bagwise.datasets import load_digits_bags
from bagwise.metrics import auc_bounds
from bagwise.plot import precision_recall, roc
from bagwise.plot.curves import PRECISION, ROC, Curve


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    truth = rng.random(120) < 0.4
    return truth, truth + rng.normal(size=120)


def test_the_area_is_scikit_learns_and_lies_in_its_interval(scored):
    curve = Curve.trace(ROC, *scored)
    assert curve.value == pytest.approx(roc_auc_score(*scored))
    assert Curve.trace(PRECISION, *scored).value == pytest.approx(average_precision_score(*scored))
    assert curve.interval[0] < curve.value < curve.interval[1]
    assert np.all(curve.band[0] <= curve.band[1])
    chance = Curve.trace(PRECISION, scored[0], np.zeros(120))
    assert chance.value == pytest.approx(chance.chance) == pytest.approx(scored[0].mean())


def test_groups_widen_the_interval(scored):
    truth, scores = np.repeat(scored[0], 5), np.repeat(scored[1], 5)
    alone = Curve.trace(ROC, truth, scores).interval
    together = Curve.trace(ROC, truth, scores, np.repeat(np.arange(120), 5)).interval
    assert together[1] - together[0] > 1.5 * (alone[1] - alone[0])


@pytest.mark.parametrize("swap", [0, 1])
def test_average_precision_is_never_sure_of_itself(swap):
    """One pair of 10,000 in the wrong order rounds to 1.000, and so did both ends."""
    scores = np.arange(200.0)
    scores[[99, 100]] = scores[[99 + swap, 100 - swap]]
    low, high = Curve.trace(PRECISION, np.arange(200) >= 100, scores).interval
    assert low < 0.97
    assert high == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("kind", "alone", "together"),
    [
        (ROC, auc_bounds(1.0, 18, 22), auc_bounds(1.0, 3, 4)),
        (PRECISION, (0.025 ** (1 / 18), 1.0), (0.025 ** (1 / 3), 1.0)),
    ],
)
def test_scores_without_an_error_are_not_proof_of_none(kind, alone, together):
    truth = np.arange(40) < 18
    curve = Curve.trace(kind, truth, 1.0 * truth)
    assert curve.value == 1.0
    assert curve.interval == pytest.approx(alone)
    grouped = Curve.trace(kind, truth, 1.0 * truth, np.arange(40) // 6)
    assert grouped.interval == pytest.approx(together)
    with pytest.raises(ValueError, match="all of one class"):
        Curve.trace(kind, [True, True], [0.1, 0.2])


@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_curves_of_models_share_axes_and_point_towards_the_positive_class(pos_label):
    bags, y = load_digits_bags(n_bags=40)
    labels = np.where(y == 1, pos_label, "ab".replace(pos_label, ""))
    model = WitnessSVC(kernel="linear", pos_label=pos_label).fit(bags, labels)
    figure = roc(model, bags, labels)
    assert precision_recall(model, bags, labels, ax=figure.axes[0], name="two") is figure
    shown = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert [text.split(":")[0] for text in shown] == ["WitnessSVC", "two"]
    assert all(float(text.split()[-4]) > 0.9 for text in shown)


def test_displays_of_scikit_learn_take_bags():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    bags = Bags.from_list([rng.normal(size=(3, 30)) + 0.3 * label for label in y])
    options = {"train_sizes": [0.1, 1.0], "shuffle": True, "random_state": 0}
    shown = LearningCurveDisplay.from_estimator(MeanSVC(), bags, y, **options)
    few, many = shown.test_scores.mean(axis=1)
    assert many > few
    model = MeanSVC(probability="sigmoid").fit(bags, y)
    assert RocCurveDisplay.from_estimator(model, bags, y).roc_auc > 0.9
    assert PrecisionRecallDisplay.from_estimator(model, bags, y).average_precision > 0.9
    assert CalibrationDisplay.from_estimator(model, bags, y).y_prob.shape == (120,)
