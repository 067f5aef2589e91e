"""`AutoBagClassifier`: many classifiers raced on shared folds, calibrated and combined."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit.folds import count_fewest, number_units
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.tags import BagTags
from bagwise.model_selection.auto.base import AutoModel
from bagwise.model_selection.auto.blend import Ensemble
from bagwise.model_selection.auto.portfolio import PORTFOLIO
from bagwise.model_selection.auto.race import Track, Trial
from bagwise.models.statistics import StatisticsForest, StatisticsLogistic

_ENOUGH = 30  # bags of each class: standard errors of fewer are too small


class AutoBagClassifier(AutoModel, BagClassifier):
    """Try many models, and combine those that predict held-out bags best.

    Attributes
    ----------
    hint_ : str
        What to think of where models of the standard assumption do clearly worse; empty otherwise.

    See Also
    --------
    BagEnsemble : Many copies of one model.

    References
    ----------
    .. [1] D. H. Wolpert, "Stacked generalization", Neural Networks 5 (1992).

    Examples
    --------
    >>> from bagwise import AutoBagClassifier
    >>> from bagwise.datasets import make_gaussian_bags
    >>> bags, y = make_gaussian_bags(n_bags=60, shift=4.0, random_state=0)
    >>> model = AutoBagClassifier(models=["MI-SVM", "SimpleMI"]).fit(bags[:40], y[:40])
    >>> model.score(bags[40:], y[40:]) > 0.8
    True
    """

    _portfolio, _ensemble, _metric = PORTFOLIO, Ensemble, "auc"
    _covariate_models: ClassVar[dict[str, Any]] = {
        "covariates": StatisticsLogistic(statistics="none", covariates=True),
        "covariates, trees": StatisticsForest(statistics="none", covariates=True, max_depth=4),
    }

    _uses_known = None  # its members may

    assumption: str = param(
        "any",
        Words("any", "standard"),
        'What may make a bag positive. "standard" tries only models whose score can only rise when '
        "an instance is added: they cannot learn that bags are positive because of what they lack.",
    )
    probability: bool | str = shared("probability", default="sigmoid")
    calibration_cv: Any = shared(
        "calibration_cv",
        default=None,
        doc="Folds of the out-of-fold scores behind ``threshold`` and ``probability``. None takes "
        "the scores of the comparison; anything else repeats the whole comparison in every fold.",
    )
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """Models of the standard assumption can only rise with an instance."""
        whole = "standard" if self.assumption == "standard" else "other"
        return replace(super().__bag_tags__(), whole_bag=whole)

    def _settings(self) -> dict[str, Any]:
        return {"pos_label": self.pos_label}

    def _n_columns(self) -> int:
        return len(self.classes_)

    def _accept(self, trials: list[Trial]) -> list[Trial]:
        if self.assumption == "any":
            return super()._accept(trials)
        trials = [trial for trial in trials if trial.assumption == "standard"]
        if not trials:
            raise ValueError(
                "models is empty: name at least one model to try of the standard assumption, or "
                'use assumption="any".'
            )
        return trials

    # Fitting -------------------------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._race(bags, self.classes_[codes], self._truth(codes), weight)

    def _find_useless(self, track: Track, trials: list[Trial], truth: Array) -> dict[str, str]:
        """Return candidates that do not help the ensemble of the first fold, if it is large."""
        test = track.splits[0][1]
        bags, tried = track.bags[test], [trial for trial in trials if trial.cells]
        if count_fewest(bags, track.y[test]) < _ENOUGH or not tried:
            return {}
        scores = np.stack([self._towards_positive(trial.cells[0]) for trial in tried])
        given = scores, truth[test], track.weight[test], number_units(bags)
        why = "its weight would only raise the log loss of the first fold"
        return {tried[i].name: why for i in self._ensemble.find_useless(*given)}

    def _look_back(self, trials: list[Trial]) -> None:
        self.hint_ = self._compare_assumptions(trials)

    def _compare_assumptions(self, trials: list[Trial]) -> str:
        """Say so where standard models predict held-out bags clearly worse than the ensemble."""
        ensemble, *rows = self.results_
        pairs = zip(rows, trials, strict=True)
        standard = [r for r, t in pairs if t.assumption == "standard" and t.cells]
        best = max(standard, key=lambda row: row["auc"], default=ensemble)
        if not best["high"] < ensemble["low"]:
            return ""
        return (
            f"{best['model']}, the best model of the standard assumption, has an AUC of "
            f"{best['auc']:.2f}, the ensemble {ensemble['auc']:.2f}: the label seems to depend on "
            "the whole bag, or on what negative bags contain. If one instance should make a bag "
            'positive, compare with assumption="standard" before you trust new bags.'
        )

    def _calibrate(self, bags: Bags, codes: Array, weight: Array, weighted: Array) -> None:
        """Settle threshold and slope on the ensemble's out-of-fold scores."""
        if self.calibration_cv is not None:
            super()._calibrate(bags, codes, weight, weighted)
            return
        scores, truth, weight = self._held_out
        self._use_held_out(scores, truth, weight, weight)
