"""Metrics of numbers, grades and times on bags that a model has not seen, with 95 % intervals.

A metric is a value and one part per bag: the sum of the squared parts is its variance. Parts of a
metric of numbers or grades say how it changes without the bag (the jackknife); the C-index and the
Brier score are sums over pairs and bags, which have parts by themselves. Units are the groups of
``bags.groups``, or the bags where there are none: parts of bags of one unit are added first, so
that such bags are never taken as independent. Intervals are made on a scale without bounds: the
logarithm of RMSE, MAE and 1 - R^2, Fisher's z of correlations and kappa, log-odds of C. Without any
error such a scale ends, and there is no interval. That of the accuracy is Wilson's, with the number
of bags that would give its variance.
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
from bagwise.metrics import wilson
from bagwise.models.ordinal import number_grades
from bagwise.times import (
    Steps,
    brier_parts,
    check_times,
    concordance,
    excess_events,
    integrate_over,
)

__all__ = ["evaluate_model", "evaluate_times", "measure"]

Interval = tuple[float, float, float]  # value, lower and upper bound
Part = tuple[float, Array]  # a value, and what each bag contributes to its error
# What reports and figures call metrics whose name does not say it.
NAMES = {"auc": "AUC", "rmse": "RMSE", "mae": "mean absolute error", "r2": "R²"}
NAMES |= {"spearman": "Spearman's ρ", "kappa": "quadratic kappa", "accuracy": "accuracy"}
NAMES |= {"harrell_c": "Harrell's C", "uno_c": "Uno's C", "brier": "integrated Brier score"}

# Where errors are normal, the way back, and by how much the scale stretches errors at a value.
Scale = tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any]]
_LOG: Scale = (np.log, np.exp, lambda value: 1 / value)
REST: Scale = (lambda v: np.log(1 - v), lambda u: 1 - np.exp(u), lambda v: 1 / (1 - v))
FISHER: Scale = (np.arctanh, np.tanh, lambda value: 1 / (1 - value**2))
LOGIT: Scale = (logit, expit, lambda value: 1 / (value * (1 - value)))
_PLAIN: Scale = (lambda v: v, lambda v: v, np.ones_like)
# Metrics of the means over bags of squared and absolute error, equality, number and its square,
# prediction and its square.
_OF_MEANS: dict[str, tuple[Callable[[Array], Any], Scale]] = {
    "rmse": (lambda m: np.sqrt(m[0]), _LOG),
    "mae": (lambda m: m[1], _LOG),
    "accuracy": (lambda m: m[2], _PLAIN),
    "r2": (lambda m: 1 - m[0] / (m[4] - m[3] ** 2), REST),
    "kappa": (lambda m: 1 - m[0] / (m[4] + m[6] - 2 * m[3] * m[5]), FISHER),
}
OF_NUMBERS, OF_GRADES = ("rmse", "mae", "r2", "spearman"), ("kappa", "mae", "accuracy")
SCALES = {name: scale for name, (_, scale) in _OF_MEANS.items()}
SCALES |= {"spearman": FISHER, "harrell_c": LOGIT}


def split_parts(name: str, y: Array, predicted: Array) -> Part:
    """Return a metric of numbers, or of numbered grades, and the parts of the bags.

    R^2 and the quadratic kappa of equal numbers are NaN.
    """
    n = len(y)
    if name == "spearman":
        value, rows = _spearman(y, predicted), np.arange(n)
        left = np.array([_spearman(y[rows != i], predicted[rows != i]) for i in rows])
    else:
        error, a, b = y - predicted, y - y.mean(), predicted - y.mean()
        terms = np.array([error**2, np.abs(error), error == 0, a, a**2, b, b**2])
        means = terms.mean(axis=1, keepdims=True)
        with np.errstate(all="ignore"):
            of = _OF_MEANS[name][0]
            value, left = float(of(means)[0]), of(means + (means - terms) / max(n - 1, 1))
    if not np.isfinite(value):
        return float("nan"), np.zeros(n)
    left = np.where(np.isfinite(left), left, value)  # the others may be equal
    return value, left.mean() - left


def _spearman(y: Array, predicted: Array) -> float:
    """Return the correlation of ranks; NaN where one side has equal ranks only."""
    ranks = [rankdata(each) - (len(y) + 1) / 2 for each in (y, predicted)]
    norms = np.linalg.norm(ranks, axis=1).prod()
    return float(ranks[0] @ ranks[1] / norms) if norms > 0 else float("nan")


def measure(
    names: Iterable[str], y: Array, predicted: Array, units: Array | None = None
) -> dict[str, Interval]:
    """Return metrics of numbers, or of numbered grades, with intervals.

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
    quantile = float(student.ppf(0.975, max(int(units.max()), 1)))
    found, n_units = {}, int(units.max()) + 1
    for name in names:
        value, parts = split_parts(name, y, predicted)
        if name == "accuracy":
            found[name] = value, *bound_share(value, _variance(parts, units), n_units, n_units)
        else:
            found[name] = bound_parts(value, parts, units, SCALES[name], quantile)
    return found


def bound_parts(
    value: float, parts: Array, units: Array, scale: Scale, quantile: float = norm.ppf(0.975)
) -> Interval:
    """Return the interval of a value with the parts of bags, of which units are independent."""
    return value, *bound(value, float(np.sqrt(_variance(parts, units))), scale, quantile)


def _variance(parts: Array, units: Array) -> float:
    sums = np.bincount(units, weights=parts)
    ratio = len(sums) / (len(sums) - 1) if 1 < len(sums) < len(parts) else 1.0
    return float(ratio * np.sum(sums**2))


def bound(
    value: float, error: float, scale: Scale, quantile: float = norm.ppf(0.975)
) -> tuple[float, float]:
    """Return the bounds of a value with this standard error, by way of a scale without bounds.

    NaN where the scale ends, as without any error.
    """
    forward, back, stretch = scale
    with np.errstate(all="ignore"):
        half = quantile * error * float(stretch(np.float64(value)))
        low, high = sorted(float(back(forward(value) + step)) for step in (-half, half))
    return (low, high) if np.isfinite([low, high]).all() else (float("nan"), float("nan"))


def bound_share(
    share: float, variance: float, most: float, alike: float, quantile: float = norm.ppf(0.975)
) -> tuple[float, float]:
    """Return Wilson's interval of a share of ``most`` units or, as the variance says, fewer.

    ``alike`` of them count where all are right, or all wrong.
    """
    spread = share * (1 - share)
    many = spread / variance if variance > 0 and spread > 0 else alike
    return wilson(share, min(many, most), quantile)


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
        "harrell_c": bound_parts(*concordance(times, risk, strata=strata), units, LOGIT),
        "uno_c": bound_parts(*concordance(times, risk, censoring, last, strata), units, LOGIT),
    }
    inside = moments < min(last, times.time.max())
    if inside.any():
        survival = np.asarray(survival, dtype=np.float64)
        chances = zip(moments[inside], survival[:, inside].T, strict=True)
        errors = [brier_parts(times, 1 - column, t, censoring) for t, column in chances]
        found["brier"] = _bound_mean(integrate_over(moments[inside], np.array(errors).T), units)
        for k in choose_landmarks(np.flatnonzero(inside)):
            excess = excess_events(times, 1 - survival[:, k], moments[k], censoring)
            found[f"calibration_{moments[k]:.3g}"] = _bound_mean(excess, units)
    return found


def choose_landmarks(numbers: Array) -> list[int]:
    """Return three of many numbers of times, at their quartiles."""
    places = np.quantile(np.arange(len(numbers)), [0.25, 0.5, 0.75])
    return numbers[np.unique(places.round().astype(int))].tolist()


def _bound_mean(values: Array, units: Array) -> Interval:
    mean = float(values.mean())
    return bound_parts(mean, (values - mean) / len(values), units, _PLAIN)


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
        numbers, guesses = (number_grades(np.asarray(of), model.classes_) for of in (y, predicted))
        return measure(OF_GRADES, numbers, guesses, units)
    if task != "times":
        raise ValueError("For classes take bagwise.metrics.evaluation.")
    return evaluate_times(y, predicted, survival, moments, model._censoring(), units, strata)
