"""`BagScores`: the scores of bags and instances, and everything that is read from them.

An estimator adds ``_instance_scores(bags)``, one column per model, or ``_bag_scores(bags)`` where a
bag's score is not made of its instances' scores. In that case instances are scored by occlusion
(`bagwise.estimators.occlusion`): by the change of the bag's score when the instance is taken out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.assumptions import Assumption, AtLeastOne, ExactlyOne
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import expand, segment_argmax
from bagwise.bags.without import max_without_each, reduce_without_each, score_without_each
from bagwise.estimators.explanation import N_FEATURES, explanation
from bagwise.estimators.input import BagInput
from bagwise.estimators.occlusion import occlude
from bagwise.estimators.params import shared
from bagwise.estimators.tags import BagTags, bag_tags
from bagwise.tolerances import one_blas_thread


def _scores_instances(estimator: BagScores) -> bool:
    if bag_tags(estimator).instance_scores:
        return True
    raise AttributeError(f"{estimator} compares whole bags: its instances have no scores.")


def _labels_instances(estimator: BagScores) -> bool:
    if bag_tags(estimator).exact_instance_scores:
        return True
    raise AttributeError(
        f"{estimator} scores whole bags: its instances have no labels. key_instances and "
        "instance_decision_function say how the score changes without an instance."
    )


class Progress(Protocol):
    """The parameters of estimators that iterate."""

    verbose: int
    callback: Callable[[dict[str, Any]], None] | None


class BagScores(BagInput):
    """Scores of bags and instances, key instances and explanations, whatever the labels are."""

    task: ClassVar[str] = "classes"  # what labels are: "classes", "numbers", "grades" or "times"

    n_jobs: int | None = shared("n_jobs")
    random_state: Any = shared("random_state")

    threshold_ = np.zeros(1)  # nothing is taken off, unless a fit says otherwise

    # What an estimator adds ----------------------------------------------------------------------

    def _read_labels(self, bags: Bags, y: Any, weight: Array) -> Any:
        """Return checked labels, as `_fit_labels` takes them."""
        raise NotImplementedError

    def _fit_labels(self, bags: Bags, y: Any, weight: Array) -> None:
        raise NotImplementedError

    def _instance_scores(self, bags: Bags) -> Array:
        raise NotImplementedError

    def _bag_scores(self, bags: Bags) -> Array:
        """Return one column per model; by default the assumption's aggregate of instance scores."""
        return self._assumption().bag_score(self._instance_scores(bags), bags.offsets)

    def _scores_without_each(self, bags: Bags) -> Array:
        """Return the scores of bags without each instance: one row per instance.

        Computed anew by default, from instance scores where the bag's score is made of them. Rows
        of bags with one instance are not used.
        """
        if type(self)._bag_scores is not BagScores._bag_scores:
            return score_without_each(self._bag_scores, bags)
        scores, rule = self._instance_scores(bags), self._assumption()
        if isinstance(rule, AtLeastOne | ExactlyOne):
            return max_without_each(scores, bags.offsets)
        return reduce_without_each(rule.bag_score, scores, bags.offsets)

    def _assumption(self) -> Assumption:
        return AtLeastOne()

    def __bag_tags__(self) -> BagTags:
        """Say what this estimator can do; subclasses change it with ``dataclasses.replace``."""
        rule = self._assumption()
        return BagTags(
            bag_score=lambda of_bag: rule.bag_score(of_bag, np.array([0, len(of_bag)]))[0]
        )

    def _report(self: Progress, record: dict[str, Any]) -> None:
        """Print the record of an iteration and pass it on, for estimators that iterate."""
        if self.verbose:
            numbers = "  ".join(f"{k} {v:.6g}" for k, v in record.items())
            print(f"[{type(self).__name__}] {numbers}")
        if self.callback is not None:
            self.callback(record)

    def _keep_thresholds(self, number: float, n_models: int) -> None:
        """Take the same number off the scores of all models."""
        self.threshold_ = np.full(n_models, number)

    def _positive_code(self) -> int:
        """Return which of two classes scores point towards."""
        return 1

    def _labels(self, scores: Array) -> Array:
        """Return what scores of bags or instances predict."""
        return scores

    # Bags ----------------------------------------------------------------------------------------

    @answers(
        *("self", "The fitted estimator."),
        bags="The training bags.",
        y="One label per bag: a class, a number, a grade, or an event and its time (a structured "
        "array, or two columns). A time without an event is when the bag was last seen.",
        sample_weight="One weight per bag; it multiplies every loss of the bag.",
    )
    def fit(self, bags: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from labeled bags."""
        fresh, bags, weight = self._begin_fit(bags, sample_weight)
        labels = fresh._read_labels(bags, y, weight)
        with one_blas_thread():
            fresh._fit_labels(bags, labels, weight)
        return self._become(fresh)

    @answers("ndarray of shape (n_bags,)", "Higher risks mean earlier events.")
    def predict(self, bags: Any) -> Array:
        """Predict the number of bags, or their risk."""
        return self._user_scores(self._score_bags(self._check_bags(bags)))

    # Instances -----------------------------------------------------------------------------------

    @available_if(_scores_instances)
    @answers(
        "ndarray of shape (n_instances,) or (n_instances, n_classes)",
        "Aligned with ``bags.X``. Where the bag's score is the maximum or mean of its"
        " instances' scores, the threshold is subtracted from both.",
    )
    def instance_decision_function(self, bags: Any) -> Array:
        """Score every instance.

        Models that score whole bags say how the bag's score changes when the instance is taken
        out (the tag ``instance_scores`` is "occlusion"); the only instance of a bag has the score
        of the bag.
        """
        bags = self._check_bags(bags)
        scores = self._raw_instance_scores(bags)
        shift = self.threshold_ if bag_tags(self).threshold_shifts_instances else 0.0
        return self._user_scores(scores - shift)

    @available_if(_labels_instances)
    @answers("ndarray of shape (n_instances,)", "One label per instance, aligned with ``bags.X``.")
    def predict_instances(self, bags: Any) -> Array:
        """Predict the label of every instance: its class, or its number."""
        return self._labels(self.instance_decision_function(bags))

    @available_if(_scores_instances)
    @answers(
        "ndarray of int of shape (n_bags,)",
        "Position within the bag; ``bags.flat`` turns it into row numbers. With more "
        "than two classes, the instance that speaks most for the predicted class.",
    )
    def key_instances(self, bags: Any) -> Array:
        """Point at the instance most responsible for each bag's score."""
        bags = self._check_bags(bags)
        keys = segment_argmax(self._key_scores(bags), bags.offsets)
        if keys.shape[1] == 1:
            return keys[:, 0]
        return keys[np.arange(len(bags)), self._score_bags(bags).argmax(axis=1)]

    @available_if(_scores_instances)
    @answers(
        "pandas.DataFrame",
        'One row per instance, in order: "bag" (id), "instance" (id, or position in the bag), '
        '"label" (predicted for the bag), "score" of the instance toward the positive class '
        '(several classes: toward the bag\'s label), "share" (its part of the positive instance '
        'scores of the bag; 0 for scores that are not positive) and "features", those that '
        'contributed most to the score. ``frame.attrs["features"]`` says how contributions are '
        "computed, or why there are none.",
        n_features="Maximum number of features named per instance.",
    )
    def explain(self, bags: Any, *, n_features: int = N_FEATURES) -> Any:
        """Say which instances, and which of their features, made the scores of bags."""
        return explanation(self, self._check_bags(bags), n_features)

    def _key_scores(self, bags: Bags) -> Array:
        """Return scores that are highest for the instances most responsible."""
        return self._raw_instance_scores(bags)

    def _slopes(self, X: Any, column: int) -> Array | None:
        """Return the derivatives of instance scores in the features; None where there are none."""
        return None

    def _score_bags(self, bags: Bags) -> Array:
        with one_blas_thread():
            scores = self._bag_scores(bags)
        return self._finite(scores, bags, np.arange(len(bags) + 1)) - self.threshold_

    def _raw_instance_scores(self, bags: Bags) -> Array:
        if not bag_tags(self).exact_instance_scores:
            return occlude(self._score_bags(bags), self._score_bags_without_each(bags), bags)
        with one_blas_thread():
            scores = self._instance_scores(bags)
        return self._finite(scores, bags, bags.offsets)

    def _scores_before_threshold(self, bags: Any) -> Array:
        """Return the scores of instances, one column per model, whatever the threshold is."""
        bags = self._check_bags(bags)
        scores = self._raw_instance_scores(bags)
        if bag_tags(self).instance_scores != "occlusion":
            return scores
        alone = expand(bags.sizes == 1, bags.offsets)  # these have the score of their bag
        return scores + np.outer(alone, self.threshold_)

    def _score_bags_without_each(self, bags: Bags) -> Array:
        with one_blas_thread():
            scores = self._scores_without_each(bags)
        return self._finite(scores, bags, bags.offsets) - self.threshold_

    def _decision_without_each(self, bags: Any) -> Array:
        """Return the decision values of bags without each instance, for `occlusion_scores`."""
        return self._user_scores(self._score_bags_without_each(self._check_bags(bags)))

    def _finite(self, scores: Array, bags: Bags, offsets: Array) -> Array:
        """Refuse scores that left the range of numbers, naming the bag."""
        bad = np.flatnonzero(~np.isfinite(scores).all(axis=1))
        if len(bad):
            bag = int(np.searchsorted(offsets, bad[0], side="right") - 1)
            value = scores[bad[0]][~np.isfinite(scores[bad[0]])][0]
            raise ValueError(
                f"The score of {name_of(bags.ids, bag)} is {value}: its features, or those that "
                f"{type(self).__name__} was fitted to, are too large for {scores.dtype}. Scale the "
                "features."
            )
        return scores

    def _user_scores(self, scores: Array) -> Array:
        return self._towards_positive(scores)[:, 0] if scores.shape[1] == 1 else scores

    def _towards_positive(self, scores: Array) -> Array:
        """Turn model scores into user scores, or back."""
        return scores if scores.shape[1] > 1 or self._positive_code() == 1 else -scores
