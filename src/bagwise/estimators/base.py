"""`BagClassifier`: the contract that every estimator keeps, written once.

An estimator adds ``_fit_classes(bags, codes, weight)``, which learns from class numbers and one
weight per bag, and ``_instance_scores(bags)``, one column per model (one model for two classes, one
per class otherwise). Everything a user sees (labels, thresholds, probabilities, key instances) is
made of these here.

`fit` works on a fresh copy of the estimator and takes over what it learned at the very end, in
`_become`: a fit that fails leaves the model as it was.

Two classes: the positive one in the sense of multiple-instance learning is ``pos_label``, by
default ``classes_[1]``. Scores always point towards ``classes_[1]``, as scikit-learn has it; with
``pos_label=classes_[0]`` they are the negatives of the model's own.
"""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import (
    choose_thresholds,
    decides_badly,
    decision_rates,
    folds,
    out_of_fold_scores,
    settle_sigmoids,
    sigmoid_probabilities,
    warn_if_below_chance,
)
from bagwise.errors import Message, Parameter
from bagwise.estimators.discovery import Discoveries
from bagwise.estimators.input import (
    check_target,
    check_weight,
    class_weights,
    known_signs,
    refuse_missing_labels,
    warn_if_unused,
    warn_of_spreads,
    warn_of_unclear,
)
from bagwise.estimators.params import shared
from bagwise.estimators.scoring import BagScores
from bagwise.tolerances import one_blas_thread

_CHOSEN = ("calibrated", "balanced")  # thresholds that out-of-fold scores decide about


def _gives_probabilities(estimator: BagClassifier) -> bool:
    if estimator.probability == "sigmoid":
        return True
    raise AttributeError("predict_proba exists only with probability='sigmoid'.")


def refuse_numbers(model: Any, y: Array) -> None:
    """Refuse numbers that are no classes, and name the models for them."""
    try:
        check_classification_targets(y)
    except ValueError as error:
        take = "take a regressor such as AutoBagRegressor"
        raise ValueError(f"{error} {type(model).__name__} predicts classes: {take}.") from error


class BagClassifier(ClassifierMixin, BagScores):
    """Base of all estimators: validation, labels, thresholds, probabilities, key instances.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    threshold_ : ndarray of shape (1 or n_classes,)
        What ``decision_function`` subtracts from the aggregate of a bag's instance scores.
    slope_ : float
        Slope of the sigmoid, with ``probability="sigmoid"``.
    threshold_log_odds_ : ndarray of shape (1 or n_classes,)
        Log-odds of the probability at the threshold: 0 where none was given or chosen.
    held_out_ : dict of str to float
        AUC, sensitivity and specificity of the out-of-fold scores behind ``threshold`` and
        ``probability``, of two classes.
    """

    threshold_log_odds_ = np.zeros(1)  # of models that were written before 0.3

    pos_label: Any = shared("pos_label")
    threshold: float | str | None = shared("threshold")
    probability: bool | str = shared("probability")
    calibration_cv: Any = shared("calibration_cv")

    _uses_known: ClassVar[bool | None] = False

    calibrate_instances = Discoveries.calibrate_instances
    instance_pvalues = Discoveries.instance_pvalues
    discover = Discoveries.discover
    discovery_guarantee = Discoveries.discovery_guarantee

    # What an estimator adds ----------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        raise NotImplementedError

    # Fitting -------------------------------------------------------------------------------------

    @answers(
        *("self", "The fitted estimator."),
        bags="The training bags.",
        y="One label per bag, of two classes or more.",
        sample_weight="One weight per bag; it multiplies every loss of the bag.",
    )
    def fit(self, bags: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from labeled bags."""
        return self._fit(bags, y, sample_weight)

    def _fit(self, bags: Any, y: Any, sample_weight: Any, **extra: Any) -> Self:
        """Learn on a fresh copy, and become it; ``extra`` goes to ``_fit_classes``."""
        fresh = self._make_fresh()
        bags, codes, weight, weighted = fresh._check_training(bags, y, sample_weight)
        with one_blas_thread():
            fresh._fit_classes(bags, codes, weighted, **extra)
            fresh._settle_threshold(bags, codes, weight, weighted)
        return self._become(fresh)

    def _check_training(
        self, bags: Any, y: Any, sample_weight: Any
    ) -> tuple[Bags, Array, Array, Array]:
        """Return bags, class numbers, bag weights, and bag weights times class weights."""
        self._validate_params()
        bags = self._validate_bags(bags, reset=True)
        codes, weight = self._validate_labels(bags, y, sample_weight)
        if self._uses_known is False:
            warn_if_unused(self, bags)
        parameters = self.get_params(deep=False)
        is_rbf = "gamma" in parameters and parameters.get("kernel", "rbf") == "rbf"
        if is_rbf and not parameters.get("scale"):
            warn_of_spreads(bags)
        given = parameters.get("class_weight")  # not every estimator has it
        of_class = class_weights(given, self.classes_, codes, weight)
        return bags, codes, weight, weight * of_class[codes]

    def _validate_labels(self, bags: Bags, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        y = check_target(self, bags, y)
        refuse_missing_labels(bags, y)
        refuse_numbers(self, y)
        weight = check_weight(bags, sample_weight)
        present = np.unique(y[weight > 0])
        if len(present) < 2:
            raise ValueError(
                f"There is only one class, {present.tolist()[0]!r}: learning needs bags of at "
                "least two classes with positive weight."
            )
        codes = self._keep_classes(y)
        if len(self.classes_) != len(present):
            missing = np.setdiff1d(self.classes_, present).tolist()[0]
            raise ValueError(f"All bags of class {missing!r} have weight zero.")
        self._check_pos_label()
        return codes, weight

    def _check_pos_label(self) -> None:
        if self.pos_label is None:
            warn_of_unclear(self.classes_.tolist())
            return
        if len(self.classes_) > 2:
            n_classes = f" is for two classes; there are {len(self.classes_)}."
            raise ValueError(Message(Parameter("pos_label", ""), n_classes))
        if self.pos_label not in self.classes_.tolist():
            raise ValueError(
                f"pos_label={self.pos_label!r} is not among the labels {self.classes_.tolist()}."
            )

    def _settle_threshold(self, bags: Bags, codes: Array, weight: Array, weighted: Array) -> None:
        self._keep_threshold(float(self.threshold) if isinstance(self.threshold, Real) else 0.0)
        if self.threshold in _CHOSEN or self.probability == "sigmoid":
            self._calibrate(bags, codes, weight, weighted)

    def _calibrate(self, bags: Bags, codes: Array, weight: Array, weighted: Array) -> None:
        """Settle threshold and probabilities on out-of-fold scores."""
        used = weight > 0  # a bag without weight is in no fold
        name = Parameter("calibration_cv", "")
        splits = folds(
            bags, self.classes_[codes], self.calibration_cv, self.random_state, used, name
        )
        bags, codes, weight, weighted = bags[used], codes[used], weight[used], weighted[used]
        truth, scores = self._truth(codes), self._out_of_fold(bags, codes, weight, splits, used)
        warn_if_below_chance(scores, truth)
        self._use_held_out(scores, truth, weight, weighted)

    def _use_held_out(self, scores: Array, truth: Array, weight: Array, weighted: Array) -> None:
        """Choose threshold and sigmoid on out-of-fold scores, and keep how well they decide."""
        if self.threshold in _CHOSEN:
            self.threshold_ = choose_thresholds(scores, truth, weighted, str(self.threshold))
        if self.probability == "sigmoid":
            self.slope_, midpoints = settle_sigmoids(scores, truth, weight)
            if self.threshold is None:
                self.threshold_ = midpoints
            self.threshold_log_odds_ = self.slope_ * (self.threshold_ - midpoints)
        if truth.shape[1] == 1:
            self.held_out_ = decision_rates((scores - self.threshold_)[:, 0], truth[:, 0])
            text = decides_badly(self.held_out_)
            if text is not None:
                warnings.warn(text, stacklevel=2)

    def _out_of_fold(
        self, bags: Bags, codes: Array, weight: Array, splits: list[Any], used: Array
    ) -> Array:
        """Score bags by copies that did not see them; ``used`` says which bags of the fit they are.

        One column per model, pointing towards the positive class.
        """
        plain = clone(self).set_params(threshold=0.0, probability=False)
        if len(self.classes_) == 2:  # said once: the fits of the folds need not say it again
            plain.set_params(pos_label=self.classes_[self._positive_code()])
        labels = self.classes_[codes]
        scores = out_of_fold_scores(plain, bags, labels, weight, splits, self.n_jobs)
        return self._towards_positive(scores.reshape(len(bags), -1))

    def _truth(self, codes: Array) -> Array:
        """Return one boolean column per model: which bags are positive for it."""
        if len(self.classes_) == 2:
            return (codes == self._positive_code())[:, None]
        return codes[:, None] == np.arange(len(self.classes_))

    def _known_signs(self, bags: Bags) -> list[Array | None]:
        """Return what is known of instances for each model; None where nothing is, or is used."""
        classes = self.classes_.tolist()
        positive = classes if len(classes) > 2 else [classes[self._positive_code()]]
        return known_signs(classes, positive, bags) if self._uses_known else [None] * len(positive)

    def _class_order(self) -> list[int]:
        """Return the class numbers, of two the positive one first."""
        if len(self.classes_) > 2:
            return list(range(len(self.classes_)))
        return [self._positive_code(), 1 - self._positive_code()]

    # Predicting ----------------------------------------------------------------------------------

    @answers(
        "ndarray of shape (n_bags,) or (n_bags, n_classes)",
        "Positive values speak for ``classes_[1]`` (two classes) or for the column's class.",
        bags="The bags to score.",
    )
    def decision_function(self, bags: Any) -> Array:
        """Score bags: the aggregate of their instance scores minus ``threshold_``."""
        return self._user_scores(self._score_bags(self._check_bags(bags)))

    @answers("ndarray of shape (n_bags,)", "One label per bag.")
    def predict(self, bags: Any) -> Array:
        """Predict the class of bags."""
        return self._labels(self.decision_function(bags))

    @available_if(_gives_probabilities)
    @answers("ndarray of shape (n_bags, n_classes)", "Rows sum to one.")
    def predict_proba(self, bags: Any) -> Array:
        """Return class probabilities, by sigmoids fitted to out-of-fold scores."""
        scores = self._score_bags(self._check_bags(bags))
        positive = sigmoid_probabilities(scores, self.slope_, self.threshold_log_odds_)
        if positive.shape[1] == 1:
            both = np.column_stack([1 - positive, positive])
            return both if self._positive_code() == 1 else both[:, ::-1]
        shares = positive / positive.sum(axis=1, keepdims=True)
        if np.any(self.threshold_log_odds_):
            return shares
        # Far from the boundary several sigmoids round to 1: the highest score stays ahead.
        top = (np.arange(len(scores)), scores.argmax(axis=1))
        shares[top] = np.maximum(shares[top], np.nextafter(shares.max(axis=1), 2.0))
        return shares

    def _keep_classes(self, y: Array) -> Array:
        """Remember the labels, and return the class numbers of bags."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        return codes

    def _keep_threshold(self, number: float) -> None:
        """Take the same threshold for every model: one of two classes, or one per class."""
        self._keep_thresholds(number, 1 if len(self.classes_) == 2 else len(self.classes_))

    def _positive_code(self) -> int:
        return 1 if self.pos_label is None else int(self.classes_.tolist().index(self.pos_label))

    def _labels(self, scores: Array) -> Array:
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]
