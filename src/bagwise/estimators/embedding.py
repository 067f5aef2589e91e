"""One vector per bag, one SVM over the vectors: what embedding methods share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.estimators.params import Words, shared
from bagwise.estimators.rows import MarginClassifier
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import stack_models


class EmbeddingSVC(MarginClassifier):
    """SVM over one vector per bag.

    A method adds ``_embed(bags)``, and ``_fit_embedding`` where there is something to learn first;
    ``_embed_without_each(bags)`` where the vectors of bags without each of their instances can be
    updated.
    """

    kernel: Any = shared(
        "kernel",
        constraint=[Words("linear", "rbf", "poly"), callable],
        doc="Kernel between the vectors of bags. A callable takes two matrices.",
    )

    def __bag_tags__(self) -> BagTags:
        """An instance is scored by what the bag's score is without it."""
        tags = super().__bag_tags__()
        return replace(tags, instance_scores="occlusion", bag_score=None, instance_rows=False)

    def _fit_embedding(self, bags: Bags, codes: Array, weight: Array) -> None:
        """Learn what the embedding needs."""

    def _embed(self, bags: Bags) -> Any:
        raise NotImplementedError

    def _embed_without_each(self, bags: Bags) -> Any:
        return None

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._fit_embedding(bags, codes, weight)
        super()._fit_classes(one_row_per_bag(self._embed(bags)), codes, weight)
        of_bags = np.atleast_2d(self.instance_weights_)
        spread = expand(of_bags.T / bags.sizes[:, None], bags.offsets).T
        self.instance_weights_ = stack_models(spread)

    def _bag_scores(self, bags: Bags) -> Array:
        return super()._instance_scores(one_row_per_bag(self._embed(bags)))

    def _scores_without_each(self, bags: Bags) -> Array:
        vectors = self._embed_without_each(bags)
        if vectors is None:
            return super()._scores_without_each(bags)
        return super()._instance_scores(one_row_per_bag(vectors))


def one_row_per_bag(X: Any) -> Bags:
    """Return every row as a bag of one."""
    return Bags(X, np.arange(X.shape[0] + 1))
