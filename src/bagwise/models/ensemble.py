"""Bagging for bag estimators (Breiman 1996; for multiple instances Zhou & Zhang 2003).

Each member learns from bags drawn at random with replacement, within every class so that none goes
missing. A bag drawn twice is a bag of weight two, so members never copy instances. Scores are the
mean of the members' scores, or of their votes. The members that did not draw a bag score it
honestly: their mean is its out-of-bag score.

scikit-learn's ``BaggingClassifier`` turns its input into an array and refuses bags.

References: L. Breiman, "Bagging predictors", Machine Learning 24 (1996). Z.-H. Zhou, M.-L. Zhang,
"Ensembles of multi-instance learners", ECML 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import fit_weighted
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.occlusion import decision_without_each
from bagwise.estimators.params import inner_estimator, integer, param, shared
from bagwise.estimators.tags import OPAQUE, BagTags, bag_tags, configure
from bagwise.models.witness import WitnessSVC


class Wrapper(BagClassifier):
    """Base of the classifiers that fit copies of another one."""

    _uses_known = None  # the copies may
    _plain: ClassVar[type[Any]]  # what is copied where nothing else is given

    if TYPE_CHECKING:  # a field would be a parameter
        estimator: Any

    def _member(self) -> Any:
        return self._plain() if self.estimator is None else self.estimator

    def _copy_member(self, seed: int) -> Any:
        """Return a copy with a seed and the positive class of the whole."""
        return configure(clone(self._member()), random_state=seed, pos_label=self.pos_label)

    def _in_columns(self, scores: Array) -> Array:
        """Return the scores of a copy as those of the whole: one column per model."""
        return self._towards_positive(scores.reshape(len(scores), -1))

    def __bag_tags__(self) -> BagTags:
        """Instance scores are of the kind that the copies have."""
        of_member = bag_tags(self._member())
        names = ("instance_scores", "weight_is_repetition", "tolerance")
        same = {name: getattr(of_member, name) for name in names}
        return replace(OPAQUE, **same, whole_bag=of_member.assumption)

    def __sklearn_tags__(self) -> Any:
        """Take over what the copies accept."""
        tags, of_member = super().__sklearn_tags__(), self._member().__sklearn_tags__()
        tags.input_tags.sparse = of_member.input_tags.sparse
        tags.classifier_tags.multi_class = of_member.classifier_tags.multi_class
        return tags


class BagEnsemble(Wrapper):
    """Average bag estimators that were fitted to random draws of bags.

    Attributes
    ----------
    estimators_ : list of bag estimators
        The members.
    drawn_ : list of ndarray
        The bag numbers that each member learned from.

    See Also
    --------
    WitnessSVC : The default member.

    Examples
    --------
    >>> from bagwise import BagEnsemble, LabelSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = BagEnsemble(estimator=LabelSVC(kernel="linear", C=10), n_estimators=5)
    >>> model.fit(bags, [1, 0, 1, 0]).predict(bags)
    array([1, 0, 1, 0])
    """

    _plain = WitnessSVC

    estimator: Any = inner_estimator("What is fitted to each draw; `WitnessSVC` when None.")
    n_estimators: int = param(10, integer(), "Number of members.")
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """Draws are random."""
        return replace(
            super().__bag_tags__(), weight_is_repetition=False, tolerance=OPAQUE.tolerance
        )

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        rng = check_random_state(self.random_state)
        draws = [self._draw(codes, weight, rng) for _ in range(self.n_estimators)]
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_estimators)
        jobs = Parallel(n_jobs=self.n_jobs)
        self.estimators_ = jobs(
            delayed(fit_weighted)(
                self._copy_member(int(seed)),
                bags[drawn],
                self.classes_[codes[drawn]],
                weight[drawn] * times,
            )
            for (drawn, times), seed in zip(draws, seeds, strict=True)
        )
        self.drawn_ = [drawn for drawn, _ in draws]
        for member, drawn in enumerate(self.drawn_):
            self._report({"member": member, "n_bags": len(drawn)})

    def _draw(self, codes: Array, weight: Array, rng: Any) -> tuple[Array, Array]:
        """Return the drawn bags and how often each was drawn, at least one of each class."""
        drawn = []
        for k in self._class_order():
            members = np.flatnonzero((codes == k) & (weight > 0))
            drawn.append(rng.choice(members, size=len(members)))
        return np.unique(np.concatenate(drawn), return_counts=True)

    # Predicting ----------------------------------------------------------------------------------

    def _bag_scores(self, bags: Bags) -> Array:
        scores = [member.decision_function(bags) for member in self.estimators_]
        return np.mean([self._in_columns(one) for one in scores], axis=0)

    def _scores_without_each(self, bags: Bags) -> Array:
        scores = [decision_without_each(member, bags) for member in self.estimators_]
        return np.mean([self._in_columns(one) for one in scores], axis=0)

    def _instance_scores(self, bags: Bags) -> Array:
        scores = [member.instance_decision_function(bags) for member in self.estimators_]
        return self._in_columns(np.mean(scores, axis=0))
