"""Metrics of numbers, grades and times: values by scikit-learn, intervals by simulation."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import (
    cohen_kappa_score,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

from bagwise import MeanRegressor, OrdinalBagClassifier
from bagwise.measures import (
    FISHER,
    LOGIT,
    OF_GRADES,
    OF_NUMBERS,
    REST,
    bound,
    evaluate_model,
    evaluate_times,
    measure,
)
from bagwise.metrics import wilson
from bagwise.times import Times, check_times, kaplan_meier


def test_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y = rng.normal(size=80)
    predicted = y + rng.normal(size=80)
    found = {name: value for name, (value, *_) in measure(OF_NUMBERS, y, predicted).items()}
    assert found["rmse"] == pytest.approx(root_mean_squared_error(y, predicted))
    assert found["mae"] == pytest.approx(mean_absolute_error(y, predicted))
    assert found["r2"] == pytest.approx(r2_score(y, predicted))
    assert found["spearman"] == pytest.approx(spearmanr(y, predicted).statistic)
    grades, guesses = rng.integers(0, 4, 80), rng.integers(0, 4, 80)
    expected = cohen_kappa_score(grades, guesses, weights="quadratic")
    assert measure(OF_GRADES, grades, guesses)["kappa"][0] == pytest.approx(expected)


def covered(draw, truth, n_draws=120):
    hits = 0
    for seed in range(n_draws):
        _, low, high = draw(np.random.default_rng(seed))
        hits += low <= truth <= high
    return hits / n_draws


def test_intervals_of_numbers_cover_also_where_bags_come_in_groups():
    def draw(rng):
        units = np.repeat(np.arange(40), 3)
        error = np.repeat(rng.normal(size=40), 3) + 0.5 * rng.normal(size=120)
        return measure(OF_NUMBERS, np.zeros(120), error, units)["rmse"]

    assert covered(draw, np.sqrt(1.25)) > 0.86


def test_intervals_of_the_concordance_cover():
    def sample(rng, n):
        risk = rng.normal(size=n)
        time, censored = rng.exponential(np.exp(-risk)), 2 * rng.exponential(size=n)
        return Times(time <= censored, np.minimum(time, censored)), risk

    def c_of(rng, n=120):
        times, risk = sample(rng, n)
        survival = np.full((n, 1), 0.5)
        censoring = kaplan_meier(times, censoring=True)
        return evaluate_times(times, risk, survival, [0.5], censoring)["harrell_c"]

    truth = c_of(np.random.default_rng(999), 3000)[0]
    assert 0.88 < covered(c_of, truth) <= 1.0


@pytest.mark.parametrize("groups", [1, 2])
def test_an_accuracy_of_grades_has_the_interval_of_wilson(groups):
    y, units = np.arange(20) % 3, np.arange(20) // groups
    assert measure(OF_GRADES, y, y, units)["accuracy"] == (1.0, *wilson(1.0, 20 / groups))
    some = np.where(np.arange(20) < 4, 2 - y, y)  # two of the first four are right
    value, low, high = measure(OF_GRADES, y, some, np.arange(20))["accuracy"]
    assert (value, low, high) == pytest.approx((value, *wilson(value, 20)), abs=0.02)
    bags = measure(OF_GRADES, y, some, np.repeat(np.arange(5), 4))["accuracy"]
    assert bags[2] - bags[1] > high - low


def test_the_brier_score_is_low_for_the_true_probabilities():
    rng = np.random.default_rng(0)
    risk = rng.normal(size=400)
    time = rng.exponential(np.exp(-risk))
    times, moments = Times(time < 2, np.minimum(time, 2)), np.array([0.2, 0.5, 1.0])
    survival = np.exp(-np.exp(risk)[:, None] * moments)
    censoring = kaplan_meier(times, censoring=True)
    good = evaluate_times(times, risk, survival, moments, censoring)["brier"]
    flat = evaluate_times(times, risk, 0 * survival + 0.5, moments, censoring)["brier"]
    assert good[2] < flat[1]
    assert flat[0] == pytest.approx(0.25)


def test_calibration_is_about_zero_for_true_chances_and_finds_those_that_are_not():
    rng = np.random.default_rng(0)
    rate, moments = rng.exponential(size=4000), np.array([0.3, 0.6])
    time, until = rng.exponential(1 / rate), rng.exponential(1.0, size=4000)
    y = np.column_stack([time <= until, np.minimum(time, until)])
    censoring = kaplan_meier(check_times(y), censoring=True)
    survival = np.exp(-rate[:, None] * moments)
    right = evaluate_times(y, rate, survival, moments, censoring)
    wrong = evaluate_times(y, rate, survival**2, moments, censoring)
    for t in ("0.3", "0.6"):
        assert right[f"calibration_{t}"][1] < 0 < right[f"calibration_{t}"][2]
        assert wrong[f"calibration_{t}"][2] < -0.05


@pytest.mark.parametrize("scale", [REST, FISHER, LOGIT])
def test_a_perfect_value_has_no_interval(scale):
    """It once was its own interval, as if eight bags had proved it."""
    assert np.isnan(bound(1.0, 0.0, scale)).all()
    low, high = bound(0.9, 0.05, scale)
    assert low < 0.9 < high < 1


@pytest.mark.parametrize(
    ("model", "y", "wrong", "said"),
    [
        (MeanRegressor(kernel="linear"), [0.5, 1.5, 2.5, 3.5], ["a", "b", "a", "b"], "classifier"),
        (OrdinalBagClassifier(), [0, 0, 1, 1], [0, 7, 1, 1], "contains 7"),
    ],
)
def test_labels_of_another_task_are_named(model, y, wrong, said):
    bags = [[[0.0], [0.1]], [[1.0]], [[2.0]], [[3.0]]]
    with pytest.raises(ValueError, match=said):
        evaluate_model(model.fit(bags, y), bags, wrong)
