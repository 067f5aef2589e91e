"""How a model does on bags: scores of held-out bags or of folds, and numbers with intervals.

A model of several classes is judged as one of two: a class, and all others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import bag_scores, folds
from bagwise.crossfit.folds import count_fewest, number_folds
from bagwise.crossfit.scores import fit_folds, in_order
from bagwise.crossfit.sites import with_fewer_folds
from bagwise.estimators.covariates import uses_covariates
from bagwise.metrics import positive_class, unwrap_model, wilson
from bagwise.model_selection.intervals import Difference, Sample, difference, estimate
from bagwise.models.statistics import StatisticsLogistic
from bagwise.plot._display import MOST_LISTED, score_bags


@dataclass(frozen=True)
class Judgment:
    """Scores of bags towards the positive class, and where they come from."""

    truth: Array
    scores: Array
    probabilities: Array | None
    positive: Any
    negative: Any
    n_folds: int  # 0: the model itself scored bags that it has not seen

    @property
    def how(self) -> str:
        """Where the scores come from, in words."""
        if not self.n_folds:
            return "on these bags, which are taken to be new to the model"  # nobody can tell
        return (
            f"by {self.n_folds}-fold cross-validation: each bag was scored by a copy of the model "
            "that was trained without it"
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return what a table says of each bag."""
        labels, right = np.where(self.truth, 1, 0), (self.scores > 0) == self.truth
        names = [str(self.negative), str(self.positive)]
        rows: list[dict[str, Any]] = [
            {"label": names[k], "positive": bool(k), "score": short(score), "wrong": not fine}
            for k, score, fine in zip(labels, self.scores, right, strict=True)
        ]
        if self.probabilities is not None:
            for row, chance in zip(rows, self.probabilities, strict=True):
                row["probability"] = short(chance)
        return rows

    def proportions(self) -> dict[str, dict[str, Any]]:
        """Return sensitivity, specificity and accuracy at the threshold, with 95 % intervals."""
        predicted = self.scores > 0
        parts = {
            "sensitivity": (predicted & self.truth, self.truth),
            "specificity": (~predicted & ~self.truth, ~self.truth),
            "accuracy": (predicted == self.truth, np.ones_like(self.truth)),
        }
        return {name: _proportion(int(k.sum()), int(n.sum())) for name, (k, n) in parts.items()}

    def of_groups(self, groups: Array | None) -> list[dict[str, Any]]:
        """Return bags, positives and accuracy per group of several bags; the largest first."""
        if groups is None:
            return []
        rows: list[dict[str, Any]] = []
        for group in np.unique(groups).tolist():
            part = groups == group
            right = int(((self.scores[part] > 0) == self.truth[part]).sum())
            n, n_positive = int(part.sum()), int(self.truth[part].sum())
            rows.append({"name": str(group), "bags": n, "positive": n_positive, "right": right})
        several = [row for row in rows if row["bags"] > 1]
        return sorted(several, key=lambda row: (-row["bags"], row["name"]))[:MOST_LISTED]


def short(value: float) -> float:
    """Return a number with the digits that a table shows."""
    return float(f"{value:.4g}")


def _proportion(count: int, total: int) -> dict[str, Any]:
    low, high = wilson(count / total, total)
    return {"count": count, "total": total, "value": count / total, "low": low, "high": high}


def judge(
    model: Any,
    bags: Bags,
    y: Array,
    cv: Any,
    tell: Callable[[str, int, int], None] = lambda *_: None,
) -> Judgment:
    """Score bags by the model itself, or by copies fitted without them where ``cv`` is given."""
    inner, _ = unwrap_model(model, bags[:1])
    positive, sign = positive_class(inner)
    negative = next(label for label in inner.classes_.tolist() if label != positive)
    if cv is None:
        tell("Scoring bags", 0, 0)
        seen = score_bags(model, bags, y)
        chances = _probabilities(seen.model, seen.bags, positive)
        return Judgment(seen.truth, seen.scores, chances, positive, negative, 0)
    splits = folds(bags, y, cv, 0)
    fewest = min(count_fewest(bags[train], y[train]) for train, _ in splits)

    def score(copy: Any, held_out: Bags, _: Array) -> tuple[Array, Array | None]:
        return sign * bag_scores(copy, held_out), _probabilities(copy, held_out, positive)

    parts = ask_copies(with_fewer_folds(clone(model), fewest), bags, y, splits, score, tell)
    scores = in_order([part[0] for part in parts], splits)
    known = [part[1] for part in parts if part[1] is not None]
    probabilities = in_order(known, splits) if known else None
    return Judgment(y == positive, scores, probabilities, positive, negative, len(splits))


def ask_copies(
    copy: Any, bags: Bags, y: Array, splits: list[tuple[Array, Array]], score: Any, tell: Any
) -> list[Any]:
    """Return what ``score(copy, bags, y)`` says of the held-out bags of each fold."""
    done = count()

    def fit(copy: Any, train: Array, _: Array) -> None:
        tell("Fitting folds", next(done), len(splits))
        copy.fit(bags[train], y[train])

    return list(fit_folds(copy, bags, y, None, splits, score, fit=fit))


def _probabilities(model: Any, bags: Bags, positive: Any) -> Array | None:
    if not hasattr(model, "predict_proba"):
        return None
    return model.predict_proba(bags)[:, model.classes_.tolist().index(positive)]


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
            f"Do the instances add anything beyond the covariates? With both, the AUC within folds "
            f"is {self.both:.3f}, and {self.alone:.3f} with the covariates alone (logistic "
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
    splits = folds(bags, y, cv, 0)
    fold, sample = number_folds(splits), Sample(labels, np.arange(2), len(splits), bags.groups)
    scores = judgment.scores, judge(alone, bags, labels, splits).scores
    both, other = (estimate("auc", sample, [each], [fold]) for each in scores)
    return Added(both.value, other.value, difference(sample, both, other), sample.quantile)


_OTHERS = "other classes"


def _inside_has(method: str) -> Any:
    return available_if(lambda self: hasattr(self.model, method))


class OneAgainstOthers(BaseEstimator):
    """Scores toward one class: above 0 where the model predicts it.

    Parameters
    ----------
    model : BagClassifier or Pipeline
        Fitted, of several classes.
    pos_label : object
        The class.
    """

    def __init__(self, model: Any, pos_label: Any) -> None:
        self.model, self.pos_label = model, pos_label

    def fit(self, bags: Any, y: Array) -> Self:
        """Fit a copy of the model to all classes."""
        self.model = clone(self.model).fit(bags, y)
        return self

    @property
    def classes_(self) -> Array:
        """The other classes, and the class."""
        return np.array([_OTHERS, self.pos_label], dtype=object)

    @property
    def _column(self) -> int:
        return int(self.model.classes_.tolist().index(self.pos_label))

    def decision_function(self, bags: Any) -> Array:
        """Return how far the class is ahead of the best other one."""
        scores = self.model.decision_function(bags)
        return scores[:, self._column] - np.delete(scores, self._column, axis=1).max(axis=1)

    @_inside_has("predict_proba")
    def predict_proba(self, bags: Any) -> Array:
        """Return the probabilities of the other classes together, and of the class."""
        chance = self.model.predict_proba(bags)[:, self._column]
        return np.column_stack([1 - chance, chance])

    @_inside_has("instance_decision_function")
    def instance_decision_function(self, bags: Any) -> Array:
        """Return the scores of instances toward the class."""
        return self.model.instance_decision_function(bags)[:, self._column]
