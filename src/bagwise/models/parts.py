"""Score the parts of a bag one by one and combine their scores: slides, for collective models.

    F(B) = mean or max of f(P) over the parts P of B,

where f learned from parts that inherit the label of their bag. That label is wrong for a part that
shows nothing, so that under the standard assumption the merged bag itself is the better choice
(`bagwise.Bags.merge`; measured in docs/results/studies.md). Where all parts show the label a
little, as collective models assume, the mean is the natural one, and parts of any size count alike.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.merging import split_rows
from bagwise.bags.segments import offsets_of, segment_max, segment_mean
from bagwise.crossfit import fit_weighted
from bagwise.estimators.params import Words, inner_estimator, param, shared
from bagwise.estimators.tags import BagTags
from bagwise.models.ensemble import Wrapper
from bagwise.models.statistics import StatisticsLogistic


class PartClassifier(Wrapper):
    """Fit a model to the parts of bags, such as the slides of patients, and combine their scores.

    Bags without ``parts`` are one part each.

    Attributes
    ----------
    estimator_ : bag estimator
        The model of parts.

    See Also
    --------
    bagwise.Bags.merge : Makes bags with parts.

    Examples
    --------
    >>> from bagwise import Bags, MeanSVC, PartClassifier
    >>> slides = Bags.from_list(
    ...     [[[0.0]], [[1.0]], [[3.0]], [[4.0]], [[0.5]], [[5.0]]], groups=[*"ppqqrs"]
    ... )
    >>> patients = slides.merge("groups")
    >>> model = PartClassifier(estimator=MeanSVC(kernel="linear"), combine="mean")
    >>> model.fit(patients, [0, 1, 0, 1]).predict(patients)
    array([0, 1, 0, 1])
    """

    _plain = StatisticsLogistic

    estimator: Any = inner_estimator("What is fitted to the parts; `StatisticsLogistic` when None.")
    combine: str = param(
        "mean", Words("mean", "max"), "Take the mean of the parts' decision values, or the highest."
    )
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """The mean of parts makes every assumption a collective one."""
        tags = super().__bag_tags__()
        return tags if self.combine == "max" else replace(tags, whole_bag="collective")

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        parts, of, _ = _split(bags)
        labels = self.classes_[codes[of]]
        self.estimator_ = fit_weighted(self._copy_member(seed), parts, labels, weight[of])

    def _bag_scores(self, bags: Bags) -> Array:
        parts, of, _ = _split(bags)
        scores = self._in_columns(self.estimator_.decision_function(parts))
        reduce = segment_mean if self.combine == "mean" else segment_max
        return reduce(scores, offsets_of(np.bincount(of)))

    def _instance_scores(self, bags: Bags) -> Array:
        parts, _, order = _split(bags)
        found = self._in_columns(self.estimator_.instance_decision_function(parts))
        return found[np.argsort(order)]


def _split(bags: Bags) -> tuple[Bags, Array, Array]:
    """Return the parts, the bag of each, and the rows in their order."""
    if bags.parts is None:
        return bags, np.arange(len(bags)), np.arange(bags.n_instances)
    order, _, of = split_rows(bags)
    return bags.split(), of, order
