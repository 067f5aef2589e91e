"""`AutoBagRegressor` and `AutoBagSurvival`: the road of `AutoBagClassifier` for numbers and times.

1. Out-of-fold predictions f_m become a_m + b_m f_m: numbers by least squares, risks log hazards by
   Cox's model of one feature (a_m = 0 at the mean). A candidate whose predictions do not rise with
   what they are about (b_m <= 0) is left out. Those far out count as those of a fence.
2. Candidates whose squared errors are larger than those of the best one by more than two standard
   errors of the paired difference have no weight (of numbers).
3. Weights of the M others on n bags (or groups) are those of least

       R(sum_m w_m (a_m + b_m f_m)) + .3 M / n |w - 1/M|^2,      w >= 0,  sum_m w_m = 1,

   where R is the mean squared error over the variance of y, or -log L over the number of events,
   with L Cox's partial likelihood. Survival functions have Breslow's baseline at the out-of-fold
   log hazards.

Candidates of times are Cox's model, right where the whole bag decides, and classifiers at landmark
times, right where one instance does.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit.scores import deviation, find_fences
from bagwise.estimators.regressor import BagRegressor
from bagwise.model_selection.auto.base import AutoModel
from bagwise.model_selection.auto.blend import Ensemble, Risk, Sigmoid
from bagwise.model_selection.auto.portfolio import OF_NUMBERS, OF_TIMES
from bagwise.models.statistics import StatisticsForestRegressor, StatisticsLogistic
from bagwise.models.survival import BagSurvival, TimesModel
from bagwise.solvers.cox import cox_baseline, cox_loss, solve_cox
from bagwise.times import Times, check_times, concordance, is_ranked
from bagwise.tolerances import COARSE


class Lines(Ensemble):
    """Candidates with a rising line each, and their weights."""

    _flat = 1e-9  # a slope of 0 would leave no order of instances

    @staticmethod
    def _slope(inside: Array, truth: Array, weight: Array) -> float:
        """Return the slope of the line through predictions of mean 0."""
        raise NotImplementedError

    @classmethod
    def _calibrate(cls, predicted: Array, truth: Array, weight: Array) -> Sigmoid | None:
        """Fit a line to predictions of shape (n, 1); None where it does not rise."""
        fences = find_fences(predicted, weight)
        inside = np.clip(predicted, *fences)
        middle, spread = np.average(inside, axis=0, weights=weight), deviation(inside)
        slope = cls._slope((inside - middle) / spread, truth, weight) if spread > 0 else 0.0
        if not slope > 0:
            return None
        return Sigmoid(slope / spread, middle - cls._base(truth, weight) * spread / slope, fences)


class NumbersEnsemble(Lines):
    """Lines of predicted numbers."""

    hopeless = (
        "No model predicts held-out bags better than their mean does, which is what new bags get. "
        "Check the numbers, and whether the features can say anything about them."
    )

    @staticmethod
    def _slope(inside: Array, truth: Array, weight: Array) -> float:
        x, y = inside[:, 0], truth[:, 0]
        return float(weight @ (x * (y - np.average(y, weights=weight))) / (weight @ x**2))

    @staticmethod
    def _base(truth: Array, weight: Array) -> Array:
        return np.average(truth, axis=0, weights=weight)

    @staticmethod
    def _judge(predicted: Array, y: Array, weight: Array) -> float:
        """Return minus the mean squared error."""
        return -float(np.average((predicted - y)[:, 0] ** 2, weights=weight))

    @classmethod
    def _chance(cls, truth: Array, weight: Array) -> float:
        return cls._judge(cls._base(truth, weight), truth, weight)

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
        errors, share = (logs - truth)[:, :, 0] ** 2, weight / weight.sum()
        behind = errors - errors[np.argmin(errors @ share)]
        mean = behind @ share
        spread = np.sqrt((behind - mean[:, None]) ** 2 @ share / n_units)
        tied, weights = mean <= 2 * spread, np.zeros(len(logs))
        weights[tied] = super().stack(logs[tied], truth, weight, n_units)
        return weights


class HazardEnsemble(Lines):
    """Lines of log hazards."""

    hopeless = (
        "No model ranks held-out bags better than chance: the risks of new bags differ by next to "
        "nothing. Check the times, and whether the features can say anything about them."
    )

    @staticmethod
    def _slope(inside: Array, truth: Array, weight: Array) -> float:
        (slope,), _ = solve_cox(inside, check_times(truth[:, 0]), weight, 1.0)
        return float(slope) if slope > COARSE else 0.0

    @staticmethod
    def _judge(risks: Array, y: Array, _: Array) -> float:
        times = check_times(y[:, 0])  # of all bags, of those of some folds, or of finished folds
        return concordance(times, risks[:, 0])[0] if is_ranked(times) else 0.5

    @staticmethod
    def _chance(truth: Array, weight: Array) -> float:
        return 0.5

    @staticmethod
    def _risk(logs: Array, truth: Array, weight: Array) -> Risk:
        rows, times = logs[:, :, 0].T, check_times(truth[:, 0])
        n_events = float(weight @ times.event)

        def risk(w: Array) -> tuple[float, Array]:
            value, slopes = cox_loss(rows, times, weight, w)
            return value / n_events, slopes / n_events

        return risk


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


class AutoBagSurvival(AutoModel, TimesModel):
    """Try many models of times, and combine those that rank held-out bags best.

    Attributes
    ----------
    baseline_ : ndarray of shape (n_times,)
        Cumulative hazard of risk 0 at ``times_``, by Breslow.

    See Also
    --------
    AutoBagClassifier, AutoBagRegressor : The same for classes and numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import AutoBagSurvival
    >>> rng = np.random.default_rng(0)
    >>> members = [rng.normal(size=(6, 2)) for _ in range(120)]
    >>> time = rng.exponential(np.exp([-3 * X[:, 0].max() for X in members]))
    >>> y = np.column_stack([time < 1.0, np.minimum(time, 1.0)])
    >>> model = AutoBagSurvival(models=["BagSurvival", "CoxBag"]).fit(members[:80], y[:80])
    >>> model.score(members[80:], y[80:]) > 0.7
    True
    """

    _portfolio, _ensemble, _metric = OF_TIMES, HazardEnsemble, "harrell_c"
    _covariate_models: ClassVar[dict[str, Any]] = {
        "covariates": BagSurvival(estimator=StatisticsLogistic(statistics="none", covariates=True))
    }

    def _fit_labels(self, bags: Bags, y: Times, weight: Array) -> None:
        if not is_ranked(y):
            raise ValueError(
                "No event comes before the end of another bag: models cannot be compared by how "
                "they rank bags. Give bags that were observed for longer, or fit CoxBag."
            )
        labels = y.as_array()
        self._race(bags, labels, labels[:, None], weight)
        scores, truth, of_bags = self._held_out
        self.times_, self.baseline_ = cox_baseline(scores[:, 0], check_times(truth[:, 0]), of_bags)
