"""Kaplan-Meier, weights for censoring, the C-index and the Brier score, against brute force."""

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from bagwise.errors import TaskWarning
from bagwise.times import (
    Times,
    brier_parts,
    check_events,
    check_times,
    concordance,
    is_ranked,
    kaplan_meier,
    landmark_weights,
)


def draw(n=60, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    time = rng.exponential(size=n)
    return Times(rng.random(n) < 0.6, np.ceil(5 * time) if ties else time)


def test_kaplan_meier_is_the_product_over_times():
    times = draw()
    steps = kaplan_meier(times)
    for t in (0.0, 1.0, 2.5, 6.0):
        expected = 1.0
        for moment in np.unique(times.time[times.event]):
            if moment <= t:
                died = np.sum(times.event & (times.time == moment))
                expected *= 1 - died / np.sum(times.time >= moment)
        assert steps.at(t) == pytest.approx(expected, abs=1e-12)
    assert steps.before(1.0) == 1.0


def test_without_censoring_nobody_is_reweighted():
    times = Times(np.ones(20, dtype=bool), np.arange(1.0, 21.0))
    happened, weight = landmark_weights(times, 7.0, kaplan_meier(times, censoring=True))
    assert happened.sum() == 7
    np.testing.assert_array_equal(weight, 1.0)


def test_weights_make_up_for_the_censored():
    """The weighted share of events by t is one minus Kaplan-Meier's estimate."""
    times = draw(400, ties=False)
    happened, weight = landmark_weights(times, 0.5, kaplan_meier(times, censoring=True))
    assert np.all(weight[(times.time <= 0.5) & ~times.event] == 0)
    share = weight @ happened / weight.sum()
    assert share == pytest.approx(1 - kaplan_meier(times).at(0.5), abs=0.01)


@pytest.mark.parametrize("uno", [False, True])
def test_the_concordance_counts_pairs(uno):
    times, rng = draw(), np.random.default_rng(1)
    risk = rng.integers(0, 6, len(times)).astype(float)
    censoring = kaplan_meier(times, censoring=True) if uno else None
    right = total = 0.0
    for i in np.flatnonzero(times.event & (times.time < 8.0)):
        weight = 1 / max(censoring.before(times.time[i]), 0.05) ** 2 if uno else 1.0
        for j in range(len(times)):
            same = times.time[j] == times.time[i] and not times.event[j]
            if times.time[j] > times.time[i] or same:
                right += weight * ((risk[i] > risk[j]) + 0.5 * (risk[i] == risk[j]))
                total += weight
    value, parts = concordance(times, risk, censoring, 8.0)
    assert value == pytest.approx(right / total, abs=1e-12)
    assert parts.sum() == pytest.approx(0.0, abs=1e-12)
    assert concordance(times, -risk, censoring, 8.0)[0] == pytest.approx(1 - value, abs=1e-12)


def test_the_variance_of_the_concordance_is_that_of_repeated_draws():
    values, variances = [], []
    for seed in range(200):
        times, rng = draw(80, seed), np.random.default_rng(1000 + seed)
        value, parts = concordance(times, -times.time + 4 * rng.normal(size=80))
        values.append(value)
        variances.append(np.sum(parts**2))
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.35)


def test_the_brier_score_of_complete_times_is_the_squared_error():
    times = Times(np.ones(30, dtype=bool), np.arange(30.0))
    chance = np.linspace(0, 1, 30)
    parts = brier_parts(times, chance, 9.5, kaplan_meier(times, censoring=True))
    np.testing.assert_allclose(parts, ((times.time <= 9.5) - chance) ** 2)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        ([[2, 1.0]], "0 .censored. or 1"),
        ([[1, -1.0]], "not negative"),
        ([[1, np.nan]], "not negative"),
        ([["yes", "1"]], "that of Bag 0 is 'yes'"),
        ([["1", "late"]], "that of Bag 0 is 'late'"),
        ([1.0, 2.0], "take a regressor"),
    ],
)
def test_bad_labels_are_named(y, words):
    with pytest.raises(ValueError, match=words):
        check_times(y)


def test_structured_arrays_may_have_the_time_first():
    kinds = [("months", float), ("died", bool)]
    times = check_times(np.array([(3.0, True), (5.0, False)], dtype=kinds))
    np.testing.assert_array_equal(times.event, [True, False])
    np.testing.assert_array_equal(times.time, [3.0, 5.0])
    np.testing.assert_array_equal(check_times(times.as_array()).time, times.time)


def test_no_event_is_refused_and_few_warn():
    with pytest.raises(ValueError, match="All bags are censored"):
        check_events(Times(np.zeros(3, dtype=bool), np.ones(3)))
    with pytest.warns(TaskWarning, match="There are 3 events"):
        check_events(Times(np.ones(3, dtype=bool), np.ones(3)))


def test_risks_that_cannot_be_compared_are_said():
    with pytest.warns(UndefinedMetricWarning, match="cannot be compared"):
        value, _ = concordance(check_times([[1, 2.0], [1, 2.0]]), np.array([0.0, 1.0]))
    assert np.isnan(value)


def test_a_bag_censored_at_the_time_of_an_event_ends_after_it():
    events, time = np.array([True, False]), np.array([2.0, 2.0])
    assert is_ranked(Times(events, time))
    assert not is_ranked(Times(~events[:1], time[:1]))
    assert not is_ranked(Times(events, np.array([2.0, 1.0])))
