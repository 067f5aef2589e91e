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

from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from bagwise._typing import Array
from bagwise.assumptions import AtLeastOne
from bagwise.bags import Bags, check_bags
from bagwise.bags.forms import is_plain_table
from bagwise.bags.segments import segment_argmax
from bagwise.crossfit import SigmoidScale, best_threshold, folds, out_of_fold_scores
from bagwise.errors import Message, Parameter
from bagwise.estimators.params import PredictionParameters
from bagwise.estimators.tags import BagTags, bag_tags
from bagwise.estimators.weights import check_weight, class_weights

_T = TypeVar("_T", bound="BagClassifier")


def _learned(estimator: Any) -> list[str]:
    """Name what an estimator has learned: the attributes whose names end in an underscore."""
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


def _gives_probabilities(estimator: BagClassifier) -> bool:
    if estimator.probability == "sigmoid":
        return True
    raise AttributeError("predict_proba exists only with probability='sigmoid'.")


def _scores_instances(estimator: BagClassifier) -> bool:
    if bag_tags(estimator).instance_scores:
        return True
    raise AttributeError(f"{estimator} compares whole bags: its instances have no scores.")


class BagInput(BaseEstimator):
    """What classifiers and transformers of bags share: checked bags of the fitted width."""

    _accepts_nan: ClassVar[bool] = False

    def _checked(self, bags: Any) -> Bags:
        check_is_fitted(self)
        return self._validate_bags(bags, reset=False)

    def _validate_bags(self, bags: Any, reset: bool) -> Bags:
        """Return checked bags and compare their width (and names) with those seen in fit."""
        if not isinstance(bags, Bags) and is_plain_table(bags):
            X = validate_data(
                self,
                bags,
                reset=reset,
                accept_sparse="csr",
                dtype=[np.float64, np.float32, np.float16],
                ensure_all_finite=False,
            )
            bags = Bags(X, np.arange(X.shape[0] + 1))
            return check_bags(bags, finite=not self._accepts_nan)
        bags = check_bags(bags, finite=not self._accepts_nan)
        if reset:
            self.n_features_in_ = bags.n_features
            if hasattr(self, "feature_names_in_"):  # of an earlier fit
                delattr(self, "feature_names_in_")
            if bags.feature_names is not None:
                self.feature_names_in_ = bags.feature_names
        elif bags.n_features != self.n_features_in_:
            raise ValueError(
                f"The bags have {bags.n_features} features, but {type(self).__name__} was fitted "
                f"with {self.n_features_in_} features as input."
            )
        else:
            self._check_names(bags)
        return bags

    def _check_names(self, bags: Bags) -> None:
        names = getattr(self, "feature_names_in_", None)
        if names is None or bags.feature_names is None:
            return
        wrong = np.flatnonzero(names != bags.feature_names)
        if len(wrong):
            i = wrong[0]
            raise ValueError(
                f"Feature {i} is called {bags.feature_names[i]!r} here and was {names[i]!r} in "
                "fit: bring the columns in the same order."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BagClassifier(ClassifierMixin, BagInput, PredictionParameters):
    """Base of all estimators: validation, labels, thresholds, probabilities, key instances.

    Attributes
    ----------
    threshold_ : ndarray of shape (1 or n_classes,)
        What ``decision_function`` subtracts from the aggregate of a bag's instance scores.
    """

    # What an estimator adds ----------------------------------------------------------------------

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        raise NotImplementedError

    def _instance_scores(self, bags: Bags) -> Array:
        raise NotImplementedError

    def _bag_scores(self, bags: Bags) -> Array:
        """Return one column per model; by default the assumption's aggregate of instance scores."""
        return self._assumption().bag_score(self._instance_scores(bags), bags.offsets)

    def _assumption(self) -> Any:
        return AtLeastOne()

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; subclasses change it with ``dataclasses.replace``."""
        rule = self._assumption()
        return BagTags(
            bag_score=lambda of_bag: rule.bag_score(of_bag, np.array([0, len(of_bag)]))[0]
        )

    # Fitting -------------------------------------------------------------------------------------

    def fit(self, bags: Any, y: Any, sample_weight: Any = None) -> Any:
        """Learn from labeled bags.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The training bags.
        y : array-like of shape (n_bags,)
            One label per bag, of two classes or more.
        sample_weight : array-like of shape (n_bags,), default=None
            One weight per bag; it multiplies every loss of the bag.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(bags, y, sample_weight)

    def _fit(self, bags: Any, y: Any, sample_weight: Any, **extra: Any) -> Self:
        """Learn on a fresh copy, and become it; ``extra`` goes to ``_fit_classes``."""
        fresh = self._unfitted()
        bags, codes, weight, weighted = fresh._validated(bags, y, sample_weight)
        fresh._fit_classes(bags, codes, weighted, **extra)
        fresh._settle_threshold(bags, codes, weight, weighted)
        return self._become(fresh)

    def _unfitted(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def _become(self, other: BagClassifier) -> Self:
        """Replace everything learned so far by what ``other`` has learned."""
        for name in _learned(self):
            delattr(self, name)
        for name in _learned(other):
            setattr(self, name, getattr(other, name))
        return self

    def _recast(self, kind: type[_T], **changes: Any) -> _T:
        """Return an estimator of another kind with the parameters of both, and what was learned."""
        known = set(kind().get_params(deep=False))
        shared = {k: v for k, v in self.get_params(deep=False).items() if k in known}
        return kind(**{**shared, **changes})._become(self)

    def _validated(self, bags: Any, y: Any, sample_weight: Any) -> tuple[Bags, Array, Array, Array]:
        """Return bags, class numbers, bag weights, and bag weights times class weights."""
        self._validate_params()
        bags = self._validate_bags(bags, reset=True)
        codes, weight = self._validate_labels(bags, y, sample_weight)
        given = self.get_params(deep=False).get("class_weight")  # not every estimator has it
        of_class = class_weights(given, self.classes_, codes, weight)
        return bags, codes, weight, weight * of_class[codes]

    def _is_number(self) -> bool:
        return not isinstance(self.threshold, str)

    def _offsets(self, value: float) -> Array:
        return np.full(1 if len(self.classes_) == 2 else len(self.classes_), value)

    def _validate_labels(self, bags: Bags, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        y = column_or_1d(y, warn=True)
        if len(y) != len(bags):
            hint = " (that is one per instance)" if len(y) == bags.n_instances else ""
            raise ValueError(
                f"y has {len(y)} labels{hint}, there are {len(bags)} bags: one label per bag."
            )
        check_classification_targets(y)
        weight = check_weight(bags, sample_weight)
        present = np.unique(y[weight > 0])
        if len(present) < 2:
            raise ValueError(
                f"There is only one class, {present.tolist()[0]!r}: learning needs bags of at "
                "least two classes with positive weight."
            )
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) != len(present):
            missing = np.setdiff1d(self.classes_, present).tolist()[0]
            raise ValueError(f"All bags of class {missing!r} have weight zero.")
        self._check_pos_label()
        return codes, weight

    def _check_pos_label(self) -> None:
        if self.pos_label is None:
            return
        if len(self.classes_) > 2:
            n_classes = f" is for two classes; there are {len(self.classes_)}."
            raise ValueError(Message(Parameter("pos_label", ""), n_classes))
        if self.pos_label not in self.classes_.tolist():
            raise ValueError(
                f"pos_label={self.pos_label!r} is not among the labels {self.classes_.tolist()}."
            )

    def _settle_threshold(self, bags: Bags, codes: Array, weight: Array, weighted: Array) -> None:
        self.threshold_ = self._offsets(float(self.threshold) if self._is_number() else 0.0)
        if self.threshold == "calibrated" or self.probability == "sigmoid":
            self._calibrate(bags, codes, weight, weighted)

    def _calibrate(self, bags: Bags, codes: Array, weight: Array, weighted: Array) -> None:
        used = weight > 0  # a bag without weight is in no fold
        name = Parameter("calibration_cv", "")
        splits = folds(
            bags, self.classes_[codes], self.calibration_cv, self.random_state, used, name
        )
        bags, codes, weight, weighted = bags[used], codes[used], weight[used], weighted[used]
        plain = clone(self).set_params(threshold=0.0, probability=False)
        y = self.classes_[codes]
        scores = out_of_fold_scores(plain, bags, y, weight, splits, self.n_jobs)
        scores = self._towards_positive(scores.reshape(len(bags), -1))
        truth = self._truth(codes)
        columns = range(scores.shape[1])
        if self.threshold == "calibrated":
            self.threshold_ = np.array(
                [best_threshold(scores[:, k], truth[:, k], weighted) for k in columns]
            )
        if self.probability == "sigmoid":
            shifted = scores - self.threshold_
            self.sigmoids_ = [SigmoidScale.fit(shifted[:, k], truth[:, k], weight) for k in columns]

    def _truth(self, codes: Array) -> Array:
        """Return one boolean column per model: which bags are positive for it."""
        if len(self.classes_) == 2:
            return (codes == self._positive_code())[:, None]
        return codes[:, None] == np.arange(len(self.classes_))

    def _positive_code(self) -> int:
        return 1 if self.pos_label is None else int(self.classes_.tolist().index(self.pos_label))

    def _class_order(self) -> list[int]:
        """Return the class numbers, of two the positive one first."""
        if len(self.classes_) > 2:
            return list(range(len(self.classes_)))
        return [self._positive_code(), 1 - self._positive_code()]

    # Predicting ----------------------------------------------------------------------------------

    def decision_function(self, bags: Any) -> Array:
        """Score bags: the aggregate of their instance scores minus ``threshold_``.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags to score.

        Returns
        -------
        ndarray of shape (n_bags,) or (n_bags, n_classes)
            Positive values speak for ``classes_[1]`` (two classes) or for the column's class.
        """
        return self._user_scores(self._thresholded(self._checked(bags)))

    def predict(self, bags: Any) -> Array:
        """Predict the class of bags.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_bags,)
            One label per bag.
        """
        return self._labels(self.decision_function(bags))

    @available_if(_gives_probabilities)
    def predict_proba(self, bags: Any) -> Array:
        """Return class probabilities, by sigmoids fitted to out-of-fold scores.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_bags, n_classes)
            Rows sum to one.
        """
        scores = self._thresholded(self._checked(bags))
        positive = np.column_stack([s(scores[:, k]) for k, s in enumerate(self.sigmoids_)])
        if positive.shape[1] == 1:
            both = np.column_stack([1 - positive, positive])
            return both if self._positive_code() == 1 else both[:, ::-1]
        return positive / positive.sum(axis=1, keepdims=True)

    @available_if(_scores_instances)
    def instance_decision_function(self, bags: Any) -> Array:
        """Score every instance.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_instances,) or (n_instances, n_classes)
            Aligned with ``bags.X``; the threshold is not subtracted.
        """
        return self._user_scores(self._instance_scores(self._checked(bags)))

    @available_if(_scores_instances)
    def predict_instances(self, bags: Any) -> Array:
        """Predict the class of every instance.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of shape (n_instances,)
            One label per instance, aligned with ``bags.X``.
        """
        return self._labels(self.instance_decision_function(bags))

    @available_if(_scores_instances)
    def key_instances(self, bags: Any) -> Array:
        """Point at the instance most responsible for each bag's score.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags.

        Returns
        -------
        ndarray of int of shape (n_bags,)
            Position within the bag; ``bags.flat`` turns it into row numbers. With more than two
            classes, the instance that speaks most for the predicted class.
        """
        bags = self._checked(bags)
        keys = segment_argmax(self._instance_scores(bags), bags.offsets)
        if keys.shape[1] == 1:
            return keys[:, 0]
        return keys[np.arange(len(bags)), self._thresholded(bags).argmax(axis=1)]

    def _thresholded(self, bags: Bags) -> Array:
        return self._bag_scores(bags) - self.threshold_

    def _user_scores(self, scores: Array) -> Array:
        return self._towards_positive(scores)[:, 0] if scores.shape[1] == 1 else scores

    def _towards_positive(self, scores: Array) -> Array:
        """Turn model scores into user scores, or back."""
        return scores if scores.shape[1] > 1 or self._positive_code() == 1 else -scores

    def _labels(self, scores: Array) -> Array:
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[codes]
