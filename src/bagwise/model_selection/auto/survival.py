"""`AutoBagSurvival`: models of times raced on shared folds, and combined as log hazards.

1. Out-of-fold risks f_m become log hazards b_m f_m by Cox's model of one feature: a candidate whose
   risks do not rise with the hazard (b_m <= 0) is left out. Risks far out count as the fence.
2. Weights of M candidates on n bags (or groups) are those of least

       -log L(sum_m w_m b_m f_m) / (number of events) + .3 M / n |w - 1/M|^2,

   with L Cox's partial likelihood, w >= 0, sum_m w_m = 1. The survival function has Breslow's
   baseline at the out-of-fold log hazards.

Candidates are Cox's model, right where the whole bag decides, and classifiers at landmark times,
right where one instance does.

Reference: D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).
"""

from __future__ import annotations

import warnings

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import folds
from bagwise.crossfit.folds import N_FOLDS, number_units
from bagwise.crossfit.scores import find_fences
from bagwise.errors import Parameter
from bagwise.model_selection.auto.base import AutoModel, draw_seed
from bagwise.model_selection.auto.blend import (
    NEGLIGIBLE,
    SMALL,
    Ensemble,
    Sigmoid,
    shrink_weights,
)
from bagwise.model_selection.auto.portfolio import OF_TIMES
from bagwise.model_selection.auto.race import Track
from bagwise.model_selection.intervals import Sample, estimate
from bagwise.models.survival import TimesModel
from bagwise.solvers.cox import cox_baseline, cox_loss, solve_cox
from bagwise.times import Times, check_times, concordance
from bagwise.tolerances import COARSE


def fit_hazard(risk: Array, y: Array, weight: Array) -> Sigmoid | None:
    """Fit a rising log hazard to risks of shape (n, 1); None where it does not rise."""
    fences = find_fences(risk, weight)
    inside = np.clip(risk, *fences)
    middle, spread = np.average(inside[:, 0], weights=weight), inside.std()
    if not spread > 0:
        return None
    rows = (inside - middle) / spread
    (slope,), _ = solve_cox(rows, check_times(y[:, 0]), weight, 1.0)
    return Sigmoid(float(slope / spread), np.array([middle]), fences) if slope > COARSE else None


def stack_hazards(logs: Array, y: Array, weight: Array, n_units: float) -> Array:
    """Return the weights of candidates with log hazards of shape (n_candidates, n_bags, 1)."""
    rows, times = logs[:, :, 0].T, check_times(y[:, 0])
    n_events = float(weight @ times.event)

    def risk(w: Array) -> tuple[float, Array]:
        value, slopes = cox_loss(rows, times, weight, w)
        return value / n_events, slopes / n_events

    return shrink_weights(risk, len(logs), n_units)


def drop_useless(weights: Array, risks: Array, y: Array, weight: Array) -> Array:
    """Return weights without those that are negligible, or small and no better than chance."""
    times = check_times(y[:, 0])
    useless = np.array([concordance(times, risk[:, 0])[0] <= 0.5 for risk in risks])
    kept = np.where(weights < np.where(useless, SMALL, NEGLIGIBLE), 0.0, weights)
    return kept / kept.sum() if kept.any() else weights


class HazardEnsemble(Ensemble):
    """Candidates with a slope each, and their weights."""

    _calibrate = staticmethod(fit_hazard)
    _stack = staticmethod(stack_hazards)
    _drop = staticmethod(drop_useless)


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

    def _fit_times(self, bags: Bags, y: Times, weight: Array) -> None:
        used, seed, labels = weight > 0, draw_seed(self.random_state), y.as_array()
        units = len(np.unique(number_units(bags[used])))
        cv = max(2, min(N_FOLDS, units)) if self.cv is None else self.cv
        splits = folds(bags, labels, cv, seed, used, Parameter("cv", ""), ordered=True)
        track = Track(bags[used], labels[used], weight[used], splits)
        self._race(track, labels[used][:, None], seed)
        scores, truth, of_bags = self._held_out
        self.times_, self.baseline_ = cox_baseline(scores[:, 0], check_times(truth[:, 0]), of_bags)

    def _survival(self, bags: Bags) -> Array:
        return np.exp(-np.exp(self._score_bags(bags)) * self.baseline_)

    def _judge(self, track: Track, scores: Array, bags: Array) -> dict[str, float]:
        groups = None if track.bags.groups is None else track.bags.groups[bags]
        sample = Sample(track.y[bags], np.empty(0), len(track.splits), groups, task="times")
        found = estimate("harrell_c", sample, [scores], [track.fold_numbers()[bags]])
        return {"harrell_c": found.value, "low": found.low, "high": found.high}

    def _take_chance(self, scores: Array, truth: Array, weight: Array) -> Ensemble:
        times = check_times(truth[:, 0])
        ranked = [concordance(times, risk[:, 0])[0] for risk in scores]
        warnings.warn(
            "No model ranks held-out bags better than chance: the risks of new bags differ by next "
            "to nothing. Check the times, and whether the features can say anything about them.",
            UserWarning,
            stacklevel=2,
        )
        ends = np.array([[-np.inf], [np.inf]])
        flat = Sigmoid(1e-9, np.zeros(1), ends)  # a slope of 0 would leave no order of instances
        return HazardEnsemble([int(np.nanargmax(ranked))], [flat], np.ones(1))
