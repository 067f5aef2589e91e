"""How well bags are classified, and how well the instances responsible are found.

Metrics of models are called as ``metric(model, bags, y)``, as scikit-learn calls a scorer:
``cross_val_score(model, bags, y, scoring=key_instance_rate)`` works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import norm, rankdata
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score

from bagwise._documented import documenting
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.ids import factorize
from bagwise.errors import suggestion
from bagwise.estimators.tags import innermost

__all__ = [
    "MEASURES",
    "bag_measures",
    "bag_report",
    "evaluation",
    "instance_auc",
    "key_instance_rate",
]


_scores = documenting(
    {
        "model": ("BagClassifier, or a Pipeline or search that ends in one", "Two classes."),
        "bags": ("Bags, or anything check_bags takes", "With ``instance_labels``."),
        "y": ("array-like of shape (n_bags,)", "Their labels."),
        "instance_pos_label": "The positive instance label. When None, the model's positive class "
        "if instances have that label, else 1.",
    }
)


@_scores(y="True labels of the bags. All positive bags count, however they are classified.")
def key_instance_rate(
    model: Any, bags: Bags, y: ArrayLike, *, instance_pos_label: Any = None
) -> float:
    """Return the fraction of positive bags whose key instance is truly positive.

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
    model, bags = unwrap_model(model, bags)
    positive, _ = positive_class(model)
    truth = _instance_truth(bags, positive, instance_pos_label)
    counted = np.asarray(y) == positive
    if len(counted) != len(bags):
        raise ValueError(f"y has {len(counted)} labels, there are {len(bags)} bags.")
    if not counted.any():
        raise ValueError(f"No bag is of the positive class {positive!r}: the rate is undefined.")
    return float(truth[bags.flat(model.key_instances(bags))[counted]].mean())


@_scores(y="Not used.")
def instance_auc(
    model: Any, bags: Bags, y: ArrayLike | None = None, *, instance_pos_label: Any = None
) -> float:
    """Return the area under the ROC curve of the instance scores, over all instances.

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
    model, bags = unwrap_model(model, bags)
    positive, sign = positive_class(model)
    truth = _instance_truth(bags, positive, instance_pos_label)
    if truth.all() or not truth.any():
        kind = "positive" if truth.all() else "negative"
        raise ValueError(f"All instance labels are {kind}: the AUC is undefined.")
    return float(roc_auc_score(truth, sign * model.instance_decision_function(bags)))


@_scores(model="Fitted.", bags="The test bags.", y="Their labels.")
def bag_report(model: Any, bags: Any, y: ArrayLike) -> dict[str, float]:
    """Return every metric that the model and the bags allow.

    Returns
    -------
    dict of str to float
        "accuracy", "balanced_accuracy" and "auc" (the mean of one-vs-rest for three classes or
        more, NaN where a class is missing); with two classes also "sensitivity" and "specificity"
        and, where the model scores instances and their labels of both kinds are known,
        "key_instance_rate" and "instance_auc".

    Examples
    --------
    >>> from bagwise import Bags, WitnessSVC
    >>> from bagwise.metrics import bag_report
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]]
    >>> bag_report(WitnessSVC(kernel="linear").fit(bags, [1, 0, 1]), bags, [1, 0, 1])
    {'accuracy': 1.0, 'balanced_accuracy': 1.0, 'auc': 1.0, 'sensitivity': 1.0, 'specificity': 1.0}
    """
    model, bags = unwrap_model(model, check_bags(bags, finite=False))
    of_two = len(model.classes_) == 2
    rates = ("sensitivity", "specificity") if of_two else ()
    measured = np.asarray(y), model.decision_function(bags), model.classes_
    values = bag_measures(
        *measured,
        ("accuracy", "balanced_accuracy", "auc", *rates),
        positive_class(model)[0] if of_two else None,
    )
    report = {name: float("nan") if value is None else value for name, value in values.items()}
    return report | instance_report(model, bags, np.asarray(y))


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


def unwrap_model(model: Any, bags: Any) -> tuple[Any, Bags]:
    """Return the classifier inside a search or a pipeline, and the bags as it sees them."""
    return innermost(model, bags, passes=lambda step: True)


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


def _f1(y: Array, predicted: Array, classes: Array, positive: Any) -> float:
    if len(classes) == 2:
        kind: dict[str, Any] = {"pos_label": positive, "average": "binary"}
    else:
        kind = {"labels": classes, "average": "macro"}
    return float(f1_score(y, predicted, zero_division=0.0, **kind))


def _share(y: Array, predicted: Array, label: Any) -> float | None:
    """Return the fraction of a class that is predicted right; None where there is none of it."""
    of_class = y == label
    return float(np.mean(predicted[of_class] == label)) if of_class.any() else None


def _average_precision(y: Array, scores: Array, classes: Array, positive: Any) -> float | None:
    if scores.ndim != 1:
        raise ValueError(f"This metric needs two classes, there are {len(classes)}.")
    truth, toward = y == positive, scores if positive == classes[1] else -scores
    return float(average_precision_score(truth, toward)) if truth.any() else None


def _balanced_accuracy(y: Array, predicted: Array) -> float:
    # scikit-learn warns of predicted classes that the few test bags do not have.
    return float(np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)]))


_OF_ANY = ("accuracy", "balanced_accuracy", "auc", "f1")  # number of classes
MEASURES = (*_OF_ANY, "average_precision", "sensitivity", "specificity")


def bag_measures(
    y: Array,
    scores: Array,
    classes: Array,
    only: tuple[str, ...] = _OF_ANY,
    positive: Any = None,
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
    only : tuple of str, default=("accuracy", "balanced_accuracy", "auc", "f1")
        Which metrics; for two classes also "average_precision", "sensitivity" and "specificity".
    positive : object, default=None
        The positive class; ``classes[1]`` when None.

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
    unknown = next((name for name in only if name not in MEASURES), None)
    if unknown is not None:
        raise ValueError(f"There is no metric {unknown!r}. {suggestion(unknown, MEASURES)}")
    positive = classes[1] if positive is None else positive
    predicted = labels_of(scores, classes)
    measures: dict[str, Callable[[], float | None]] = {
        "accuracy": lambda: float(accuracy_score(y, predicted)),
        "balanced_accuracy": lambda: _balanced_accuracy(y, predicted),
        "auc": lambda: _auc(y, scores, classes),
        "f1": lambda: _f1(y, predicted, classes, positive),
        "average_precision": lambda: _average_precision(y, scores, classes, positive),
        "sensitivity": lambda: _share(y, predicted, positive),
        "specificity": lambda: _share(y, predicted, classes[classes != positive][0]),
    }
    return {name: measures[name]() for name in only}


@_scores(bags="The test bags, of both classes.")
def evaluation(model: Any, bags: Any, y: ArrayLike) -> dict[str, tuple[float, float, float]]:
    """Return metrics of bags that the model has not seen, with intervals of 95 % confidence.

    Proportions have Wilson's interval. That of the AUC inverts the score test with the variance of
    Hanley & McNeil (Newcombe 2006, method 5), and is never of length zero; bags of one group of
    ``bags.groups`` count as the independent bags that they are worth. That of the balanced
    accuracy combines those of sensitivity and specificity (Zou & Donner 2008). F1 and average
    precision have none: give more bags instead.

    Returns
    -------
    dict of str to (float, float, float)
        Value, lower and upper bound by metric; NaN where there is no bound.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.metrics import evaluation
    >>> bags, y = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]]], [1, 0, 1]
    >>> value, low, high = evaluation(WitnessSVC(kernel="linear").fit(bags, y), bags, y)["accuracy"]
    >>> value, round(low, 2), high
    (1.0, 0.44, 1.0)
    """
    model, bags = unwrap_model(model, check_bags(bags, finite=False))
    y, classes = np.asarray(y), model.classes_
    positive, _ = positive_class(model)
    scores = model.decision_function(bags)
    values = bag_measures(y, scores, classes, MEASURES, positive)
    if values["auc"] is None:
        raise ValueError(f"An evaluation needs bags of both classes {classes.tolist()}.")
    found = {name: float(value) for name, value in values.items() if value is not None}
    n_pos = int((y == positive).sum())
    counts = {"accuracy": len(y), "sensitivity": n_pos, "specificity": len(y) - n_pos}
    bounds = {name: wilson(found[name], n) for name, n in counts.items()}
    bounds["auc"] = bound_auc_of(y == classes[1], scores, bags.groups)
    bounds["balanced_accuracy"] = _mean_bounds(
        *((found[name], *bounds[name]) for name in ("sensitivity", "specificity"))
    )
    none = (float("nan"), float("nan"))
    return {name: (found[name], *bounds.get(name, none)) for name in MEASURES}


def wilson(share: float, n: float, quantile: float = norm.ppf(0.975)) -> tuple[float, float]:
    """Return Wilson's interval of a share of n."""
    weight = quantile**2 / n
    middle = (share + weight / 2) / (1 + weight)
    half = np.sqrt(weight * share * (1 - share) + weight**2 / 4) / (1 + weight)
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def auc_bounds(
    auc: float, n_pos: float, n_neg: float, quantile: float = norm.ppf(0.975)
) -> tuple[float, float]:
    """Return where the score test of an AUC stops to reject (Newcombe 2006, method 5).

    The variance is that of Hanley & McNeil at the tested value. Both ends are mirror images.
    """
    half, level = (n_pos + n_neg) / 2 - 1, quantile**2 / (n_pos * n_neg)

    def lowest(auc: float) -> float:
        def excess(theta: float) -> float:
            spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
            return (auc - theta) ** 2 - level * theta * (1 - theta) * spread

        # theta = AUC is inside the interval; at 0 and 1 the variance is 0, which is no end of it.
        return float(brentq(excess, 0.0, auc * (1 - 1e-9))) if auc > 0 else 0.0

    return lowest(auc), 1 - lowest(1 - auc)


def place_scores(truth: Array, scores: Array) -> Array:
    """Return for each bag the fraction of bags of the other class on its right side."""
    placed = np.full(len(truth), np.nan)
    if truth.all() or not truth.any():
        return placed
    ranks, n_positive = rankdata(scores), int(truth.sum())
    placed[truth] = (ranks[truth] - rankdata(scores[truth])) / (len(truth) - n_positive)
    placed[~truth] = 1 - (ranks[~truth] - rankdata(scores[~truth])) / n_positive
    return placed


def count_effective(truth: Array, parts: Array, units: Array) -> tuple[float, float]:
    """Return how many independent positive and negative bags those of groups are worth.

    ``parts`` are the centered contributions of bags to a metric, ``units`` the numbers of their
    groups: numbers are divided by the factor that groups multiply the variance by. Where all bags
    are right there is no variance: a group counts as one bag then.
    """
    alone, joint = np.sum(parts**2), np.sum(np.bincount(units, weights=parts) ** 2)
    if alone == 0:
        return len(np.unique(units[truth])), len(np.unique(units[~truth]))
    inflation = max(1.0, joint / alone)
    return truth.sum() / inflation, (~truth).sum() / inflation


def bound_auc_of(truth: Array, scores: Array, groups: Array | None = None) -> tuple[float, float]:
    """Return the 95 % interval of the AUC of scores of bags that the model has not seen."""
    units = np.arange(len(truth)) if groups is None else factorize(groups)[0]
    placed = place_scores(truth, scores)
    means = np.where(truth, placed[truth].mean(), placed[~truth].mean())
    parts = (placed - means) / np.where(truth, truth.sum(), (~truth).sum())
    return auc_bounds(placed[truth].mean(), *count_effective(truth, parts, units))


def _mean_bounds(
    one: tuple[float, float, float], other: tuple[float, float, float]
) -> tuple[float, float]:
    mean = (one[0] + other[0]) / 2
    below, above = (np.hypot(one[0] - one[k], other[0] - other[k]) / 2 for k in (1, 2))
    return float(max(0.0, mean - below)), float(min(1.0, mean + above))
