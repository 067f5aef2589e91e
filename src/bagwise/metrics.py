"""How well bags are classified, and how well the instances responsible are found.

Every metric is called as ``metric(model, bags, y)``, which is what scikit-learn asks of a scorer:
``cross_val_score(model, bags, y, scoring=key_instance_rate)`` works as it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score
from sklearn.pipeline import Pipeline

from bagwise.bags import Bags, check_bags

__all__ = ["bag_report", "instance_auc", "key_instance_rate"]

Array = NDArray[Any]


def key_instance_rate(
    model: Any, bags: Bags, y: ArrayLike, *, instance_pos_label: Any = None
) -> float:
    """Share of positive bags whose key instance is truly positive.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline or search that ends in one
        Fitted on two classes.
    bags : Bags
        With ``instance_labels``.
    y : array-like of shape (n_bags,)
        True labels of the bags; only positive bags are counted, however they are classified.
    instance_pos_label : object, default=None
        The instance label that counts as positive; the model's positive class where instances have
        it, else 1.

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
    model, bags = _opened(model, bags)
    positive, _ = _positive_class(model)
    truth = _instance_truth(bags, positive, instance_pos_label)
    counted = np.asarray(y) == positive
    if len(counted) != len(bags):
        raise ValueError(f"y has {len(counted)} labels, there are {len(bags)} bags.")
    if not counted.any():
        raise ValueError(f"No bag is of the positive class {positive!r}: there is no rate.")
    return float(truth[bags.flat(model.key_instances(bags))[counted]].mean())


def instance_auc(
    model: Any, bags: Bags, y: ArrayLike | None = None, *, instance_pos_label: Any = None
) -> float:
    """Area under the ROC curve of the instance scores, over the instances of all bags.

    Parameters
    ----------
    model : BagClassifier, or a Pipeline or search that ends in one
        Fitted on two classes.
    bags : Bags
        With ``instance_labels``.
    y : array-like of shape (n_bags,), default=None
        Not used.
    instance_pos_label : object, default=None
        The instance label that counts as positive; the model's positive class where instances have
        it, else 1.

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
    model, bags = _opened(model, bags)
    positive, sign = _positive_class(model)
    truth = _instance_truth(bags, positive, instance_pos_label)
    if truth.all() or not truth.any():
        kind = "positive" if truth.all() else "negative"
        raise ValueError(f"All instance labels are {kind}: there is no ROC curve.")
    return float(roc_auc_score(truth, sign * model.instance_decision_function(bags)))


def bag_report(model: Any, bags: Any, y: ArrayLike) -> dict[str, float]:
    """Every metric that the model and the bags allow.

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
        more); "key_instance_rate" and "instance_auc" where instance labels of both kinds are known,
        there are two classes, and the model scores instances.

    Examples
    --------
    >>> from bagwise import Bags, WitnessSVC
    >>> from bagwise.metrics import bag_report
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]]
    >>> bag_report(WitnessSVC(kernel="linear").fit(bags, [1, 0, 1]), bags, [1, 0, 1])
    {'accuracy': 1.0, 'balanced_accuracy': 1.0, 'auc': 1.0}
    """
    model, bags = _opened(model, check_bags(bags))
    y, predicted = np.asarray(y), model.predict(bags)
    report = {
        "accuracy": float(accuracy_score(y, predicted)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted)),
        "auc": _bag_auc(model, bags, y),
    }
    known = bags.instance_labels is not None and len(model.classes_) == 2
    if known and hasattr(model, "key_instances"):
        report |= _instance_report(model, bags, y)
    return report


def _instance_report(model: Any, bags: Bags, y: Array) -> dict[str, float]:
    positive, _ = _positive_class(model)
    report = {}
    if np.any(y == positive):
        report["key_instance_rate"] = key_instance_rate(model, bags, y)
    if len(np.unique(_instance_truth(bags, positive, None))) == 2:
        report["instance_auc"] = instance_auc(model, bags)
    return report


def _bag_auc(model: Any, bags: Bags, y: Array) -> float:
    scores = model.decision_function(bags)
    if scores.ndim == 1:
        return float(roc_auc_score(y == model.classes_[1], scores))
    columns = zip(model.classes_, scores.T, strict=True)
    return float(np.mean([roc_auc_score(y == label, column) for label, column in columns]))


def _opened(model: Any, bags: Any) -> tuple[Any, Bags]:
    """Return the classifier inside a search or a pipeline, and the bags as it sees them."""
    if hasattr(model, "best_estimator_"):
        return _opened(model.best_estimator_, bags)
    if isinstance(model, Pipeline):
        before, last = model[:-1], model.steps[-1][1]
        return _opened(last, before.transform(bags) if len(before.steps) else bags)
    return model, bags


def _positive_class(model: Any) -> tuple[Any, int]:
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
            "The bags have no instance_labels: true labels of the instances are needed to judge "
            "which instance was pointed at. Give them with bags.replace(instance_labels=...)."
        )
    known = labels.tolist()
    if instance_pos_label is None:
        instance_pos_label = positive if positive in known else 1
    return np.array([label == instance_pos_label for label in known])
