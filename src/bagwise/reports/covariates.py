"""Do the instances add anything beyond the covariates? A paired test on held-out bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import folds
from bagwise.estimators.covariates import uses_covariates
from bagwise.model_selection.intervals import Difference, Sample, difference, estimate
from bagwise.models.statistics import StatisticsLogistic
from bagwise.reports.judgment import Judgment, judge


@dataclass(frozen=True)
class Added:
    """AUC of a model with instances and covariates, of covariates alone, and the difference."""

    both: float
    alone: float
    more: Difference
    quantile: float  # standard errors to each side of a 95 % interval

    @property
    def answer(self) -> str:
        """The answer in a sentence."""
        low, high = (self.more.value + side * self.quantile * self.more.error for side in (-1, 1))
        found = "no difference was found between both and the covariates alone"
        if self.more.p_value < 0.05:
            found = f"instances {'add to' if self.more.value > 0 else 'take away from'} them"
        return (
            f"Do the instances add anything beyond the covariates? With both, the AUC is "
            f"{self.both:.3f}, and {self.alone:.3f} with the covariates alone (logistic "
            f"regression): {self.more.value:+.3f} ({low:+.3f} to {high:+.3f}), p = "
            f"{self.more.p_value:.2g} by a paired test on the same held-out bags: {found}."
        )


def compare_with_covariates(
    model: Any, bags: Bags, y: Array, cv: Any, judgment: Judgment
) -> Added | None:
    """Compare out-of-fold scores with those of covariates alone, in the same folds.

    None for models without covariates, or where the model was not judged by folds.
    """
    if not judgment.n_folds or not uses_covariates(model):
        return None
    labels = np.where(judgment.truth, 1, 0)
    alone = StatisticsLogistic(statistics="none", covariates=True).fit(bags, labels)
    fold = np.empty(len(bags), dtype=int)
    for number, (_, test) in enumerate(folds(bags, y, cv, 0)):
        fold[test] = number
    sample = Sample(labels, np.array([0, 1]), judgment.n_folds, bags.groups)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]
    scores = judgment.scores, judge(alone, bags, labels, splits).scores
    both, other = (estimate("auc", sample, [each], [fold]) for each in scores)
    return Added(both.value, other.value, difference(sample, both, other), sample.quantile)
