"""A model of several classes as one of two: a class, and all others."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if

from bagwise._typing import Array

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
