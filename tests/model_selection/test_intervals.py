"""Intervals and paired tests against formulas, brute force and scikit-learn."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import norm, ttest_rel
from sklearn.metrics import cohen_kappa_score, r2_score, roc_auc_score

from bagwise.metrics import bag_measures
from bagwise.model_selection.intervals import (
    METRICS,
    OF_TASKS,
    PARTS,
    RATES,
    Difference,
    Sample,
    difference,
    estimate,
    holm,
    limits_of_best,
)
from bagwise.times import Times


def draw(n_bags=60, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_bags) % 2)
    return Sample(y, np.arange(2), 5), rng.normal(size=n_bags) + y - 0.5, np.arange(n_bags) % 5


def test_the_auc_is_that_of_pairs_within_folds():
    sample, scores, folds = draw()
    one_fold = estimate("auc", sample, [scores], [0 * folds])
    assert one_fold.value == pytest.approx(roc_auc_score(sample.y, scores))
    rows = [folds == fold for fold in range(5)]
    areas = [roc_auc_score(sample.y[i], scores[i]) for i in rows]
    pooled = estimate("auc", sample, [scores + 100 * folds], [folds])  # folds of other scales
    positives, negatives = ([np.sum(sample.y[i] == k) for i in rows] for k in (1, 0))
    expected = (np.average(areas, weights=positives) + np.average(areas, weights=negatives)) / 2
    assert pooled.value == pytest.approx(expected)


def test_the_variance_of_the_auc_is_delongs():
    sample, scores, folds = draw(seed=1)
    scores = np.round(scores, 1)  # with ties
    pairs = scores[sample.y == 1][:, None] - scores[sample.y == 0]
    right = (pairs > 0) + 0.5 * (pairs == 0)
    rows, columns = right.mean(axis=1), right.mean(axis=0)
    delong = rows.var(ddof=1) / len(rows) + columns.var(ddof=1) / len(columns)
    found = estimate("auc", sample, [scores], [0 * folds])
    assert sample.variance(found.parts) == pytest.approx(1.25 * delong)


def test_the_variance_of_an_accuracy_is_binomial():
    sample, scores, folds = draw(seed=3)
    found = estimate("accuracy", sample, [scores], [folds])
    p, n = found.value, len(scores)
    assert sample.variance(found.parts) == pytest.approx(1.25 * p * (1 - p) / (n - 1))
    # Wilson's interval solves |p - q| = z sqrt(q (1 - q) / n) for the corrected number of bags.
    many = p * (1 - p) / sample.variance(found.parts)
    for end in (found.low, found.high):
        assert abs(p - end) == pytest.approx(sample.quantile * np.sqrt(end * (1 - end) / many))


def test_repeats_are_no_more_bags():
    sample, scores, folds = draw(seed=4)
    once = estimate("auc", sample, [scores], [folds])
    often = estimate("auc", sample, [scores] * 9, [folds] * 9)
    assert (often.low, often.high) == pytest.approx((once.low, once.high))


def test_bags_of_one_group_count_as_one():
    """Every bag twice, in a group: as sure as with every bag once, not by sqrt(2) surer."""
    sample, scores, folds = draw(seed=5)
    twice = [np.repeat(each, 2) for each in (sample.y, scores, folds)]
    groups = np.repeat(np.arange(60), 2)
    grouped = Sample(twice[0], sample.classes, 5, groups)
    blind = Sample(twice[0], sample.classes, 5)
    for metric in ("auc", "accuracy", "balanced_accuracy"):
        one = sample.variance(estimate(metric, sample, [scores], [folds]).parts)
        parts = estimate(metric, grouped, [twice[1]], [twice[2]]).parts
        assert grouped.variance(parts) == pytest.approx(one, rel=0.06)
        assert blind.variance(parts) == pytest.approx(one / 2, rel=0.06)


@pytest.mark.parametrize("metric", ["auc", "accuracy", "balanced_accuracy"])
def test_perfect_scores_still_have_an_interval(metric):
    sample, _, folds = draw(n_bags=40)
    found = estimate(metric, sample, [sample.y - 0.5], [folds])
    assert found.value == found.high == 1
    assert 0.7 < found.low < 0.9


def test_folds_without_a_class_do_not_count_for_the_auc():
    sample, scores, folds = draw(seed=6)
    alone = folds.copy()
    alone[np.flatnonzero(sample.y == 1)[:6]] = 7  # a fold of positive bags only
    inside = alone != 7
    kept = Sample(sample.y[inside], sample.classes, 5)
    expected = estimate("auc", kept, [scores[inside]], [folds[inside]])
    found = estimate("auc", sample, [scores], [alone])
    assert found.value == pytest.approx(expected.value)
    one_class = Sample(sample.y, sample.classes, 2)
    assert np.isnan(estimate("auc", one_class, [scores], [sample.y]).value)


def test_two_accuracies_are_compared_by_a_paired_t_test():
    sample, first, folds = draw(seed=7)
    second = draw(seed=8)[1] - 0.3
    one, other = (estimate("accuracy", sample, [s], [folds]) for s in (first, second))
    found = difference(sample, one, other)
    right = [(s > 0) == sample.y for s in (first, second)]
    expected = ttest_rel(*(each.astype(float) for each in right))
    assert found.value / found.error == pytest.approx(expected.statistic / np.sqrt(1.25))
    back = difference(sample, other, one)
    assert (back.value, back.p_value) == (-found.value, found.p_value)


def test_equal_and_constant_differences():
    sample, scores, folds = draw()
    one = estimate("auc", sample, [scores], [folds])
    assert difference(sample, one, one) == Difference(0.0, 0.0, 1.0)
    right, wrong = (estimate("accuracy", sample, [s * (sample.y - 0.5)], [folds]) for s in (1, -1))
    assert difference(sample, right, wrong) == Difference(1.0, 0.0, 0.0)


def test_more_bags_are_enough_for_the_difference_seen():
    found = Difference(0.05, 0.04, 0.2)
    more = found.more_bags(60)
    z = 0.05 / (0.04 * np.sqrt(60 / (60 + more)))
    assert z == pytest.approx(1.96 + norm.ppf(0.8))
    assert found.more_bags(60, limit=3.0) > more
    assert Difference(0.5, 0.01, 0.0).more_bags(60) == 0
    assert Difference(0.0, 0.01, 1.0).more_bags(60) == np.inf


# What a bag contributes: metrics against scikit-learn's, parts against their derivatives ----------


@pytest.mark.parametrize(
    ("metric", "classes", "positive"),
    [
        *((metric, "ab", positive) for metric in (*METRICS, *RATES) for positive in "ab"),
        *((metric, "abc", None) for metric in METRICS),
    ],
)
def test_values_are_those_of_the_metrics_and_parts_are_centered(metric, classes, positive):
    rng, classes = np.random.default_rng(0), np.array([*classes])
    codes = (rng.random(60) < 0.4) * rng.integers(1, len(classes), 60)
    y, scores = classes[codes], 1.0 * (codes[:, None] == range(len(classes)))
    scores += rng.normal(size=scores.shape)
    scores = np.round(scores[:, 1] - 0.5 if len(classes) == 2 else scores, 1)  # with ties
    sample = Sample(y, classes, 5, None, positive)
    value, parts = PARTS[metric](sample, scores, np.zeros(60, dtype=int))
    expected = bag_measures(y, scores, classes, (metric,), positive)[metric]
    assert value == pytest.approx(expected, abs=1e-12)
    assert parts.shape == y.shape
    assert parts.sum() == pytest.approx(0, abs=1e-10)
    assert np.any(parts != 0)


@pytest.mark.parametrize("task", OF_TASKS)
def test_parts_of_other_tasks_have_the_variance_of_the_jackknife(task):
    rng = np.random.default_rng(0)
    risk, folds = rng.normal(size=150), rng.integers(0, 3, 150)
    y = {"numbers": risk + rng.normal(size=150), "grades": np.digitize(risk, [-0.5, 0.7])}.get(task)
    predicted = risk + 0.5 * rng.normal(size=150)
    if task == "grades":
        predicted = np.digitize(predicted, [-0.5, 0.7])
    if task == "times":
        y = Times(rng.random(150) < 0.6, rng.exponential(np.exp(-risk))).as_array()

    def measure(rows):
        sample = Sample(y[rows], np.empty(0), 3, task=task)
        return PARTS[OF_TASKS[task]](sample, predicted[rows], folds[rows])

    value, parts = measure(np.arange(150))
    left = np.array([measure(np.delete(np.arange(150), i))[0] for i in range(150)])
    assert parts.sum() == pytest.approx(0, abs=1e-10)
    assert np.corrcoef(parts, value - left)[0, 1] > 0.999
    assert np.sum(parts**2) == pytest.approx(149 / 150 * np.sum((left - left.mean()) ** 2), rel=0.1)
    known = {
        "numbers": lambda: r2_score(y, predicted),
        "grades": lambda: cohen_kappa_score(y, predicted, weights="quadratic"),
        "times": lambda: count_pairs(y, predicted, folds),
    }
    assert value == pytest.approx(known[task]())


def count_pairs(y, risk, folds):
    """Return Harrell's C by the definition, pair by pair."""
    right = total = 0.0
    for i, j in permutations(range(len(y)), 2):
        if y["event"][i] and y["time"][i] < y["time"][j] and folds[i] == folds[j]:
            total += 1
            right += risk[i] > risk[j]
    return right / total


# Of several models --------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_methods", "expected"), [(2, 1.645), (5, 2.16), (9, 2.38)])
def test_limits_are_dunnetts_for_independent_methods(n_methods, expected):
    """Dunnett's one-sided 5 % points for correlation 1/2 and infinite degrees of freedom."""
    draws = np.random.default_rng(0).normal(size=(200_000, n_methods))
    limits = limits_of_best(draws, 10**6)
    assert limits == pytest.approx(np.full(n_methods, expected), abs=0.02)

    equal = limits_of_best(draws[:1000, [0, 0]], 50)  # without an error between them
    assert equal == pytest.approx([0.0, 0.0])


def test_holm_by_hand_and_never_below_the_p_values():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    p = np.random.default_rng(0).random(30)
    assert (holm(p) >= p).all()
    assert holm(p).max() == 1.0
