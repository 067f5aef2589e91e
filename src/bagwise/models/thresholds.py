"""One two-class model per threshold: what grades and times have in common.

"At least grade k" and "an event by time t" are two classes for every threshold, and if the worst
instance decides about the label of a bag, each of these problems satisfies the standard assumption.
Any bag classifier learns them. Its probabilities are made monotone in the threshold by isotonic
regression, bag by bag.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import HasMethods

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.without import score_without_each
from bagwise.crossfit import fit_weighted, sigmoid_probabilities
from bagwise.crossfit.folds import N_FOLDS, count_fewest
from bagwise.errors import TaskWarning
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.occlusion import decision_without_each
from bagwise.estimators.params import param
from bagwise.estimators.scoring import BagScores
from bagwise.estimators.tags import OPAQUE, BagTags, bag_tags, configure, innermost, last_step
from bagwise.models.witness import WitnessSVC

# How warnings about decisions and the positive class begin, which nobody chose here.
_OF_CLASSES = (
    "The model ranks bags well and decides badly",
    "The out-of-fold scores of the training bags do not rise",
    "The AUC on bags that the model has not seen",
)


class ThresholdModels(BagScores):
    """Base of the models with one bag classifier per threshold.

    Attributes
    ----------
    estimators_ : list of estimators
        One fitted classifier per threshold; None where all training bags were on one side.
    constants_ : ndarray of shape (n_thresholds,)
        The probability at thresholds without a classifier, NaN elsewhere.
    """

    estimator: Any = param(
        None,
        [HasMethods(["fit", "predict"]), None],
        "The bag classifier that is fitted at every threshold; None is "
        '``WitnessSVC(kernel="linear")``. Its probabilities are calibrated in folds.',
        kind="bag estimator",
    )

    def __bag_tags__(self) -> BagTags:
        """Instances have answers of their own where one decides; else they are occluded."""
        last = last_step(self._model())
        exact = isinstance(last, BagClassifier) and bag_tags(last).one_decides
        scores = "exact" if exact else "occlusion"
        return replace(OPAQUE, instance_scores=scores, weight_is_repetition=False)

    def _model(self) -> Any:
        return WitnessSVC(kernel="linear") if self.estimator is None else self.estimator

    def _name_threshold(self, number: int) -> str:
        raise NotImplementedError

    def _ask_thresholds(self, y: Any) -> tuple[Array, Array]:
        """Return who is above each threshold, and with what weight, one column per threshold."""
        raise NotImplementedError

    def _fit_labels(self, bags: Bags, y: Any, weight: Array) -> None:
        """Fit one classifier per threshold."""
        truth, of_thresholds = self._ask_thresholds(y)
        weight = of_thresholds * weight[:, None]
        self.estimators_: list[Any] = []
        self.constants_ = np.full(truth.shape[1], np.nan)
        for number, (column, own) in enumerate(zip(truth.T, weight.T, strict=True)):
            used = np.flatnonzero(own)
            part, labels = bags[used], column[used]
            fewest = 0 if labels.all() or not labels.any() else count_fewest(part, labels)
            if fewest < 2:  # not enough to hold one out and learn from another
                self.constants_[number] = np.average(labels, weights=own[used])
                where, few = self._name_threshold(number), "fewer than two bags on one side"
                warnings.warn(f"{where} has {few}: it is skipped.", TaskWarning, stacklevel=4)
                self.estimators_.append(None)
                continue
            with warnings.catch_warnings():
                for said in _OF_CLASSES:
                    warnings.filterwarnings("ignore", said)
                fit_weighted(member := self._configure(fewest), part, labels, own[used])
            auc = getattr(last_step(member), "held_out_", {}).get("auc", 1.0)
            if auc <= 0.5:
                where = self._name_threshold(number)
                chance = f"is ranked no better than by chance (AUC {auc:.2f} on held-out bags)"
                warnings.warn(f"{where} {chance}: do not trust it.", TaskWarning, stacklevel=4)
            self.estimators_.append(member)

    def _configure(self, fewest: int) -> Any:
        """Return an unfitted classifier with probabilities."""
        member = clone(self._model())
        last = last_step(member)
        if isinstance(last, BagClassifier):
            folds = None if last.calibration_cv is None else min(N_FOLDS, fewest)
            shared = {"n_jobs": self.n_jobs, "random_state": self.random_state}
            configure(last, probability="sigmoid", calibration_cv=folds, **shared)
        return member

    def _recall_labels(self, bags: Bags, y: Any) -> Any:
        """Return labels as `_ask_thresholds` takes them, after the fit."""
        raise NotImplementedError

    @answers(*("self", "The model."), bags="The training bags.", y="Their labels.")
    def calibrate_instances(self, bags: Any, y: Any) -> Self:
        """Let each threshold compare instances with bags that are known to be below it."""
        bags = self._check_bags(bags)
        truth, weight = self._ask_thresholds(self._recall_labels(bags, y))
        for member, above, own in zip(self.estimators_, truth.T, weight.T, strict=True):
            if member is not None:
                member.calibrate_instances(bags[own > 0], above[own > 0])
        return self

    def _find_discoveries(self, bags: Bags, level: float) -> Array:
        """Return which instances are discovered at which thresholds."""
        none = np.zeros(bags.n_instances, dtype=bool)
        found = (none if each is None else each.discover(bags, level) for each in self.estimators_)
        return np.stack([*found], axis=1)

    # Probabilities, one column per threshold ------------------------------------------------------

    _rising = True  # whether probabilities rise from threshold to threshold

    def _reduce(self, chances: Array) -> Array:
        """Return the score of bags or instances from their monotone probabilities, one column."""
        raise NotImplementedError

    def _gather(self, ask: Callable[[Any, Bags], Array], bags: Bags, n_rows: int) -> Array:
        """Return what ``ask(model, bags)`` says at every threshold, made monotone."""
        columns = [
            np.full(n_rows, constant) if member is None else ask(*innermost(member, bags))
            for member, constant in zip(self.estimators_, self.constants_, strict=True)
        ]
        return make_monotone(np.stack(columns, axis=1), rising=self._rising)

    def _chances(self, bags: Bags) -> Array:
        return self._gather(_ask_bags, bags, len(bags))

    def _instance_chances(self, bags: Bags) -> Array:
        return self._gather(_ask_instances, bags, bags.n_instances)

    def _bag_scores(self, bags: Bags) -> Array:
        return self._reduce(self._chances(bags))

    def _instance_scores(self, bags: Bags) -> Array:
        return self._reduce(self._instance_chances(bags))

    def _scores_without_each(self, bags: Bags) -> Array:
        return self._reduce(self._gather(_ask_without_each, bags, bags.n_instances))


# The probability of the class True at a threshold.


def _ask_bags(model: Any, bags: Bags) -> Array:
    return model.predict_proba(bags)[:, 1]


def _ask_instances(model: Any, bags: Bags) -> Array:
    return _to_chances(model, model.instance_decision_function(bags))


def _ask_without_each(model: Any, bags: Bags) -> Array:
    if isinstance(model, BagClassifier):
        return _to_chances(model, decision_without_each(model, bags))
    return score_without_each(partial(_ask_bags, model), bags)


def _to_chances(model: Any, scores: Array) -> Array:
    return sigmoid_probabilities(scores, model.slope_, float(model.threshold_log_odds_[0]))


def make_monotone(chances: Array, *, rising: bool = True) -> Array:
    """Return the nearest rows that rise (or fall), by isotonic regression.

    By the formula of largest means to the left of smallest means to the right.

    Examples
    --------
    >>> from bagwise.models.thresholds import make_monotone
    >>> make_monotone(np.array([[0.5, 0.3, 0.7]]))
    array([[0.4, 0.4, 0.7]])
    """
    rows = chances if rising else chances[:, ::-1]
    size = rows.shape[1]
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)
    fitted = np.full(rows.shape, -np.inf)
    for first in range(size):
        means = (sums[:, first + 1 :] - sums[:, [first]]) / np.arange(1, size - first + 1)
        least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
        fitted[:, first:] = np.maximum(fitted[:, first:], least)
    return np.clip(fitted if rising else fitted[:, ::-1], 0.0, 1.0)
