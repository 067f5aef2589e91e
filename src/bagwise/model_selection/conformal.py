"""Conformal prediction: sets of labels that hold the truth as often as asked.

A calibration bag i that the model did not see has the nonconformity a_i, minus the score of its own
class; scores are those of `decision_function`, of two classes -f and f. A new bag gets the p-value

    p(c) = (1 + sum_g mean_{i in g} [a_i >= a(c)]) / (G + 1)

for every class c, and its set holds the classes with p(c) > 1 - level. g are the G groups of the
calibration bags (``bags.groups``; without groups every bag is its own). A group counts once: its
bags are not exchangeable with those of a new group one by one (Lee, Barber & Willett 2023). With
``class_conditional=True`` only bags of class c are compared, which gives every class its coverage.

`split` holds out a part of the bags for calibration: sets hold the truth with probability at least
``level``. `cross` fits one model per fold and compares a bag with each calibration bag under the
model that did not see that one (Vovk 2015); every bag calibrates, and at least 2 level - 1 is
guaranteed, in practice about ``level``.

`ConformalBagRegressor` does the same for numbers. With R_i the error of a calibration bag by the
copy f_k(i) that did not see it, the interval of a new bag B reaches from the 1 - level quantile of
f_k(i)(B) - R_i to the level quantile of f_k(i)(B) + R_i, where a group counts once and one more
value lies at infinity ("jackknife+" and "CV+", Barber, Candes, Ramdas & Tibshirani 2021).

Reference: V. Vovk, "Cross-conformal predictors", 2015; Y. Lee, R. F. Barber, R. Willett,
"Distribution-free inference with hierarchical data", 2023.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import fit_folds, folds
from bagwise.crossfit.folds import number_units
from bagwise.crossfit.scores import bag_scores
from bagwise.estimators.params import Parameters, Words, param
from bagwise.estimators.tags import last_step

_APART = "The training bags; those of one group stay on one side of every fold."


class _Conformal(Parameters):
    """Copies of a model, each with bags that it did not see.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted copies; one with ``method="split"``.
    fold_, group_ : ndarray of int of shape (n_calibration,)
        The copy that has scored each calibration bag, and the bag's group.
    """

    method: str = param(
        "cross",
        Words("cross", "split"),
        "One model per fold, where every bag calibrates; or one model, and one fold for "
        "calibration.",
    )
    cv: Any = param(
        5,
        ["cv_object"],
        'Folds; "split" calibrates on the first. A number of folds is stratified and keeps '
        "``bags.groups`` together.",
        kind="int, splitter or iterable of folds",
    )
    n_jobs: int | None = param(None, [Integral, None], "Number of folds fitted at once.")
    random_state: Any = param(0, ["random_state"], "Seed of the folds.", kind="int")

    def _fit_copies(
        self, estimator: Any, bags: Bags, y: Array, *, ordered: bool
    ) -> tuple[Array, list[Array]]:
        """Fit the copies; return the numbers of the calibration bags, and their scores by fold."""
        splits = folds(bags, y, self.cv, self.random_state, ordered=ordered)
        splits = splits[:1] if self.method == "split" else splits
        judged = list(fit_folds(estimator, bags, y, None, splits, _judge, n_jobs=self.n_jobs))
        held_out = np.concatenate([test for _, test in splits])
        self.estimators_ = [model for model, _ in judged]
        self.fold_ = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])
        self.group_ = number_units(bags)[held_out]
        return held_out, [scores for _, scores in judged]

    def _ask_copies(self, bags: Any) -> list[Array]:
        check_is_fitted(self)
        bags = check_bags(bags)
        return [_score(model, bags) for model in self.estimators_]


class ConformalBagClassifier(ClassifierMixin, _Conformal):
    """Sets of labels that hold the true one with a stated probability.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    nonconformity_ : ndarray of shape (n_calibration,)
        Minus the score of the own class of each calibration bag, by a model that did not see it.
    codes_ : ndarray of int of shape (n_calibration,)
        Its class.

    See Also
    --------
    cross_validate_bags : Out-of-fold scores and their metrics.

    Examples
    --------
    >>> from bagwise import MeanSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import ConformalBagClassifier
    >>> bags, y = make_gaussian_bags(60, random_state=0)
    >>> model = ConformalBagClassifier(estimator=MeanSVC(kernel="linear"), cv=3).fit(bags, y)
    >>> model.predict_set(bags[:2], level=0.9).shape
    (2, 2)
    """

    estimator: Any = param(
        None,
        [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"])],
        "The bag classifier; copies of it are fitted.",
        kind="bag estimator",
    )
    class_conditional: bool = param(
        False, ["boolean"], "Whether each class has its coverage, instead of all bags together."
    )

    @answers(*("self", "The fitted estimator."), bags=_APART, y="One label per bag.")
    def fit(self, bags: Any, y: Any) -> Self:
        """Fit the copies and score the calibration bags."""
        self._validate_params()
        bags, y = check_bags(bags), column_or_1d(y)
        classes, codes = np.unique(y, return_inverse=True)
        held_out, parts = self._fit_copies(self.estimator, bags, y, ordered=False)
        scores = np.concatenate([_per_class(part) for part in parts])
        self.classes_, self.codes_ = classes, codes[held_out]
        self.nonconformity_ = -scores[np.arange(len(held_out)), self.codes_]
        return self

    @answers("ndarray of shape (n_bags,)", "One label per bag.")
    def predict(self, bags: Any) -> Array:
        """Predict the class with the highest p-value, ties by the mean score of the copies."""
        scores = self._scores(bags)
        order = np.lexsort((scores.mean(axis=0), self._p_values(scores)), axis=1)
        return self.classes_[order[:, -1]]

    @answers(
        "ndarray of shape (n_bags, n_classes)",
        "In (0, 1]. The true class has a p-value of at most alpha in at most a "
        'fraction alpha of the bags (``method="split"``).',
    )
    def p_values(self, bags: Any) -> Array:
        """Return how well each class conforms: small values speak against it."""
        return self._p_values(self._scores(bags))

    def _scores(self, bags: Any) -> Array:
        """Return the scores of all copies, (n_copies, n_bags, n_classes)."""
        return np.array([_per_class(scores) for scores in self._ask_copies(bags)])

    def _p_values(self, scores: Array) -> Array:
        values = np.empty(scores.shape[1:])
        for c in range(len(self.classes_)):
            used = np.flatnonzero((self.codes_ == c) | (not self.class_conditional))
            weight, fold = _weights(self.group_[used]), self.fold_[used]
            behind = np.zeros(len(values))
            for k, asked in enumerate(-scores[:, :, c]):
                at_least = self.nonconformity_[used[fold == k]] >= asked[:, None]
                behind += at_least @ weight[fold == k]
            values[:, c] = (1 + behind) / (1 + weight.sum())
        return values

    @answers(
        *("ndarray of bool of shape (n_bags, n_classes)", "Whether the class is in the bag's set."),
        level="Probability with which the set holds the true label. An empty set says that the bag "
        "is unlike all calibration bags, a set of several that they cannot be told apart.",
    )
    def predict_set(self, bags: Any, level: float = 0.9) -> Array:
        """Return the set of labels of each bag."""
        return self.p_values(bags) > 1 - _check_level(level)


class ConformalBagRegressor(RegressorMixin, _Conformal):
    """Intervals that hold the true number with a stated probability.

    Attributes
    ----------
    errors_ : ndarray of shape (n_calibration,)
        Absolute errors of the calibration bags, by a model that did not see them.

    See Also
    --------
    ConformalBagClassifier : Sets of labels.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import MeanRegressor
    >>> from bagwise.model_selection import ConformalBagRegressor
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(3, 2)) for _ in range(60)]
    >>> y = np.array([X.mean() for X in bags])
    >>> model = ConformalBagRegressor(estimator=MeanRegressor(kernel="linear")).fit(bags, y)
    >>> model.predict_interval(bags[:2], level=0.9).shape
    (2, 2)
    """

    estimator: Any = param(
        None, HasMethods(["fit", "predict"]), "The regressor; copies of it are fitted."
    )

    @answers(*("self", "The fitted estimator."), bags=_APART, y="One number per bag.")
    def fit(self, bags: Any, y: Any) -> Self:
        """Fit the copies and measure their errors on the calibration bags."""
        self._validate_params()
        bags, y = check_bags(bags), column_or_1d(y).astype(np.float64)
        held_out, parts = self._fit_copies(self.estimator, bags, y, ordered=True)
        self.errors_ = np.abs(y[held_out] - np.concatenate(parts))
        return self

    @answers("ndarray of shape (n_bags,)", "One number per bag.")
    def predict(self, bags: Any) -> Array:
        """Predict the mean of what the copies predict."""
        return np.mean(self._ask_copies(bags), axis=0)

    @answers(
        *("ndarray of shape (n_bags, 2)", "Lower and upper end; infinite with too few bags."),
        level="Probability with which the interval holds the true number.",
    )
    def predict_interval(self, bags: Any, level: float = 0.9) -> Array:
        """Return an interval for the number of each bag."""
        predicted, outside = np.array(self._ask_copies(bags))[self.fold_], 1 - _check_level(level)
        weight = _weights(self.group_)
        high = _upper_quantile(predicted + self.errors_[:, None], weight, outside)
        low = -_upper_quantile(self.errors_[:, None] - predicted, weight, outside)
        return np.column_stack([low, high])


def _upper_quantile(values: Array, weight: Array, outside: float) -> Array:
    """Return, column by column, the least value with all but that share of the weight below.

    One more unit lies at infinity.
    """
    every = np.vstack([values, np.full(values.shape[1], np.inf)])
    share = max(0.0, 1 - outside - 1e-9 / (weight.sum() + 1))  # rounding is no reason for the next
    return np.quantile(every, share, axis=0, weights=np.append(weight, 1.0), method="inverted_cdf")


def _judge(model: Any, held_out: Bags, _: Array) -> tuple[Any, Array]:
    """Return a fold's model and its scores of the bags it did not see."""
    return model, _score(model, held_out)


def _score(model: Any, bags: Bags) -> Array:
    """Return decision values, or predicted numbers; of grades probabilities, sorted by label."""
    if getattr(last_step(model), "task", "") == "grades":
        return model.predict_proba(bags)[:, np.argsort(model.classes_)]
    return bag_scores(model, bags)


def _per_class(scores: Array) -> Array:
    """Return one column per class."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        f = scores.reshape(-1)
        return np.column_stack([-f, f])
    return scores


def _weights(group: Array) -> Array:
    """Return each bag's share of its group: every group counts once."""
    return 1 / np.bincount(group)[group]


def _check_level(level: Any) -> float:
    if isinstance(level, Real) and 0 < float(level) < 1:
        return float(level)
    raise ValueError(f"level must be a number between 0 and 1, it is {level!r}.")
