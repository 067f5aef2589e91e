"""Curves with their bands, calibration, and learning curves."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import LearningCurveDisplay

from bagwise import MeanSVC, WitnessSVC
from bagwise.bags import Bags
from bagwise.datasets import load_digits_bags
from bagwise.metrics import auc_bounds
from bagwise.plot import CalibrationDisplay, PrecisionRecallDisplay, RocDisplay


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    truth = rng.random(120) < 0.4
    return truth, truth + rng.normal(size=120)


def test_the_area_is_scikit_learns_and_lies_in_its_interval(scored):
    shown = RocDisplay.from_scores(*scored)
    assert shown.value == pytest.approx(roc_auc_score(*scored))
    curve = PrecisionRecallDisplay.from_scores(*scored)
    assert curve.value == pytest.approx(average_precision_score(*scored))
    assert shown.interval[0] < shown.value < shown.interval[1]
    assert np.all(shown.band[0] <= shown.band[1])


@pytest.mark.slow
def test_the_interval_covers_the_true_area_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    expected, hits = 0.7602, 0  # P(N(1, 1) > N(0, 1)) = Phi(1 / sqrt 2)
    for _ in range(30):
        truth = np.repeat([False, True], 30)
        low, high = RocDisplay.from_scores(truth, truth + rng.normal(size=60)).interval
        hits += low <= expected <= high
    assert hits >= 23  # of a binomial with p = .95 this fails once in ten thousand


def test_groups_widen_the_interval(scored):
    truth, scores = np.repeat(scored[0], 5), np.repeat(scored[1], 5)
    alone = RocDisplay.from_scores(truth, scores).interval
    together = RocDisplay.from_scores(truth, scores, groups=np.repeat(np.arange(120), 5)).interval
    assert together[1] - together[0] > 1.5 * (alone[1] - alone[0])


def test_average_precision_of_scores_without_knowledge_is_the_share_of_positives(scored):
    shown = PrecisionRecallDisplay.from_scores(scored[0], np.zeros(120))
    assert shown.value == pytest.approx(shown.chance) == pytest.approx(scored[0].mean())


@pytest.mark.parametrize("swap", [0, 1])
def test_average_precision_is_never_sure_of_itself(swap):
    """One pair of 10,000 in the wrong order rounds to 1.000, and so did both ends."""
    scores = np.arange(200.0)
    scores[[99, 100]] = scores[[99 + swap, 100 - swap]]
    low, high = PrecisionRecallDisplay.from_scores(np.arange(200) >= 100, scores).interval
    assert low < 0.97
    assert high == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("display", "alone", "together"),
    [
        (RocDisplay, auc_bounds(1.0, 18, 22), auc_bounds(1.0, 3, 4)),
        (PrecisionRecallDisplay, (0.025 ** (1 / 18), 1.0), (0.025 ** (1 / 3), 1.0)),
    ],
)
def test_scores_without_an_error_are_not_proof_of_none(display, alone, together):
    truth = np.arange(40) < 18
    shown = display.from_scores(truth, 1.0 * truth)
    assert shown.value == 1.0
    assert shown.interval == pytest.approx(alone)
    grouped = display.from_scores(truth, 1.0 * truth, groups=np.arange(40) // 6)
    assert grouped.interval == pytest.approx(together)
    with pytest.raises(ValueError, match="all of one class"):
        display.from_scores([True, True], [0.1, 0.2])


def test_a_curve_is_drawn_on_given_axes(scored):
    first = RocDisplay.from_scores(*scored, name="one")
    second = RocDisplay.from_scores(*scored, ax=first.ax_, name="two")
    assert second.figure_ is first.figure_
    labels = first.ax_.get_legend_handles_labels()[1]
    assert [label.split(":")[0] for label in labels] == ["one", "two"]
    assert first._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("pos_label", ["a", "b"])
def test_scores_point_towards_the_positive_class(pos_label):
    bags, y = load_digits_bags(n_bags=40)
    labels = np.where(y == 1, pos_label, "ab".replace(pos_label, ""))
    model = WitnessSVC(kernel="linear", pos_label=pos_label, probability="sigmoid")
    model.fit(bags, labels)
    assert RocDisplay.from_estimator(model, bags, labels).value > 0.9
    shown = CalibrationDisplay.from_estimator(model, bags, labels, n_bins=4)
    assert shown.observed[-1] > shown.observed[0]
    assert shown.truth.sum() == y.sum()


def test_more_bags_help_in_the_learning_curve_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    bags = Bags.from_list([rng.normal(size=(3, 30)) + 0.3 * label for label in y])
    options = {"train_sizes": [0.1, 1.0], "shuffle": True, "random_state": 0}
    shown = LearningCurveDisplay.from_estimator(MeanSVC(), bags, y, **options)
    few, many = shown.test_scores.mean(axis=1)
    assert many > few
