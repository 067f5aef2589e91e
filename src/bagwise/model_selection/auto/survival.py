"""`AutoBagSurvival`: models of times raced on shared folds, and combined as log hazards.

1. Out-of-fold risks f_m become log hazards b_m f_m by Cox's model of one feature: a candidate whose
   risks do not rise with the hazard (b_m <= 0) is left out. Risks far out count as the fence.
2. Weights of M candidates on n bags (or groups) are those of least

       -log L(sum_m w_m b_m f_m) / (number of events) + .3 M / n |w - 1/M|^2,

   with L Cox's partial likelihood, w >= 0, sum_m w_m = 1. The survival function has Breslow's
   baseline at the out-of-fold log hazards.

Candidates are Cox's model, right where the whole bag decides, and classifiers at landmark times,
right where one instance does.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit.scores import deviation, find_fences
from bagwise.model_selection.auto.base import AutoModel
from bagwise.model_selection.auto.blend import Ensemble, Risk, Sigmoid
from bagwise.model_selection.auto.portfolio import OF_TIMES
from bagwise.models.statistics import StatisticsLogistic
from bagwise.models.survival import BagSurvival, TimesModel
from bagwise.solvers.cox import cox_baseline, cox_loss, solve_cox
from bagwise.times import Times, check_times, concordance, is_ranked
from bagwise.tolerances import COARSE


def fit_hazard(risk: Array, y: Array, weight: Array) -> Sigmoid | None:
    """Fit a rising log hazard to risks of shape (n, 1); None where it does not rise."""
    fences = find_fences(risk, weight)
    inside = np.clip(risk, *fences)
    middle, spread = np.average(inside[:, 0], weights=weight), deviation(inside)
    if not spread > 0:
        return None
    rows = (inside - middle) / spread
    (slope,), _ = solve_cox(rows, check_times(y[:, 0]), weight, 1.0)
    return Sigmoid(float(slope / spread), np.array([middle]), fences) if slope > COARSE else None


class HazardEnsemble(Ensemble):
    """Candidates with a slope each, and their weights."""

    hopeless = (
        "No model ranks held-out bags better than chance: the risks of new bags differ by next to "
        "nothing. Check the times, and whether the features can say anything about them."
    )
    _flat = 1e-9  # a slope of 0 would leave no order of instances
    _calibrate = staticmethod(fit_hazard)

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


class AutoBagSurvival(AutoModel, TimesModel):
    """Try many models of times, and combine those that rank held-out bags best.

    Attributes
    ----------
    baseline_ : ndarray of shape (n_times,)
        Cumulative hazard of risk 0 at ``times_``, by Breslow.

    See Also
    --------
    AutoBagClassifier, AutoBagRegressor : The same for classes and numbers.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).

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
