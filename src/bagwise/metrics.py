"""How well bags are classified, and how well the instances responsible are found.

Metrics of models are called as ``metric(model, bags, y)``, as scikit-learn calls a scorer:
``cross_val_score(model, bags, y, scoring=key_instance_rate)`` works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score
from sklearn.pipeline import Pipeline

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags

__all__ = ["bag_measures", "bag_report", "instance_auc", "key_instance_rate"]


def key_instance_rate(
    model: Any, bags: Bags, y: ArrayLike, *, instance_pos_label: Any = None
) -> float:
    """Return the fraction of positive bags whose key instance is truly positive.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline or search that ends in one
        Fitted on two classes.
    bags : Bags
        With ``instance_labels``.
    y : array-like of shape (n_bags,)
        True labels of the bags. All positive bags count, however they are classified.
    instance_pos_label : object, default=None
        The positive instance label. When None, the model's positive class if instances have that
        label, else 1.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from bagwise import Bags, WitnessSVC
    >>> from bagwise.metrics import key_instance_rate
    >>> bags = Bags([[0.0], [3.0], [0.1], [2.9]], [0, 2, 3, 4], instance_labels=[0, 1, 0, 1])
    >>> model = WitnessSVC(kernel="linear").fit(bags, [1, 0, 1])
    >>> key_instance_rate(model, bags, [1, 0, 1])
    1.0
    """
    model, bags = opened(model, bags)
    positive, _ = positive_class(model)
    truth = _instance_truth(bags, positive, instance_pos_label)
    counted = np.asarray(y) == positive
    if len(counted) != len(bags):
        raise ValueError(f"y has {len(counted)} labels, there are {len(bags)} bags.")
    if not counted.any():
        raise ValueError(f"No bag is of the positive class {positive!r}: the rate is undefined.")
    return float(truth[bags.flat(model.key_instances(bags))[counted]].mean())


def instance_auc(
    model: Any, bags: Bags, y: ArrayLike | None = None, *, instance_pos_label: Any = None
) -> float:
    """Return the area under the ROC curve of the instance scores, over all instances.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline or search that ends in one
        Fitted on two classes.
    bags : Bags
        With ``instance_labels``.
    y : array-like of shape (n_bags,), default=None
        Not used.
    instance_pos_label : object, default=None
        The positive instance label. When None, the model's positive class if instances have that
        label, else 1.

    Returns
    -------
    float
        Between 0 and 1; 0.5 is chance.

    Examples
    --------
    >>> from bagwise import Bags, WitnessSVC
    >>> from bagwise.metrics import instance_auc
    >>> bags = Bags([[0.0], [3.0], [0.1], [2.9]], [0, 2, 3, 4], instance_labels=[0, 1, 0, 1])
    >>> instance_auc(WitnessSVC(kernel="linear").fit(bags, [1, 0, 1]), bags)
    1.0
    """
    model, bags = opened(model, bags)
    positive, sign = positive_class(model)
    truth = _instance_truth(bags, positive, instance_pos_label)
    if truth.all() or not truth.any():
        kind = "positive" if truth.all() else "negative"
        raise ValueError(f"All instance labels are {kind}: the AUC is undefined.")
    return float(roc_auc_score(truth, sign * model.instance_decision_function(bags)))


def bag_report(model: Any, bags: Any, y: ArrayLike) -> dict[str, float]:
    """Return every metric that the model and the bags allow.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline or search that ends in one
        Fitted.
    bags : Bags, or anything check_bags takes
        The test bags.
    y : array-like of shape (n_bags,)
        Their labels.

    Returns
    -------
    dict of str to float
        "accuracy", "balanced_accuracy" and "auc" (the mean of one-vs-rest for three classes or
        more, NaN where a class is missing); with two classes, a model that scores instances and
        known instance labels of both kinds also "key_instance_rate" and "instance_auc".

    Examples
    --------
    >>> from bagwise import Bags, WitnessSVC
    >>> from bagwise.metrics import bag_report
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]]
    >>> bag_report(WitnessSVC(kernel="linear").fit(bags, [1, 0, 1]), bags, [1, 0, 1])
    {'accuracy': 1.0, 'balanced_accuracy': 1.0, 'auc': 1.0}
    """
    model, bags = opened(model, check_bags(bags, finite=False))
    y, only = np.asarray(y), ("accuracy", "balanced_accuracy", "auc")
    values = bag_measures(y, model.decision_function(bags), model.classes_, only)
    report = {name: float("nan") if value is None else value for name, value in values.items()}
    return report | instance_report(model, bags, y)


def can_judge_instances(model: Any, bags: Bags) -> bool:
    """Whether instance labels are known, and the model scores instances of two classes."""
    known = bags.instance_labels is not None and len(model.classes_) == 2
    return known and hasattr(model, "key_instances")


def instance_report(model: Any, bags: Bags, y: Array) -> dict[str, float]:
    """Return the metrics of instances that the model and the bags allow."""
    report: dict[str, float] = {}
    if not can_judge_instances(model, bags):
        return report
    positive, _ = positive_class(model)
    if np.any(y == positive):
        report["key_instance_rate"] = key_instance_rate(model, bags, y)
    if len(np.unique(_instance_truth(bags, positive, None))) == 2:
        report["instance_auc"] = instance_auc(model, bags)
    return report


def opened(model: Any, bags: Any) -> tuple[Any, Bags]:
    """Return the classifier inside a search or a pipeline, and the bags as it sees them."""
    if hasattr(model, "best_estimator_"):
        return opened(model.best_estimator_, bags)
    if isinstance(model, Pipeline):
        before, last = model[:-1], model.steps[-1][1]
        return opened(last, before.transform(bags) if len(before.steps) else bags)
    return model, bags


def positive_class(model: Any) -> tuple[Any, int]:
    """Return the positive class and the sign that turns scores towards it."""
    classes = model.classes_.tolist()
    if len(classes) != 2:
        raise ValueError(f"This metric needs two classes, the model has {len(classes)}.")
    named = getattr(model, "pos_label", None)
    return (classes[1], 1) if named is None else (named, 1 if named == classes[1] else -1)


def _instance_truth(bags: Any, positive: Any, instance_pos_label: Any) -> Array:
    labels = getattr(bags, "instance_labels", None)
    if labels is None:
        raise ValueError(
            "The bags have no instance_labels, which this metric needs: give the true labels of "
            "the instances with bags.replace(instance_labels=...)."
        )
    known = labels.tolist()
    if instance_pos_label is None:
        instance_pos_label = positive if positive in known else 1
    return np.array([label == instance_pos_label for label in known])


def labels_of(scores: Array, classes: Array) -> Array:
    """Return the predicted labels of decision values: their sign, or the highest column."""
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
    "accuracy": lambda y, s, classes: float(accuracy_score(y, labels_of(s, classes))),
    "balanced_accuracy": lambda y, s, classes: _balanced(y, labels_of(s, classes)),
    "auc": _auc,
    "f1": lambda y, s, classes: _f1(y, labels_of(s, classes), classes),
}
# One bag does not define these: where test parts are single bags, their scores are pooled first.
POOLED = ("balanced_accuracy", "auc", "f1")


def _balanced(y: Array, predicted: Array) -> float:
    # scikit-learn warns of predicted classes that the few test bags do not have.
    return float(np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)]))


def bag_measures(
    y: Array, scores: Array, classes: Array, only: tuple[str, ...] = tuple(_BAG)
) -> dict[str, float | None]:
    """Return the metrics that the scores of bags define.

    Parameters
    ----------
    y : ndarray of shape (n_bags,)
        True labels.
    scores : ndarray of shape (n_bags,) or (n_bags, n_classes)
        Decision values.
    classes : ndarray
        The labels that the scores stand for, in order.
    only : tuple of str, default=all
        Which metrics.

    Returns
    -------
    dict of str to float or None
        None where the bags do not define a metric: an AUC needs every class.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise.metrics import bag_measures
    >>> y, scores = np.array([1, 0, 1, 0]), np.array([0.5, -1.0, -0.1, -0.2])
    >>> bag_measures(y, scores, np.array([0, 1]), only=("accuracy", "auc"))
    {'accuracy': 0.75, 'auc': 1.0}
    """
    return {name: _BAG[name](y, scores, classes) for name in only}
