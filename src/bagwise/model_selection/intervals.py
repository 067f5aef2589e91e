"""How sure cross-validation is: intervals and paired tests over bags.

A metric is a sum of parts, one per bag, to first order (see `contributions`). With psi_i the
centered part of bag i in one repeat,

    variance = (1 + n_test / n_train) G / (G - 1) sum_g (sum_{i in g} psi_i)^2,

averaged over repeats, where the g are the G groups of bags that belong together, or single bags.
More repeats of the folds are no more bags: they steady the estimate and leave the variance alone.
The first factor is that of Nadeau and Bengio for training sets that overlap. An interval is
Wilson's, with the number of bags that would give this variance, so that it has a width where all
bags are right. Two models are compared by a t-test on psi_i - psi'_i. Coverage was measured:
``docs/results/coverage.md``.

References: C. Nadeau & Y. Bengio, "Inference for the generalization error", Machine Learning 2003;
E. DeLong, D. DeLong & D. Clarke-Pearson, "Comparing the areas under two or more correlated ROC
curves", Biometrics 1988; E. Wilson, "Probable inference", JASA 1927.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, t as student

from bagwise._typing import Array
from bagwise.bags.ids import factorize
from bagwise.model_selection.contributions import PARTS

METRICS = ("auc", "accuracy", "balanced_accuracy")  # what every comparison shows
_DRAWS = 2000  # of joint errors: their 95 % quantile is then known to about .05
_POWER = 0.8  # the usual chance that a study of the size asked for finds the difference


@dataclass(frozen=True)
class Sample:
    """The bags that estimates are about.

    Parameters
    ----------
    y : ndarray of shape (n_bags,)
        Labels.
    classes : ndarray
        The labels that scores stand for, in order.
    cv : int
        Number of folds.
    groups : sequence or None
        Groups of bags that belong together.
    positive : object, default=None
        The positive class; ``classes[1]`` when None.
    """

    y: Array
    classes: Array
    cv: int
    groups: Array | None = None
    positive: Any = None

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
        return max(self.n_units - len(self.classes), 1)

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


@dataclass(frozen=True)
class Estimate:
    """A metric with its 95 % interval, and the parts of the bags in it, one row per repeat."""

    value: float
    low: float
    high: float
    parts: Array  # (n_repeats, n_bags)
    values: Array  # (n_repeats,)


def estimate(metric: str, sample: Sample, scores: list[Array], folds: list[Array]) -> Estimate:
    """Estimate a metric from out-of-fold scores.

    Parameters
    ----------
    metric : str
        Which one: any of `bagwise.metrics.MEASURES`.
    sample : Sample
        The bags.
    scores : list of ndarray of shape (n_bags,) or (n_bags, n_classes)
        One per repeat.
    folds : list of ndarray of shape (n_bags,)
        The fold of each bag, one per repeat.

    Returns
    -------
    Estimate
        Its value is NaN where no fold defines the metric.
    """
    parted = [PARTS[metric](sample, each, of) for each, of in zip(scores, folds, strict=True)]
    values = np.array([value for value, _ in parted])
    parts = np.array([part for _, part in parted])
    value, variance = float(values.mean()), sample.variance(parts)
    smallest = min(np.unique(sample.units[sample.y == k]).size for k in sample.classes)
    spread = value * (1 - value)
    many = spread / variance if variance > 0 and spread > 0 else smallest / sample.correction
    most = sample.n_units * (len(sample.classes) - 1)  # K classes: K AUCs, of which K - 1 are new
    low, high = _wilson(value, min(many, most), sample.quantile)
    return Estimate(value, low, high, parts, values)


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

        Parameters
        ----------
        n_bags : int
            Number of bags that there are.
        limit : float, default=1.96
            Standard errors beyond which a difference is significant.

        Returns
        -------
        float
            So that this is found with a chance of 80 %; infinity where there is no difference.
        """
        if self.value == 0:
            return np.inf
        needed = limit + norm.ppf(_POWER)
        return max(0.0, ((needed * self.error / self.value) ** 2 - 1) * n_bags)


def difference(sample: Sample, first: Estimate, second: Estimate) -> Difference:
    """Compare two estimates of a metric on the repeats that they share.

    Parameters
    ----------
    sample : Sample
        The bags.
    first, second : Estimate
        Of the same metric, on the same folds.

    Returns
    -------
    Difference
        With the p-value of a two-sided t-test.
    """
    shared = min(len(first.values), len(second.values))
    value = float(np.mean(first.values[:shared] - second.values[:shared]))
    error = float(np.sqrt(sample.variance(first.parts[:shared] - second.parts[:shared])))
    t_value = Difference(value, error, np.nan).t_value
    return Difference(value, error, float(2 * student.sf(abs(t_value), sample.freedom)))


def _wilson(value: float, many: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's interval of a fraction of that many."""
    weight = quantile**2 / many
    middle = (value + weight / 2) / (1 + weight)
    half = np.sqrt(weight * value * (1 - value) + weight**2 / 4) / (1 + weight)
    return float(middle - half), float(middle + half)
