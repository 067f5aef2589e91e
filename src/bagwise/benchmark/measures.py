"""What a benchmark measures: the names, how they are shown, and their values on the test bags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from bagwise.bags import Bags
from bagwise.crossfit import SigmoidScale, best_threshold
from bagwise.metrics import instance_auc, key_instance_rate
from bagwise.segments import segment_mean

__all__ = [
    "METRICS",
    "POOLED",
    "SELECTABLE",
    "Metric",
    "bag_measures",
    "calibrated_measures",
    "fit_measures",
    "instance_measures",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Metric:
    """How a metric is shown.

    Parameters
    ----------
    label : str
        In words.
    better : {1, -1, 0}
        Whether more is better, less is better, or neither.
    scale : float
        Factor for showing: 100 for percent.
    digits : int
        Decimals shown.
    complement : str
        The stored metric that this one is 1 minus of.
    needs : str
        What it cannot be computed without; nothing where every model and data set will do.
    """

    label: str
    better: int = 1
    scale: float = 100.0
    digits: int = 1
    complement: str = ""
    needs: str = ""


_INNER = "inner folds (protocol.inner)"
_INSTANCES = "two classes, labels of the instances, and a model that scores instances"

METRICS = {
    "accuracy": Metric("accuracy %"),
    "error": Metric("error %", -1, complement="accuracy"),
    "balanced_accuracy": Metric("balanced accuracy %"),
    "auc": Metric("AUC", scale=1.0, digits=3, needs="every class in every test part"),
    "f1": Metric("F1 %"),
    "calibrated_accuracy": Metric(
        "accuracy % at a threshold chosen on the training bags", needs=f"two classes and {_INNER}"
    ),
    "calibrated_error": Metric(
        "error % at a threshold chosen on the training bags",
        -1,
        complement="calibrated_accuracy",
        needs=f"two classes and {_INNER}",
    ),
    "brier": Metric("Brier score after calibration", -1, 1.0, 3, needs=_INNER),
    "key_instance_rate": Metric("key-instance rate %", needs=_INSTANCES),
    "instance_auc": Metric("instance AUC", scale=1.0, digits=3, needs=_INSTANCES),
    "instance_accuracy": Metric("instance accuracy %", needs=_INSTANCES),
    "instance_error": Metric(
        "instance error %", -1, complement="instance_accuracy", needs=_INSTANCES
    ),
    "p_hat": Metric(
        "estimated positives in positive bags %",
        0,
        digits=0,
        needs="two classes, and a model with instance_weights_",
    ),
    "fit_seconds": Metric("CPU seconds to fit", -1, 1.0, 2),
    "predict_seconds": Metric("CPU seconds to predict", -1, 1.0, 3),
    "objective": Metric("objective", -1, 1.0, 2, needs="a model with objective_"),
    "gap": Metric("duality gap", -1, 1.0, 6, needs="a model with gap_"),
}

# From one score a bag alone, so that they can be computed on inner folds too.
SELECTABLE = ("accuracy", "balanced_accuracy", "auc")


def _labels(scores: Array, classes: Array) -> Array:
    return classes[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


def _auc(y: Array, scores: Array, classes: Array) -> float | None:
    if scores.ndim == 1:
        scores, classes = scores[:, None], classes[1:]
    columns = [(y == label, column) for label, column in zip(classes, scores.T, strict=True)]
    if not all(0 < truth.sum() < len(truth) for truth, _ in columns):
        return None
    return float(np.mean([roc_auc_score(truth, column) for truth, column in columns]))


def _f1(y: Array, predicted: Array, classes: Array) -> float:
    if len(classes) == 2:
        kind: dict[str, Any] = {"pos_label": classes[1], "average": "binary"}
    else:
        kind = {"labels": classes, "average": "macro"}
    return float(f1_score(y, predicted, zero_division=0.0, **kind))


_BAG: dict[str, Callable[[Array, Array, Array], float | None]] = {
    "accuracy": lambda y, s, classes: float(accuracy_score(y, _labels(s, classes))),
    "balanced_accuracy": lambda y, s, classes: _balanced(y, _labels(s, classes)),
    "auc": _auc,
    "f1": lambda y, s, classes: _f1(y, _labels(s, classes), classes),
}
# Of one bag alone these say nothing: the scores of a round are pooled first.
POOLED = ("balanced_accuracy", "auc", "f1")


def _balanced(y: Array, predicted: Array) -> float:
    # scikit-learn warns of predicted classes that the few test bags do not have.
    return float(np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)]))


def bag_measures(
    y: Array, scores: Array, classes: Array, only: tuple[str, ...] = tuple(_BAG)
) -> dict[str, float | None]:
    """Return the metrics of bags by their scores.

    Parameters
    ----------
    y : ndarray of shape (n_bags,)
        True labels.
    scores : ndarray of shape (n_bags,) or (n_bags, n_classes)
        Decision values.
    classes : ndarray
        The labels that the scores speak of.
    only : tuple of str, default=all
        Which metrics.

    Returns
    -------
    dict of str to float or None
        None where the bags do not define it: an AUC needs both classes.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.benchmark.measures import bag_measures
    >>> y, scores = np.array([1, 0, 1, 0]), np.array([0.5, -1.0, -0.1, -0.2])
    >>> bag_measures(y, scores, np.array([0, 1]), only=("accuracy", "auc"))
    {'accuracy': 0.75, 'auc': 1.0}
    """
    return {name: _BAG[name](y, scores, classes) for name in only}


def calibrated_measures(
    y: Array, scores: Array, inner_y: Array, inner_scores: Array, classes: Array
) -> dict[str, float | None]:
    """Return accuracy and Brier score after threshold and sigmoid from out-of-fold scores.

    Parameters
    ----------
    y, scores : ndarray
        Labels and scores of the test bags, threshold 0.
    inner_y, inner_scores : ndarray
        Those of the training bags, each from a fit without it.
    classes : ndarray
        The labels.

    Returns
    -------
    dict
        "calibrated_accuracy" (two classes) and "brier".
    """
    inner, outer = (part.reshape(len(part), -1) for part in (inner_scores, scores))
    of = classes[1:] if inner.shape[1] == 1 else classes
    weight = np.ones(len(inner_y))
    chances = np.column_stack(
        [
            SigmoidScale.fit(inner[:, k], inner_y == label, weight)(outer[:, k])
            for k, label in enumerate(of)
        ]
    )
    if len(of) == 1:
        threshold = best_threshold(inner_scores, inner_y == of[0], weight)
        right = float(np.mean(_labels(scores - threshold, classes) == y))
        return {"calibrated_accuracy": right, "brier": _squares(chances[:, 0], y == of[0])}
    chances /= chances.sum(axis=1, keepdims=True)
    brier = sum(_squares(chances[:, k], y == label) for k, label in enumerate(of))
    return {"calibrated_accuracy": None, "brier": brier}


def _squares(chance: Array, truth: Array) -> float:
    return float(np.mean((chance - truth) ** 2))


def instance_measures(model: Any, bags: Bags, y: Array) -> dict[str, float]:
    """Return how well instances are told apart, where their labels and scores are known."""
    can = hasattr(model, "key_instances") and len(model.classes_) == 2
    if bags.instance_labels is None or not can:
        return {}
    truth = np.asarray(bags.instance_labels) == 1
    found = model.predict_instances(bags) == model.classes_[1]
    values = {"instance_accuracy": float(np.mean(truth == found))}
    if np.any(y == model.classes_[1]):
        values["key_instance_rate"] = key_instance_rate(model, bags, y)
    if truth.any() and not truth.all():
        values["instance_auc"] = instance_auc(model, bags)
    return values


def fit_measures(model: Any, train: Bags, y: Array) -> dict[str, float]:
    """Return objective, gap and p-hat, where the model has them.

    p-hat is the mean over positive training bags of their share of instances taken as positive.
    """
    values = {}
    if hasattr(model, "objective_"):
        values["objective"] = float(np.sum(model.objective_))
    if hasattr(model, "gap_"):
        values["gap"] = float(np.max(model.gap_))
    weights = getattr(model, "instance_weights_", None)
    if weights is not None and len(model.classes_) == 2:
        shares = segment_mean(np.asarray(weights, dtype=float).ravel(), train.offsets)
        values["p_hat"] = float(np.mean(shares[y == model.classes_[1]]))
    return values
