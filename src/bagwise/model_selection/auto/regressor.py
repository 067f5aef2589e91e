"""`AutoBagRegressor`: many regressors raced on shared folds, shrunk and combined.

1. Out-of-fold predictions f_m become a_m + b_m f_m by least squares: a candidate whose predictions
   do not rise with the number (b_m <= 0) is left out. Those far out count as those of a fence.
2. Candidates whose squared errors are larger than those of the best one by more than two standard
   errors of the paired difference have no weight.
3. Weights of the M others on n bags (or groups) are those of least

       mean squared error of (sum_m w_m f_m) / variance of y + .3 M / n |w - 1/M|^2,

   w >= 0, sum_m w_m = 1: as those of `AutoBagClassifier`, whose folds, scaling and clock it has.

Reference: D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).
"""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import folds
from bagwise.crossfit.folds import N_FOLDS, number_units
from bagwise.crossfit.scores import find_fences
from bagwise.errors import Parameter
from bagwise.estimators.regressor import BagRegressor
from bagwise.model_selection.auto.base import AutoModel, draw_seed
from bagwise.model_selection.auto.blend import (
    NEGLIGIBLE,
    SMALL,
    Ensemble,
    Sigmoid,
    shrink_weights,
)
from bagwise.model_selection.auto.portfolio import OF_NUMBERS
from bagwise.model_selection.auto.race import Track, judge_r2
from bagwise.models.statistics import StatisticsForestRegressor


def fit_line(predicted: Array, y: Array, weight: Array) -> Sigmoid | None:
    """Fit a rising line to predictions of shape (n, 1); None where they do not rise."""
    fences = find_fences(predicted, weight)
    inside = np.clip(predicted, *fences)[:, 0]
    middle, mean = np.average(inside, weights=weight), np.average(y[:, 0], weights=weight)
    spread = float(weight @ (inside - middle) ** 2)
    slope = float(weight @ ((inside - middle) * (y[:, 0] - mean))) / spread if spread > 0 else 0.0
    if not slope > 0:
        return None
    return Sigmoid(slope, np.array([middle - mean / slope]), fences)


def stack_numbers(lines: Array, y: Array, weight: Array, n_units: float) -> Array:
    """Return the weights of candidates with numbers of shape (n_candidates, n_bags, 1)."""
    share, tied = weight / weight.sum(), find_tied(lines[:, :, 0], y[:, 0], weight, n_units)
    flat = lines[tied, :, 0]
    mean = float(share @ y[:, 0])
    variance = float(share @ (y[:, 0] - mean) ** 2) or 1.0

    def risk(w: Array) -> tuple[float, Array]:
        error = w @ flat - y[:, 0]
        return float(share @ error**2) / variance, 2 * flat @ (share * error) / variance

    weights = np.zeros(len(lines))
    weights[tied] = shrink_weights(risk, len(tied), n_units)
    return weights


def find_tied(lines: Array, y: Array, weight: Array, n_units: float) -> Array:
    """Return the candidates that are at most two standard errors worse than the best one."""
    share, errors = weight / weight.sum(), (lines - y) ** 2
    behind = errors - errors[np.argmin(errors @ share)]
    mean = behind @ share
    spread = np.sqrt((behind - mean[:, None]) ** 2 @ share / n_units)
    return np.flatnonzero(mean <= 2 * spread)


def drop_useless(weights: Array, predicted: Array, y: Array, weight: Array) -> Array:
    """Return weights without those that are negligible, or small and no better than the mean."""
    mean = np.average(y, axis=0, weights=weight)
    errors = [np.average((each - y)[:, 0] ** 2, weights=weight) for each in predicted]
    useless = np.array(errors) >= np.average((y - mean)[:, 0] ** 2, weights=weight)
    kept = np.where(weights < np.where(useless, SMALL, NEGLIGIBLE), 0.0, weights)
    return kept / kept.sum() if kept.any() else weights


class NumbersEnsemble(Ensemble):
    """Candidates with a line each, and their weights."""

    _calibrate = staticmethod(fit_line)
    _stack = staticmethod(stack_numbers)
    _drop = staticmethod(drop_useless)


class AutoBagRegressor(AutoModel, BagRegressor):
    """Try many regressors, and combine those that predict held-out bags best.

    See Also
    --------
    AutoBagClassifier : The same for classes.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import AutoBagRegressor
    >>> rng = np.random.default_rng(0)
    >>> members = [rng.normal(size=(6, 2)) for _ in range(90)]
    >>> y = np.array([X[:, 0].max() for X in members])
    >>> model = AutoBagRegressor(models=["WitnessRegressor", "MeanRegressor"])
    >>> model.fit(members[:60], y[:60]).score(members[60:], y[60:]) > 0.8
    True
    """

    _portfolio, _ensemble, _metric = OF_NUMBERS, NumbersEnsemble, "r2"
    _covariate_models: ClassVar[dict[str, Any]] = {
        "covariates": StatisticsForestRegressor(statistics="none", covariates=True),
    }

    def _fit_values(self, bags: Bags, y: Array, weight: Array) -> None:
        used, seed = weight > 0, draw_seed(self.random_state)
        units = len(np.unique(number_units(bags[used])))
        cv = max(2, min(N_FOLDS, units)) if self.cv is None else self.cv
        splits = folds(bags, y, cv, seed, used, Parameter("cv", ""), ordered=True)
        track = Track(bags[used], y[used], weight[used], splits)
        self._race(track, y[used][:, None], seed)

    def _judge(self, track: Track, scores: Array, bags: Array) -> dict[str, float]:
        return judge_r2(track, scores, bags)

    def _take_chance(self, scores: Array, truth: Array, weight: Array) -> Ensemble:
        errors = [np.average((each - truth)[:, 0] ** 2, weights=weight) for each in scores]
        warnings.warn(
            "No model predicts held-out bags better than their mean does, which is what new bags "
            "get. Check the numbers, and whether the features can say anything about them.",
            UserWarning,
            stacklevel=2,
        )
        mean = float(np.average(truth[:, 0], weights=weight))
        tiny = 1e-9  # a slope of 0 would leave no order of instances
        ends = np.array([[-np.inf], [np.inf]])
        flat = Sigmoid(tiny, np.array([-mean / tiny]), ends)
        return NumbersEnsemble([int(np.argmin(errors))], [flat], np.ones(1))
