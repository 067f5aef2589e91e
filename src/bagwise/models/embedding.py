"""One vector a bag, one support vector machine over the vectors: what embedding methods share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from bagwise.bags import Bags
from bagwise.models.rows import RowsClassifier
from bagwise.segments import expand

__all__ = ["EmbeddingSVC"]

Array = NDArray[Any]


class EmbeddingSVC(RowsClassifier):
    """Support vector machine over one vector a bag; an instance is scored as a bag of one.

    A method adds ``_embed(bags)``, and ``_fit_embedding`` where there is something to learn first.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "kernel": [StrOptions({"linear", "rbf", "poly"}), callable],
    }

    def _fit_embedding(self, bags: Bags, codes: Array, weight: Array) -> None:
        """Learn what the embedding needs."""

    def _embed(self, bags: Bags) -> Any:
        raise NotImplementedError

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        self._fit_embedding(bags, codes, weight)
        super()._fit_classes(_one_row_a_bag(self._embed(bags)), codes, weight)
        of_bags = np.atleast_2d(self.instance_weights_)
        spread = expand(of_bags.T / bags.sizes[:, None], bags.offsets).T
        self.instance_weights_ = spread if len(spread) > 1 else spread[0]

    def _bag_scores(self, bags: Bags) -> Array:
        return super()._instance_scores(_one_row_a_bag(self._embed(bags)))

    def _instance_scores(self, bags: Bags) -> Array:
        return self._bag_scores(_one_row_a_bag(bags.X))


def _one_row_a_bag(X: Any) -> Bags:
    return Bags(X, np.arange(X.shape[0] + 1))
