"""`AutoBagRegressor`: many regressors raced on shared folds, shrunk and combined.

1. Out-of-fold predictions f_m become a_m + b_m f_m by least squares: a candidate whose predictions
   do not rise with the number (b_m <= 0) is left out. Those far out count as those of a fence.
2. Candidates whose squared errors are larger than those of the best one by more than two standard
   errors of the paired difference have no weight.
3. Weights of the M others on n bags (or groups) are those of least

       mean squared error of (sum_m w_m f_m) / variance of y + .3 M / n |w - 1/M|^2,

   w >= 0, sum_m w_m = 1: as those of `AutoBagClassifier`, whose folds, scaling and clock it has.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit.scores import find_fences
from bagwise.estimators.regressor import BagRegressor
from bagwise.model_selection.auto.base import AutoModel
from bagwise.model_selection.auto.blend import Ensemble, Risk, Sigmoid
from bagwise.model_selection.auto.portfolio import OF_NUMBERS
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


def find_tied(lines: Array, y: Array, weight: Array, n_units: float) -> Array:
    """Return the candidates that are at most two standard errors worse than the best one."""
    share, errors = weight / weight.sum(), (lines - y) ** 2
    behind = errors - errors[np.argmin(errors @ share)]
    mean = behind @ share
    spread = np.sqrt((behind - mean[:, None]) ** 2 @ share / n_units)
    return np.flatnonzero(mean <= 2 * spread)


def _mean(truth: Array, weight: Array) -> Array:
    return np.average(truth, axis=0, weights=weight)


def _fit_of(predicted: Array, y: Array, weight: Array) -> float:
    """Return minus the mean squared error."""
    return -float(np.average((predicted - y)[:, 0] ** 2, weights=weight))


class NumbersEnsemble(Ensemble):
    """Candidates with a line each, and their weights."""

    hopeless = (
        "No model predicts held-out bags better than their mean does, which is what new bags get. "
        "Check the numbers, and whether the features can say anything about them."
    )
    _flat = 1e-9  # a slope of 0 would leave no order of instances
    _calibrate = staticmethod(fit_line)
    _judge = staticmethod(_fit_of)
    _base = staticmethod(_mean)

    @staticmethod
    def _chance(truth: Array, weight: Array) -> float:
        return _fit_of(_mean(truth, weight), truth, weight)

    @staticmethod
    def _risk(logs: Array, truth: Array, weight: Array) -> Risk:
        flat, y, share = logs[:, :, 0], truth[:, 0], weight / weight.sum()
        variance = float(share @ (y - share @ y) ** 2) or 1.0

        def risk(w: Array) -> tuple[float, Array]:
            error = w @ flat - y
            return float(share @ error**2) / variance, 2 * flat @ (share * error) / variance

        return risk

    @classmethod
    def stack(cls, logs: Array, truth: Array, weight: Array, n_units: float) -> Array:
        """Return the weights of candidates, 0 for those that are clearly worse than the best."""
        weights = np.zeros(len(logs))
        tied = find_tied(logs[:, :, 0], truth[:, 0], weight, n_units)
        weights[tied] = super().stack(logs[tied], truth, weight, n_units)
        return weights


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
        "covariates": StatisticsForestRegressor(statistics="none", covariates=True)
    }

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        self._race(bags, y, y[:, None], weight)
