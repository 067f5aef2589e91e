"""Whether what a model file holds is a fitted model: sizes that agree, trees that fit, and a trial.

Checksums tell damage, not forgery. Numbers that compiled loops follow (offsets, codes, trees) are
compared with the sizes they must fit: forged ones could read any memory. Then the model scores one
bag: an attribute that is missing, or of a wrong type or shape, shows there.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils.validation import check_is_fitted

from bagwise.bags import Bags
from bagwise.bags.arrays import as_offsets
from bagwise.estimators.input import BagInput
from bagwise.estimators.scoring import BagScores
from bagwise.io._files import rows_per_block

_NOT_NUMBERS = ("classes_", "feature_names_in_", "ids_")
_ONE_PER_MODEL = ("threshold_", "intercept_", "objective_", "gap_", "coef_", "dual_coef_")
# Offsets, and the rows that they cut: compiled loops follow them unchecked.
_OFFSETS = {"support_offsets_": "support_vectors_", "bags_offsets_": "bags_X_"}
_ROWS_OF_FIT = ("support_vectors_", "bags_X_")


def check_model(model: Any) -> None:
    """Raise ValueError if an object read from a file is not a fitted model."""
    for part, width in _estimators(model, None):
        if isinstance(part, BagScores):
            _check_learned(part)
        if hasattr(part, "tree_"):
            _check_tree(part, width)
        if isinstance(part, SVC) and hasattr(part, "support_vectors_"):
            _check_svm(part, width)
    for part, _ in _estimators(model, None):
        if isinstance(part, BaseGradientBoosting) and hasattr(part, "estimators_"):
            _check_boosting(part)
    _try(model)


def _estimators(value: Any, width: int | None) -> Iterator[tuple[Any, int | None]]:
    """Yield all estimators in a value, with the number of features of their owner."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _estimators(item, width)
    elif isinstance(value, dict):
        yield from _estimators(list(value.values()), width)
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from _estimators(value.ravel().tolist(), width)
    elif isinstance(value, BaseEstimator):
        yield value, width
        own = width
        if isinstance(value, BagInput) or width is None:
            own = getattr(value, "n_columns_", getattr(value, "n_features_in_", None))
        yield from _estimators([v for k, v in vars(value).items() if k.endswith("_")], own)
        if isinstance(value, Pipeline):
            yield from _estimators(value.steps, None)


def _check_learned(model: BagScores) -> None:
    name = type(model).__name__
    learned = {k: v for k, v in vars(model).items() if k.endswith("_") and not k.startswith("_")}
    if not learned:
        return  # a part that is fitted later, or never
    check_is_fitted(model)
    n_features, classes = learned.get("n_features_in_"), learned.get("classes_")
    if type(n_features) is not int or n_features < 1:
        raise ValueError(f"{name}.n_features_in_ is not a positive integer")
    if model.task in ("classes", "grades"):
        if not isinstance(classes, np.ndarray) or classes.ndim != 1 or len(classes) < 2:
            raise ValueError(f"{name}.classes_ is not an array of two labels or more")
        if len(set(classes.tolist())) < len(classes):
            raise ValueError(f"{name}.classes_ has the same label twice")
        if model.task == "classes" and "threshold_" not in learned:
            raise ValueError(f"{name}.threshold_ is not there")
    n_classes = len(classes) if model.task == "classes" and classes is not None else 2
    n_models = 1 if n_classes == 2 else n_classes
    # Bag kernels of statistics keep the least and the largest value of each feature.
    width = n_features * (2 if getattr(model, "bag_kernel", None) == "statistics" else 1)
    for key, axis in (("prototypes_", 0), ("projection_", 1)):
        if key in learned:  # a bag is its distances to them, or its projection
            width = np.shape(learned[key])[axis]
    wide = {**dict.fromkeys(_ROWS_OF_FIT, width), "instance_reference_": n_models}
    for key, value in learned.items():
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if key not in _NOT_NUMBERS and kind not in "fiub":
            raise ValueError(f"{name}.{key} is not an array of numbers")
        if key in _ONE_PER_MODEL and np.shape(value)[:1] != (n_models,):
            raise ValueError(f"{name}.{key} has shape {np.shape(value)} for {n_classes} classes")
        if key in wide and np.shape(value)[1:] != (wide[key],):
            raise ValueError(f"{name}.{key} has shape {np.shape(value)}, not {wide[key]} columns")
    for offsets, rows in _OFFSETS.items():
        if offsets in learned and rows in learned:
            as_offsets(learned[offsets], learned[rows].shape[0], None)
    codes = learned.get("bags_codes_")
    if codes is not None and (np.min(codes) < 0 or np.max(codes) >= n_classes):
        raise ValueError(f"{name}.bags_codes_ contains classes that do not exist")


def _check_tree(owner: Any, width: int | None) -> None:
    tree, own = owner.tree_, getattr(owner, "n_features_in_", None)
    if getattr(tree, "n_features", None) != own or own != (own if width is None else width):
        where = f"is in a model of {own if width is None else width}"
        raise ValueError(f"a tree of {getattr(tree, 'n_features', None)} features {where}")
    n_classes = getattr(owner, "n_classes_", 1)
    if tree.n_outputs != 1 or int(tree.n_classes[0]) != n_classes:
        raise ValueError(f"a tree of {tree.n_classes.tolist()} classes is in one of {n_classes}")


def _check_svm(svm: Any, width: int | None) -> None:
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


def _check_boosting(model: Any) -> None:
    """Raise ValueError if a boosted model has not one tree per round and column of scores.

    Its own parts must have been checked before: they are used here.
    """
    trees, n_classes = model.estimators_, len(getattr(model, "classes_", (0, 1)))
    columns = 1 if n_classes == 2 else n_classes
    if not isinstance(trees, np.ndarray) or trees.ndim != 2 or trees.shape[1] != columns:
        raise ValueError(f"contains boosted trees for {np.shape(trees)[1:]} of {columns} models")
    if not all(hasattr(tree, "tree_") for tree in trees.flat):
        raise ValueError("contains boosted trees that were not grown")
    first = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))
    if first.shape != (1, columns) or first.dtype != np.float64:
        raise ValueError("contains boosted trees whose first scores have a wrong shape")


def _try(model: Any) -> None:
    """Score one bag of ones, or of zeros where a model has no score for ones."""
    problem: Exception | None = None
    for value in (1.0, 0.0):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                bag = _bag(model, value)
                labels = np.asarray(model.predict(bag))
                is_class = hasattr(model, "decision_function")
                scores = np.asarray(model.decision_function(bag)) if is_class else np.zeros(1)
                n_classes = len(model.classes_) if is_class else 2
        except Exception as error:  # noqa: BLE001 - whatever a forged model leads to
            problem = error
            continue
        shape = (1,) if n_classes == 2 else (1, n_classes)
        if (scores.shape, labels.shape) == (shape, (1,)) and scores.dtype.kind == "f":
            return
        problem = ValueError(f"the score of one bag has shape {scores.shape}")
    raise ValueError(f"is no working model: {problem}") from problem


def _kinds_of(model: Any) -> list[Any]:
    """Return the kinds of bag features that an estimator needs."""
    inputs = getattr(model, "inputs_", None)
    of_old = [None] * (getattr(inputs, "n_given", None) or 0)
    return getattr(inputs, "kinds", of_old) or getattr(model, "covariate_kinds_", [])


def _bag(model: Any, value: float) -> Bags:
    """Return a bag of two equal instances that the model accepts."""
    steps = [part for _, part in model.steps] if isinstance(model, Pipeline) else [model]
    first = steps[0]
    width = int(first.n_features_in_)
    dense = rows_per_block(width) > 1  # models of more features were fitted to sparse rows
    X = np.full((2, width), value) if dense else sp.csr_array((2, width))
    kinds = max((_kinds_of(part) for part, _ in _estimators(model, None)), key=len)
    features = [[value if kind is None else kind[0] for kind in kinds]] if kinds else None
    names: dict[str, Any] = {"ids": ["?"], "instance_ids": ["?", "??"]}
    names["sites"] = next((step.sites_[:1] for step in steps if hasattr(step, "sites_")), None)
    return Bags(X, np.array([0, 2]), bag_features=features, coords=np.zeros((2, 2)), **names)
