"""How sure cross-validation is: intervals and paired tests over bags.

A metric is a sum of parts, one per bag, to first order. With psi_i the
centered part of bag i in one repeat,

    variance = (1 + n_test / n_train) G / (G - 1) sum_g (sum_{i in g} psi_i)^2,

averaged over repeats, where the g are the G groups of bags that belong together, or single bags.
More repeats of the folds are no more bags: they steady the estimate and leave the variance alone.
The first factor is that of Nadeau and Bengio for training sets that overlap. The interval of an AUC
is Newcombe's (`bagwise.metrics.auc_bounds`), with the numbers of independent bags that the groups
are worth, over that factor; other intervals are Wilson's, with the number of bags that would give
this variance. Both have a width where all bags are right. Two models are compared by a t-test on
psi_i - psi'_i. Coverage was measured: ``docs/results/coverage.md``, of the AUC
``docs/results/auc_intervals.md``.

References: C. Nadeau & Y. Bengio, "Inference for the generalization error", Machine Learning 2003;
E. DeLong, D. DeLong & D. Clarke-Pearson, "Comparing the areas under two or more correlated ROC
curves", Biometrics 1988; F. Hampel, "The influence curve and its role in robust estimation", JASA
1974; J. Hsu, "Constrained simultaneous confidence intervals for multiple comparisons with the
best", Annals of Statistics 1984; E. Wilson, "Probable inference", JASA 1927.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm, t as student

from bagwise._typing import Array
from bagwise.bags.ids import factorize
from bagwise.measures import SCALES, Part, bound, bound_share, split_parts
from bagwise.metrics import auc_bounds, count_effective, labels_of, place_scores
from bagwise.times import check_times, concordance

METRICS = ("auc", "accuracy", "balanced_accuracy")  # of any number of classes
OF_TASKS = {"numbers": "r2", "grades": "kappa", "times": "harrell_c"}  # what others have
_DRAWS = 2000  # of joint errors: their 95 % quantile is then known to about .05
_POWER = 0.8  # the usual chance that a study of the size asked for finds the difference


@dataclass(frozen=True)
class Sample:
    """The bags that estimates are about."""

    y: Array
    classes: Array  # the labels that scores stand for, in order
    cv: int  # number of folds
    groups: Array | None = None  # of bags that belong together
    positive: Any = None  # the positive class; classes[1] when None
    task: str = "classes"  # of grades, y are their numbers; classes are empty but for classes

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that a comparison shows."""
        if self.task != "classes":
            return (OF_TASKS[self.task],)
        return (*METRICS, *RATES) if len(self.classes) == 2 else METRICS

    @property
    def chance(self) -> dict[str, float]:
        """What predictions without information have, of other tasks than classes."""
        return {name: 0.5 * (name == "harrell_c") for name in self.metrics}

    @property
    def units(self) -> Array:
        """The number of each bag's group; its own where there are no groups."""
        return np.arange(len(self.y)) if self.groups is None else factorize(self.groups)[0]

    @property
    def n_units(self) -> int:
        """Number of groups, or of bags."""
        return int(self.units.max()) + 1

    @property
    def correction(self) -> float:
        """1 + n_test / n_train, for training sets that overlap."""
        return self.cv / (self.cv - 1)

    @property
    def quantile(self) -> float:
        """How many standard errors a 95 % interval goes to each side."""
        return float(student.ppf(0.975, self.freedom))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of t-tests."""
        return max(self.n_units - max(len(self.classes), 1), 1)

    def draws(self, parts: Array) -> Array:
        """Draw joint errors of several estimates from the parts of bags, one row per estimate."""
        sums = np.array([np.bincount(self.units, weights=row) for row in parts])
        signs = np.random.default_rng(0).standard_normal((_DRAWS, sums.shape[1]))
        return signs @ sums.T

    def variance(self, parts: Array) -> float:
        """Return the variance of a metric from the parts of bags, one row per repeat."""
        sums = [np.bincount(self.units, weights=row) for row in parts]
        ratio = 1.0 if self.groups is None else self.n_units / (self.n_units - 1)
        return float(self.correction * ratio * np.mean([np.sum(each**2) for each in sums]))


# What a bag contributes to a metric ---------------------------------------------------------------
#
# For accuracy it is whether the bag is classified correctly, for the AUC the fraction of bags of
# the other class, in the same fold, on the right side of it. In general it is the derivative of the
# metric in the weight of the bag (its influence), centered. A function returns the metric and the
# parts, one per bag; the sum of their squares estimates the variance of the metric.


def _sides(values: Array, side: Array) -> Part:
    """Return the mean over sides of their means, and (value - mean of its side) / (side's size)."""
    known = np.isfinite(values)
    parts, means = np.zeros(len(values)), []
    for each in np.unique(side):
        rows = np.flatnonzero(known & (side == each))
        if len(rows) == 0:
            return float("nan"), parts
        means.append(values[rows].mean())
        unbiased = np.sqrt(len(rows) * max(len(rows) - 1, 1))
        parts[rows] = (values[rows] - means[-1]) / unbiased
    return float(np.mean(means)), parts


def _accuracy(sample: Sample, scores: Array, _: Array) -> Part:
    right = labels_of(scores, sample.classes) == sample.y
    return _sides(right.astype(float), np.zeros(len(right)))


def _balanced_accuracy(sample: Sample, scores: Array, _: Array) -> Part:
    right = labels_of(scores, sample.classes) == sample.y
    value, parts = _sides(right.astype(float), sample.y)
    return value, parts / len(sample.classes)


def _auc(sample: Sample, scores: Array, folds: Array) -> Part:
    """Average over classes against the rest; pairs of bags count within folds only."""
    one = scores.ndim == 1
    columns = [scores] if one else list(scores.T)
    labels = sample.classes[1:] if one else sample.classes
    parted = []
    for label, column in zip(labels, columns, strict=True):
        truth, placed = sample.y == label, np.full(len(column), np.nan)
        for fold in np.unique(folds):
            rows = folds == fold
            placed[rows] = place_scores(truth[rows], column[rows])
        parted.append(_sides(placed, truth))
    return float(np.mean([v for v, _ in parted])), np.mean([part for _, part in parted], axis=0)


def _of_class(sample: Sample, scores: Array, _: Array, *, positive: bool) -> Part:
    """Return sensitivity or specificity."""
    label = sample.classes[1] if sample.positive is None else sample.positive
    mine = (sample.y == label) == positive
    right = (labels_of(scores, sample.classes) == sample.y).astype(float)
    return _sides(np.where(mine, right, np.nan), np.zeros(len(mine)))


def _of_values(sample: Sample, predicted: Array, _: Array, *, metric: str) -> Part:
    """Return a metric of numbers, or of numbered grades."""
    return split_parts(metric, sample.y, predicted)


def _harrell_c(sample: Sample, risk: Array, folds: Array) -> Part:
    """Count pairs of bags of one fold."""
    return concordance(check_times(sample.y), risk, strata=folds)


RATES = ("sensitivity", "specificity")  # of two classes
PARTS: dict[str, Callable[[Sample, Array, Array], Part]] = {
    "auc": _auc,
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "sensitivity": partial(_of_class, positive=True),
    "specificity": partial(_of_class, positive=False),
    "r2": partial(_of_values, metric="r2"),
    "kappa": partial(_of_values, metric="kappa"),
    "harrell_c": _harrell_c,
}


def task_of(metric: str) -> str:
    """Return the task whose metric it is."""
    return next((task for task, name in OF_TASKS.items() if name == metric), "classes")


def measure_predictions(metric: str, y: Array, predicted: Array, folds: Array) -> float:
    """Return a metric of numbers, numbered grades or times."""
    sample = Sample(y, np.empty(0), int(folds.max()) + 1, task=task_of(metric))
    return PARTS[metric](sample, predicted, folds)[0]


# Estimates and their differences ------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A metric with its 95 % interval, and the parts of the bags in it, one row per repeat."""

    value: float
    low: float
    high: float
    parts: Array  # (n_repeats, n_bags)
    values: Array  # (n_repeats,)


def estimate(metric: str, sample: Sample, scores: list[Array], folds: list[Array]) -> Estimate:
    """Estimate a metric of `PARTS` from out-of-fold scores.

    ``scores`` and ``folds`` (the fold of each bag) have one array per repeat. The value is NaN
    where no fold defines the metric.
    """
    parted = [PARTS[metric](sample, each, of) for each, of in zip(scores, folds, strict=True)]
    values = np.array([value for value, _ in parted])
    parts = np.array([part for _, part in parted])
    value, variance = float(values.mean()), sample.variance(parts)
    if metric == "auc":
        return Estimate(value, *_bound_auc(value, sample, parts[0]), parts, values)
    if metric in OF_TASKS.values():
        bounds = bound(value, float(np.sqrt(variance)), SCALES[metric], sample.quantile)
        return Estimate(value, *bounds, parts, values)
    smallest = min(np.unique(sample.units[sample.y == k]).size for k in sample.classes)
    alike = smallest / sample.correction
    bounds = bound_share(value, variance, sample.n_units, alike, sample.quantile)
    return Estimate(value, *bounds, parts, values)


def _bound_auc(value: float, sample: Sample, parts: Array) -> tuple[float, float]:
    """Return the interval of an AUC; for several classes, as for one of average size."""
    if np.isnan(value):
        return np.nan, np.nan
    labels = sample.classes[1:] if len(sample.classes) == 2 else sample.classes
    counts = [count_effective(sample.y == label, parts, sample.units) for label in labels]
    n_pos, n_neg = np.mean(counts, axis=0) / sample.correction
    return auc_bounds(value, n_pos, n_neg, sample.quantile)


@dataclass(frozen=True)
class Difference:
    """A paired comparison of two models: the first minus the second."""

    value: float
    error: float  # standard error
    p_value: float

    @property
    def t_value(self) -> float:
        """The difference in standard errors."""
        if self.error > 0:
            return self.value / self.error
        return 0.0 if self.value == 0 else float(np.copysign(np.inf, self.value))

    def more_bags(self, n_bags: int, limit: float = 1.96) -> float:
        """Return how many more bags tell the models apart, if they differ as it seems.

        There are ``n_bags``; a difference of more than ``limit`` standard errors is significant,
        and is then found with a chance of 80 %. Infinity where there is no difference.
        """
        if self.value == 0:
            return np.inf
        needed = limit + norm.ppf(_POWER)
        return max(0.0, ((needed * self.error / self.value) ** 2 - 1) * n_bags)


def difference(sample: Sample, first: Estimate, second: Estimate) -> Difference:
    """Compare two estimates of a metric, on the repeats that they share, by a two-sided t-test."""
    shared = min(len(first.values), len(second.values))
    value = float(np.mean(first.values[:shared] - second.values[:shared]))
    error = float(np.sqrt(sample.variance(first.parts[:shared] - second.parts[:shared])))
    t_value = Difference(value, error, np.nan).t_value
    return Difference(value, error, float(2 * student.sf(abs(t_value), sample.freedom)))


# Of several models --------------------------------------------------------------------------------


def limits_of_best(draws: Array, freedom: int, alpha: float = 0.05) -> Array:
    """Say how far each method may seem behind another one and still be the best of all.

    The limit of a method is the 1 - alpha quantile, over draws where no method is better than
    another, of the largest t statistic of the others against it. The methods that are behind no
    other one by more than their limits hold the truly best one with probability 1 - alpha (Hsu's
    multiple comparisons with the best).

    ``draws`` of shape (n_draws, n_methods) are of the joint error of the estimates, ``freedom`` is
    that of the t statistics. Limits are in standard errors of the difference, one per method.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.model_selection.intervals import limits_of_best
    >>> draws = np.random.default_rng(0).normal(size=(5000, 2))
    >>> limits_of_best(draws, 1000).round(1)
    array([1.7, 1.7])
    """
    limits = np.zeros(draws.shape[1])
    for i in range(len(limits)):
        ahead = draws - draws[:, [i]]
        spread = ahead.std(axis=0)
        ahead, spread = ahead[:, spread > 0], spread[spread > 0]
        if len(spread):
            limits[i] = np.quantile((ahead / spread).max(axis=1), 1 - alpha)
    return student.ppf(norm.cdf(limits), freedom)


def holm(p_values: ArrayLike) -> Array:
    """Correct p-values for their number, step by step (Holm).

    The chance that any true hypothesis falls below alpha is at most alpha.

    Examples
    --------
    >>> from bagwise.model_selection.intervals import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected
