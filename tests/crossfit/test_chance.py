"""Scores without information are rarely called worse than chance, wrong ones always."""

import warnings

import numpy as np
import pytest

from bagwise import WitnessSVC
from bagwise.crossfit import (
    below_chance,
    decides_badly,
    decision_rates,
    lowest_by_chance,
    warn_if_below_chance,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import BelowChanceWarning


def test_chance_falls_below_the_bound_once_in_twenty_times():
    rng = np.random.default_rng(0)
    aucs = [np.mean(s[:20, None] > s[20:]) for s in rng.random((2000, 60))]
    assert 0.03 < np.mean(np.array(aucs) < lowest_by_chance(20, 40)) < 0.07


def test_more_bags_prove_more():
    assert below_chance(0.45, 30, 30) is None
    assert "is 0.40, significantly below 0.5" in below_chance(0.4, 300, 300)
    assert below_chance(0.0, 0, 10) is None  # one class: no AUC
    assert below_chance(float("nan"), 30, 30) is None


def test_scores_of_two_classes_are_judged():
    truth = np.arange(40)[:, None] < 20
    with pytest.warns(BelowChanceWarning, match="the other class may be the positive one"):
        warn_if_below_chance(-1.0 * truth, truth)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_below_chance(1.0 * truth, truth)
        warn_if_below_chance(-1.0 * np.hstack([truth, ~truth]), np.hstack([truth, ~truth]))


def test_a_model_that_ranks_unseen_bags_the_wrong_way_around_warns():
    # Two points per pair, one of each label: whatever is held out, its twin says the opposite.
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)
    bags, y = [p[None] for p in points], np.tile([0, 1], 20)
    with pytest.warns(BelowChanceWarning):
        WitnessSVC(threshold="calibrated", calibration_cv=20, C=100.0, gamma=1.0).fit(bags, y)


def test_a_model_with_signal_is_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error", BelowChanceWarning)
        bags, y = make_gaussian_bags(40, 3, shift=4.0)
        WitnessSVC(kernel="linear", threshold="calibrated").fit(bags, y)


def test_scores_that_rank_well_and_decide_badly_are_noticed():
    positive = np.arange(60) < 20
    scores = np.where(positive, 1.0, -1.0) + np.linspace(-0.5, 0.5, 60)
    assert decides_badly(decision_rates(scores, positive)) is None
    rates = decision_rates(scores - 1.0, positive)
    assert rates["auc"] == 1.0
    assert rates["specificity"] == 1.0
    text = decides_badly(rates)
    assert text is not None
    assert "its AUC is 1.00, but at its threshold the sensitivity is 0.0" in text
    noise = np.random.default_rng(0).normal(size=60)
    assert decides_badly(decision_rates(noise, positive)) is None
