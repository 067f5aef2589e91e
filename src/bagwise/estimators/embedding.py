"""One vector per bag, one SVM over the vectors: what embedding methods share."""

from __future__ import annotations

from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.estimators.params import KernelParameters, Words, changed
from bagwise.estimators.rows import MarginClassifier, stacked


class EmbeddingSVC(MarginClassifier):
    """SVM over one vector per bag; an instance is scored as a bag of one.

    A method adds ``_embed(bags)``, and ``_fit_embedding`` where there is something to learn first.
    """

    kernel: Any = changed(
        KernelParameters,
        "kernel",
        constraint=[Words("linear", "rbf", "poly"), callable],
        doc="Kernel between the vectors of bags. A callable takes two matrices.",
    )

    def _fit_embedding(self, bags: Bags, codes: Array, weight: Array) -> None:
        """Learn what the embedding needs."""

    def _embed(self, bags: Bags) -> Any:
        raise NotImplementedError

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._fit_embedding(bags, codes, weight)
        super()._fit_classes(one_row_per_bag(self._embed(bags)), codes, weight)
        of_bags = np.atleast_2d(self.instance_weights_)
        spread = expand(of_bags.T / bags.sizes[:, None], bags.offsets).T
        self.instance_weights_ = stacked(spread)

    def _bag_scores(self, bags: Bags) -> Array:
        return super()._instance_scores(one_row_per_bag(self._embed(bags)))

    def _instance_scores(self, bags: Bags) -> Array:
        return self._bag_scores(one_row_per_bag(bags.X))


def one_row_per_bag(X: Any) -> Bags:
    """Return every row as a bag of one."""
    return Bags(X, np.arange(X.shape[0] + 1))
