"""Metrics of numbers, grades and times on bags that a model has not seen, with 95 % intervals.

Units are the groups of ``bags.groups``, or the bags where there are none; bags of one unit are
never taken as independent. The standard errors of numbers and grades are those of the jackknife
over units, on a scale without bounds: the logarithm of RMSE, MAE and 1 - R^2, Fisher's z of
correlations and kappa. The C-index and the Brier score are sums over pairs and bags: their variance
is the sum of the squares of what units contribute, and the interval of C is that of its logit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm, rankdata, t as student

from bagwise._documented import documenting
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit.folds import number_units
from bagwise.estimators.regressor import check_numbers
from bagwise.estimators.tags import innermost
from bagwise.times import (
    Steps,
    Times,
    brier_parts,
    check_times,
    concordance,
    excess_events,
    integrate_over,
)

__all__ = ["evaluate_model", "evaluate_times", "measure"]

Interval = tuple[float, float, float]  # value, lower and upper bound
# What reports and figures call metrics whose name does not say it.
NAMES = {"auc": "AUC", "rmse": "RMSE", "mae": "mean absolute error", "r2": "R²"}
NAMES |= {"spearman": "Spearman's ρ", "kappa": "quadratic kappa", "accuracy": "accuracy"}
NAMES |= {"harrell_c": "Harrell's C", "uno_c": "Uno's C", "brier": "integrated Brier score"}


def r2(y: Array, predicted: Array) -> float:
    """Return the share of the variance that is explained; NaN of equal numbers."""
    spread = float(np.sum((y - y.mean()) ** 2))
    return 1 - float(np.sum((y - predicted) ** 2)) / spread if spread > 0 else float("nan")


def spearman(y: Array, predicted: Array) -> float:
    """Return the correlation of ranks; NaN where one side has equal ranks only."""
    ranks = [rankdata(each) - (len(y) + 1) / 2 for each in (y, predicted)]
    norms = np.linalg.norm(ranks, axis=1).prod()
    return float(ranks[0] @ ranks[1] / norms) if norms > 0 else float("nan")


def quadratic_kappa(y: Array, predicted: Array) -> float:
    """Return Cohen's kappa of numbered grades with quadratic weights; NaN of one grade."""
    expected = np.mean((y[:, None] - predicted) ** 2)
    return float(1 - np.mean((y - predicted) ** 2) / expected) if expected > 0 else float("nan")


# Where errors are normal, the way back, and by how much the scale stretches errors at a value.
Scale = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]
_LOG: Scale = (np.log, np.exp, lambda value: 1 / value)
REST: Scale = (lambda v: np.log(1 - v), lambda u: 1 - np.exp(u), lambda v: 1 / (1 - v))
FISHER: Scale = (np.arctanh, np.tanh, lambda value: 1 / (1 - value**2))
LOGIT: Scale = (logit, expit, lambda value: 1 / (value * (1 - value)))
_PLAIN: Scale = (lambda v: v, lambda v: np.clip(v, 0.0, 1.0), np.ones_like)
_MEASURES: dict[str, tuple[Callable[[Array, Array], float], Scale]] = {
    "rmse": (lambda y, predicted: float(np.sqrt(np.mean((y - predicted) ** 2))), _LOG),
    "mae": (lambda y, predicted: float(np.mean(np.abs(y - predicted))), _LOG),
    "r2": (r2, REST),
    "spearman": (spearman, FISHER),
    "kappa": (quadratic_kappa, FISHER),
    "accuracy": (lambda y, predicted: float(np.mean(y == predicted)), _PLAIN),
}
OF_NUMBERS, OF_GRADES = ("rmse", "mae", "r2", "spearman"), ("kappa", "mae", "accuracy")


def measure(
    names: Iterable[str], y: Array, predicted: Array, units: Array | None = None
) -> dict[str, Interval]:
    """Return metrics of numbers, or of numbered grades, with intervals by the jackknife over units.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.measures import OF_NUMBERS, measure
    >>> y, predicted = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.1, 2.1, 2.9, 3.9])
    >>> value, low, high = measure(OF_NUMBERS, y, predicted)["r2"]
    >>> round(value, 3)
    0.992
    """
    units = np.arange(len(y)) if units is None else units
    n_units = int(units.max()) + 1
    kept = [units != unit for unit in range(n_units)]
    found: dict[str, Interval] = {}
    for name in names:
        of, scale = _MEASURES[name]
        value = of(y, predicted)
        with np.errstate(all="ignore"):
            left = scale[0](np.array([of(y[rows], predicted[rows]) for rows in kept]))
            error = np.sqrt((n_units - 1) / n_units * np.sum((left - left.mean()) ** 2))
            half = student.ppf(0.975, max(n_units - 1, 1)) * error
        found[name] = value, *_bound_at(value, half, scale)
    return found


def _bound_at(value: float, half: float, scale: Scale) -> tuple[float, float]:
    """Return the bounds of an interval of this half-width on the scale."""
    forward, back, _ = scale
    with np.errstate(all="ignore"):
        low, high = sorted(float(back(forward(value) + step)) for step in (-half, half))
    # Without any error the scale ends: the value is all that is known.
    return (low, high) if np.isfinite(low) and np.isfinite(high) else (value, value)


def bound(
    value: float, error: float, scale: Scale, quantile: float = norm.ppf(0.975)
) -> tuple[float, float]:
    """Return the bounds of a value with this standard error, by way of a scale without bounds."""
    with np.errstate(all="ignore"):
        return _bound_at(value, quantile * error * float(scale[2](np.float64(value))), scale)


def evaluate_times(
    y: Any,
    risk: Any,
    survival: Any,
    moments: Any,
    censoring: Steps,
    units: Any = None,
    strata: Any = None,
) -> dict[str, Interval]:
    """Return Harrell's and Uno's C of risks, and the integrated Brier score of survival functions.

    "calibration_t" is how much more events come up to the time t than predicted, as a share of the
    bags, at up to three of the ``moments``, where ``survival`` has a column each. All but Harrell's
    C are weighted for ``censoring``, the training bags' probability of being uncensored. Only pairs
    of one of the ``strata``, such as folds, are compared.
    """
    times, risk = check_times(y), np.asarray(risk, dtype=np.float64)
    units = np.arange(len(times)) if units is None else units
    moments = np.asarray(moments, dtype=np.float64)
    last = float(censoring.times[-1])
    found = {
        "harrell_c": interval_of_pairs(*concordance(times, risk, strata=strata), units),
        "uno_c": interval_of_pairs(*concordance(times, risk, censoring, last, strata), units),
    }
    inside = moments < min(last, times.time.max())
    if inside.any():
        survival = np.asarray(survival, dtype=np.float64)
        parts = _integrate(times, survival[:, inside], moments[inside], censoring)
        found["brier"] = _of_mean(parts, units)
        for k in choose_landmarks(np.flatnonzero(inside)):
            excess = excess_events(times, 1 - survival[:, k], moments[k], censoring)
            found[f"calibration_{moments[k]:.3g}"] = _of_mean(excess, units)
    return found


def choose_landmarks(numbers: Array) -> list[int]:
    """Return three of many numbers of times, at their quartiles."""
    places = np.quantile(np.arange(len(numbers)), [0.25, 0.5, 0.75])
    return numbers[np.unique(places.round().astype(int))].tolist()


def _integrate(times: Times, survival: Array, moments: Array, censoring: Steps) -> Array:
    columns = [
        brier_parts(times, 1 - column, t, censoring)
        for t, column in zip(moments, survival.T, strict=True)
    ]
    return integrate_over(moments, np.stack(columns, axis=1))


@documenting(
    {
        "model": ("bag estimator, Pipeline or search", "Fitted."),
        "bags": ("Bags, or anything check_bags takes", "The test bags."),
        "y": ("array-like of shape (n_bags,)", "Their labels."),
    },
    "dict of str to (float, float, float)\n"
    "    Value, lower and upper bound of 95 % confidence by metric.",
)()
def evaluate_model(model: Any, bags: Any, y: Any) -> dict[str, Interval]:
    """Return the metrics of a model of numbers, grades or times on bags that it has not seen.

    Examples
    --------
    >>> from bagwise import MeanRegressor
    >>> from bagwise.measures import evaluate_model
    >>> bags, y = [[[0.0], [1.0]], [[2.0]], [[3.0]], [[5.0]]], [0.6, 2.1, 2.9, 5.0]
    >>> sorted(evaluate_model(MeanRegressor(kernel="linear").fit(bags, y), bags, y))
    ['mae', 'r2', 'rmse', 'spearman']
    """
    bags = check_bags(bags, finite=False)
    inner, seen = innermost(model, bags, passes=lambda step: True)
    predicted = inner.predict(seen)
    if getattr(inner, "task", "classes") != "times":
        return judge_predictions(inner, bags, y, predicted)
    survival = inner.predict_survival_function(seen)
    return judge_predictions(inner, bags, y, predicted, survival, inner.times_)


def judge_predictions(
    model: Any,
    bags: Bags,
    y: Any,
    predicted: Array,
    survival: Any = None,
    moments: Any = None,
    strata: Any = None,
) -> dict[str, Interval]:
    """Return the metrics of predictions by a model or copies of it; refuse labels of other tasks.

    The last three are those of `evaluate_times`.
    """
    units, task = number_units(bags), getattr(model, "task", "numbers")
    if task == "numbers":
        return measure(OF_NUMBERS, check_numbers(model, bags, y), predicted, units)
    if task == "grades":
        numbers, guesses = (model._number(np.asarray(of)) for of in (y, predicted))
        return measure(OF_GRADES, numbers, guesses, units)
    if task != "times":
        raise ValueError("For classes take bagwise.metrics.evaluation.")
    return evaluate_times(y, predicted, survival, moments, model._censoring(), units, strata)


def interval_of_pairs(value: float, parts: Array, units: Array) -> Interval:
    """Return the interval of a share of pairs, on the scale of log-odds."""
    error = float(np.sqrt(np.sum(np.bincount(units, weights=parts) ** 2)))
    return value, *bound(value, error, LOGIT)


def _of_mean(values: Array, units: Array) -> Interval:
    """Return the interval of a mean over bags, whose units are independent."""
    mean = float(values.mean())
    sums = np.bincount(units, weights=(values - mean) / len(values))
    half = float(norm.ppf(0.975) * np.sqrt(np.sum(sums**2)))
    return mean, mean - half, mean + half
