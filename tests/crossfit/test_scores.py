"""Thresholds, sigmoids and out-of-fold scores, against brute force."""

import warnings

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from bagwise import InstanceSVC, WitnessSVC
from bagwise.crossfit import (
    bag_scores,
    below_chance,
    best_threshold,
    choose_thresholds,
    decides_badly,
    decision_rates,
    fit_sigmoids,
    fit_weighted,
    folds,
    lowest_by_chance,
    out_of_fold_scores,
    settle_sigmoids,
    sigmoid_probabilities,
    warn_if_below_chance,
)
from bagwise.datasets import make_gaussian_bags
from bagwise.errors import BelowChanceWarning
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags(n_bags=30)

votes = st.lists(
    st.tuples(
        st.integers(-4, 4).map(lambda k: k / 2), st.booleans(), st.sampled_from([0.5, 1.0, 2.0])
    ),
    min_size=2,
    max_size=12,
)


@given(votes)
def test_no_midpoint_is_better_than_the_threshold_and_none_as_good_is_nearer_to_zero(voted):
    scores, positive, weight = (np.array(column) for column in zip(*voted, strict=True))
    values = np.unique(scores)
    if len(values) < 2:
        assert best_threshold(scores, positive, weight) == 0.0
        return
    midpoints = (values[1:] + values[:-1]) / 2
    right = [weight[(scores > t) == positive].sum() for t in midpoints]
    best = [t for t, r in zip(midpoints, right, strict=True) if r == max(right)]
    found = best_threshold(scores, positive, weight)
    assert found in best
    assert abs(found) == min(abs(t) for t in best)


@given(
    seed=st.integers(0, 1000), shift=st.floats(0.0, 3.0), scale=st.sampled_from([1e-3, 1.0, 1e3])
)
def test_the_sigmoid_minimizes_the_cross_entropy_of_platts_targets(seed, shift, scale):
    rng = np.random.default_rng(seed)
    positive = np.arange(20) % 2 == 0
    scores, weight = rng.normal(size=20) + shift * positive, rng.uniform(0.5, 2.0, 20)
    n_pos, n_neg = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))

    def entropy(point):
        z = point[0] * scores + point[1]
        return weight @ (np.logaddexp(0, z) - target * z)

    best = minimize(entropy, [1.0, 0.0], method="BFGS", options={"gtol": 1e-10})
    given = scale * scores[:, None], positive[:, None], weight
    slope, (midpoint,) = fit_sigmoids(*given)
    assert entropy([slope * scale, -slope * midpoint]) <= best.fun + 1e-6 * abs(best.fun)
    fixed, midpoints = fit_sigmoids(*given, np.array([midpoint]))
    assert midpoints == [midpoint]
    assert fixed == pytest.approx(slope, rel=1e-3)


def test_separable_scores_give_a_finite_slope_and_useless_ones_the_base_rates():
    positive = (np.arange(10) > 6)[:, None]
    slope, midpoints = settle_sigmoids(np.where(positive, 1.0, -1.0), positive, np.ones(10))
    assert 0 < slope < np.inf
    assert -1 < midpoints[0] < 1
    for scores in (np.zeros((10, 1)), np.where(positive, -1.0, 1.0)):
        with pytest.warns(UserWarning, match="do not rise with the label"):
            slope, midpoints = settle_sigmoids(scores, positive, np.ones(10))
        np.testing.assert_allclose(expit(slope * (scores - midpoints)), 0.3, atol=1e-3)


@pytest.mark.parametrize("size", [1e164, 1.0, 1e-200])
def test_scores_whose_squares_overflow_or_vanish_give_the_same_probabilities(size):
    truth, weight = np.array([[True], [False], [True], [False]]), np.ones(4)
    scores = np.array([[2.0], [-1.0], [1.5], [1.75]])
    slope, midpoints = settle_sigmoids(size * scores, truth, weight)
    wanted, middle = settle_sigmoids(scores, truth, weight)
    assert slope * size == pytest.approx(wanted)
    assert midpoints / size == pytest.approx(middle)


def test_one_score_far_out_does_not_decide_about_the_slope():
    rng = np.random.default_rng(0)
    positive = np.arange(80) % 2 == 0
    scores = rng.normal(size=80) + 2.0 * positive
    given = positive[:, None], np.ones(80)
    slope, _ = fit_sigmoids(scores[:, None], *given)
    far = scores.copy()
    far[1] = 1e4  # a negative bag
    assert fit_sigmoids(far[:, None], *given)[0] > 0.5 * slope
    weight = np.where(np.arange(80) == 1, 0.0, 1.0)
    without = np.delete(scores, 1)[:, None], np.delete(positive, 1)[:, None], np.ones(79)
    ours, theirs = fit_sigmoids(far[:, None], positive[:, None], weight), fit_sigmoids(*without)
    np.testing.assert_allclose(np.hstack(ours), np.hstack(theirs), rtol=1e-4)


def test_classes_share_one_slope():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    truth = codes[:, None] == np.arange(3)
    scores = rng.normal(size=(60, 3)) + 2 * truth + np.array([0.0, 5.0, -3.0])
    slope, midpoints = fit_sigmoids(scores, truth, np.ones(60))
    np.testing.assert_allclose(np.diff(midpoints), [5.0, -8.0], atol=1.5)
    chances = sigmoid_probabilities(scores - midpoints, slope)
    np.testing.assert_array_equal(chances.argmax(axis=1), (scores - midpoints).argmax(axis=1))
    np.testing.assert_array_equal(chances > 0.5, scores > midpoints)


@pytest.mark.parametrize("score", [1e-320, 1e-18, -1e-18, 0.0, 1e300])
def test_a_probability_is_above_one_half_exactly_where_the_score_is_positive(score):
    assert (sigmoid_probabilities(np.array([score]), 1.0)[0] > 0.5) == (score > 0)


# Out of fold -------------------------------------------------------------------------------------


def test_scores_come_from_copies_that_did_not_see_the_bag():
    splits = folds(BAGS, Y, 3, 0)
    estimator = InstanceSVC()
    found = out_of_fold_scores(estimator, BAGS, Y, np.ones(len(Y)), splits)
    for train, test in splits:
        expected = InstanceSVC().fit(BAGS[train], Y[train]).decision_function(BAGS[test])
        np.testing.assert_array_equal(found[test], expected)
    assert not hasattr(estimator, "classes_")


@pytest.mark.parametrize("wrap", [make_pipeline, lambda model: GridSearchCV(model, {}, cv=2)])
def test_weights_reach_the_estimator_inside(wrap):
    weight = 1.0 + 4.0 * (np.arange(len(Y)) % 3)
    expected = InstanceSVC().fit(BAGS, Y, sample_weight=weight).decision_function(BAGS)
    assert not np.allclose(expected, InstanceSVC().fit(BAGS, Y).decision_function(BAGS))
    found = fit_weighted(wrap(InstanceSVC()), BAGS, Y, weight)
    np.testing.assert_array_equal(bag_scores(found, BAGS), expected)


def test_a_balanced_threshold_has_the_best_balanced_accuracy():
    rng = np.random.default_rng(0)
    positive = np.arange(90) % 9 == 0
    scores = rng.normal(size=90) + 1.5 * positive
    (found,) = choose_thresholds(scores[:, None], positive[:, None], np.ones(90), "balanced")
    values = np.sort(scores)
    balanced = [
        np.mean(scores[positive] > t) + np.mean(scores[~positive] <= t)
        for t in (values[1:] + values[:-1]) / 2
    ]
    reached = np.mean(scores[positive] > found) + np.mean(scores[~positive] <= found)
    assert reached == pytest.approx(max(balanced))
    (accurate,) = choose_thresholds(scores[:, None], positive[:, None], np.ones(90), "calibrated")
    assert accurate > found  # few bags are positive


def test_chance_falls_below_the_bound_once_in_twenty_times_and_more_bags_prove_more():
    rng = np.random.default_rng(0)
    aucs = [np.mean(s[:20, None] > s[20:]) for s in rng.random((2000, 60))]
    assert 0.03 < np.mean(np.array(aucs) < lowest_by_chance(20, 40)) < 0.07
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
