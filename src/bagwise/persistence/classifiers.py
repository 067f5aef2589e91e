"""scikit-learn's classifiers in model files: what is written of them, and what must agree.

Of gradient boosting, the loss and the generator are not written: the loss follows from the
parameters, and only `fit` draws. Compiled code follows the arrays of a SVM and the trees of a
boosted model without checks, so their sizes are compared before anything is predicted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

_NOT_WRITTEN = {"GradientBoostingClassifier": ("_loss", "_rng")}


def attributes_to_write(value: Any) -> dict[str, Any]:
    """Return the attributes of an object that a model file contains."""
    dropped = _NOT_WRITTEN.get(type(value).__name__, ())
    attributes = {key: item for key, item in vars(value).items() if key not in dropped}
    if not isinstance(value, BaseEstimator):
        return attributes
    if "callback" in attributes:
        attributes["callback"] = None  # it only reports the progress of `fit`
    if hasattr(value, "tree_") and isinstance(value.random_state, np.random.RandomState):
        attributes["random_state"] = None  # the generator of the boosted model that grew the tree
    return attributes


def complete(value: Any) -> Any:
    """Give an object that was read what `attributes_to_write` left out."""
    if type(value).__name__ == "GradientBoostingClassifier" and hasattr(value, "n_classes_"):
        value._loss = value._get_loss(None)
    return value


def check_svm(svm: Any, width: int | None) -> None:
    """Raise ValueError if the arrays of a fitted SVM do not fit each other."""
    k, vectors = len(svm.classes_), svm.support_vectors_
    n, d = vectors.shape
    pairs = k * (k - 1) // 2
    coef = svm._dual_coef_
    n_coef = coef.data.size if sp.issparse(coef) else np.asarray(coef).size
    agree = (
        d == svm.n_features_in_ == (d if width is None else width)
        and sp.issparse(vectors) == sp.issparse(coef) == bool(svm._sparse)
        and svm._n_support.shape == (k,)
        and svm._n_support.min() >= 0
        and svm._n_support.sum() == n == len(svm.support_)
        and (coef.shape, n_coef) == ((k - 1, n), (k - 1) * n)
        and svm._intercept_.shape == (pairs,)
        and svm._probA.size == svm._probB.size == 0
        and len(svm.class_weight_) == k
        and svm.kernel in ("linear", "rbf", "poly", "sigmoid")
    )
    if not agree:
        raise ValueError("contains a SVC whose arrays do not fit each other")


def check_boosting(model: Any) -> None:
    """Raise ValueError if a boosted model has not one tree per round and column of scores.

    Its own parts must have been checked before: they are used here.
    """
    trees, n_classes = model.estimators_, len(model.classes_)
    columns = 1 if n_classes == 2 else n_classes
    if not isinstance(trees, np.ndarray) or trees.ndim != 2 or trees.shape[1] != columns:
        raise ValueError(f"contains boosted trees for {np.shape(trees)[1:]} of {columns} models")
    if not all(hasattr(tree, "tree_") for tree in trees.flat):
        raise ValueError("contains boosted trees that were not grown")
    first = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))
    if first.shape != (1, columns) or first.dtype != np.float64:
        raise ValueError("contains boosted trees whose first scores have a wrong shape")
