"""What a bag contributes to a metric, to first order: the parts that intervals are made of.

For accuracy it is whether the bag is classified correctly, for the AUC the fraction of bags of the
other class, in the same fold, on the right side of it. In general it is the derivative of the
metric in the weight of the bag (its influence, Hampel 1974), centered. A function returns the
metric and the parts, one per bag; the sum of their squares estimates the variance of the metric.

References: F. Hampel, "The influence curve and its role in robust estimation", JASA 1974; E.
DeLong, D. DeLong & D. Clarke-Pearson, "Comparing the areas under two or more correlated ROC
curves", Biometrics 1988.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata

from bagwise._typing import Array
from bagwise.metrics import labels_of

Part = tuple[float, Array]


def _sides(values: Array, side: Array) -> Part:
    """Return the mean over sides of their means, and (value - mean of its side) / (side's size)."""
    known = np.isfinite(values)
    parts, means = np.zeros(len(values)), []
    for each in np.unique(side):
        rows = np.flatnonzero(known & (side == each))
        if len(rows) == 0:
            return float("nan"), parts
        means.append(values[rows].mean())
        unbiased = np.sqrt(len(rows) * max(len(rows) - 1, 1))
        parts[rows] = (values[rows] - means[-1]) / unbiased
    return float(np.mean(means)), parts


def _accuracy(sample: Any, scores: Array, _: Array) -> Part:
    right = labels_of(scores, sample.classes) == sample.y
    return _sides(right.astype(float), np.zeros(len(right)))


def _balanced_accuracy(sample: Any, scores: Array, _: Array) -> Part:
    right = labels_of(scores, sample.classes) == sample.y
    value, parts = _sides(right.astype(float), sample.y)
    return value, parts / len(sample.classes)


def _auc(sample: Any, scores: Array, folds: Array) -> Part:
    """Average over classes against the rest; pairs of bags count within folds only."""
    one = scores.ndim == 1
    columns = [scores] if one else list(scores.T)
    labels = sample.classes[1:] if one else sample.classes
    parted = []
    for label, column in zip(labels, columns, strict=True):
        truth, placed = sample.y == label, np.full(len(column), np.nan)
        for fold in np.unique(folds):
            rows = folds == fold
            placed[rows] = _placements(truth[rows], column[rows])
        parted.append(_sides(placed, truth))
    return float(np.mean([v for v, _ in parted])), np.mean([part for _, part in parted], axis=0)


def _placements(truth: Array, scores: Array) -> Array:
    """Return for each bag the fraction of bags of the other class on its right side."""
    placed = np.full(len(truth), np.nan)
    if truth.all() or not truth.any():
        return placed
    ranks, n_positive = rankdata(scores), int(truth.sum())
    lower = (ranks[truth] - rankdata(scores[truth])) / (len(truth) - n_positive)
    higher = 1 - (ranks[~truth] - rankdata(scores[~truth])) / n_positive
    placed[truth], placed[~truth] = lower, higher
    return placed


# Metrics of the positive class --------------------------------------------------------------------


def _positives(sample: Any) -> Array:
    label = sample.classes[1] if sample.positive is None else sample.positive
    return sample.y == label


def _towards_positive(sample: Any, scores: Array) -> Array:
    named = sample.positive is None or sample.positive == sample.classes[1]
    return scores if named else -scores


def _f1(sample: Any, scores: Array, _: Array) -> Part:
    """F = 2 a / (2 a + b + c) of the counts a (found), b (false) and c (missed)."""
    predicted = labels_of(scores, sample.classes)
    positive = sample.classes[1] if sample.positive is None else sample.positive
    labels = [positive] if len(sample.classes) == 2 else sample.classes
    parted = [_f1_of(sample.y == label, predicted == label) for label in labels]
    return float(np.mean([v for v, _ in parted])), np.mean([part for _, part in parted], axis=0)


def _f1_of(truth: Array, predicted: Array) -> Part:
    found, wrong = truth & predicted, truth != predicted
    total = 2 * found.sum() + wrong.sum()
    if total == 0:
        return 0.0, np.zeros(len(truth))
    slopes = 2 * (wrong.sum() * found - found.sum() * wrong) / total**2
    return float(2 * found.sum() / total), slopes * _bessel_factor(len(truth))


def _of_class(sample: Any, scores: Array, _: Array, *, positive: bool) -> Part:
    """Return sensitivity or specificity."""
    mine = _positives(sample) == positive
    right = (labels_of(scores, sample.classes) == sample.y).astype(float)
    return _sides(np.where(mine, right, np.nan), np.zeros(len(mine)))


def _average_precision(sample: Any, scores: Array, _: Array) -> Part:
    """Average the precision at the rank of each positive bag; folds are pooled.

    In a small fold the precision is too high by chance. With precision p_i and rank N_i of bag i,
    bag j adds y_j (p_j - AP), and changes the precision of the positive bags i at or below it by
    (y_j - p_i) / N_i.
    """
    truth = _positives(sample)
    precision, parts = _precisions(truth, _towards_positive(sample, scores))
    value = float(precision[truth].mean())
    parts += truth * (precision - value)
    return value, parts / truth.sum() * _bessel_factor(len(truth))


def _precisions(truth: Array, scores: Array) -> tuple[Array, Array]:
    """Return the precision at each bag's score, and what the bag changes of those below it."""
    rank = rankdata(-scores, method="max").astype(int)  # bags at or above, ties included
    found = np.bincount(rank, weights=truth, minlength=len(truth) + 1).cumsum()[rank]
    precision = found / rank
    below = np.argsort(-rank, kind="stable")  # the lowest scores first
    ones, shares = (np.cumsum(truth[below] * v[below]) for v in (1 / rank, precision / rank))
    last = np.searchsorted(-rank[below], -rank, side="right") - 1  # ties are at or below, too
    return precision, truth * ones[last] - shares[last]


def _sensitivity_at(sample: Any, scores: Array, _: Array, *, specificity: float) -> Part:
    """Pool the folds; negative bags move the threshold, by the slope of the ROC curve there."""
    truth, toward = _positives(sample), _towards_positive(sample, scores)
    negative = np.sort(toward[~truth])[::-1]
    allowed = 1 - specificity
    width = 1 / np.sqrt(len(negative))  # over which the slope is taken

    def sensitivity(false_rate: float) -> tuple[float, Array]:
        n_false = int(np.clip(false_rate, 0, 1) * len(negative) + 1e-9)  # 1 - 0.9 is not 0.1
        above = np.full(len(toward), True)
        if n_false < len(negative):
            above = toward > negative[n_false]
        return float(above[truth].mean()), above

    value, above = sensitivity(allowed)
    low, high = max(0.0, allowed - width), min(1.0, allowed + width)
    slope = (sensitivity(high)[0] - sensitivity(low)[0]) / (high - low)
    of_positive = (above - value) / truth.sum()
    of_negative = -slope * (above - above[~truth].mean()) / len(negative)
    return value, np.where(truth, of_positive, of_negative) * _bessel_factor(len(truth))


def _bessel_factor(n: int) -> float:
    return float(np.sqrt(n / max(n - 1, 1)))


PARTS: dict[str, Callable[[Any, Array, Array], Part]] = {
    "auc": _auc,
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "average_precision": _average_precision,
    "sensitivity": partial(_of_class, positive=True),
    "specificity": partial(_of_class, positive=False),
    "sensitivity@0.9": partial(_sensitivity_at, specificity=0.9),
    "sensitivity@0.95": partial(_sensitivity_at, specificity=0.95),
}
