"""What a benchmark measures: the names, how they are shown, and their values on the test bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import segment_mean
from bagwise.crossfit import best_threshold, fit_sigmoids, sigmoid_probabilities
from bagwise.metrics import can_judge_instances, instance_report, labels_of


@dataclass(frozen=True)
class Metric:
    """How a metric is shown."""

    label: str
    better: int = 1  # 1: higher, -1: lower, 0: neither
    scale: float = 100.0  # percent by default
    digits: int = 1
    complement: str = ""  # the stored metric that this one is 1 minus of


METRICS = {
    "accuracy": Metric("accuracy %"),
    "error": Metric("error %", -1, complement="accuracy"),
    "balanced_accuracy": Metric("balanced accuracy %"),
    "auc": Metric("AUC", scale=1.0, digits=3),
    "f1": Metric("F1 %"),
    "calibrated_accuracy": Metric("accuracy % at a threshold chosen on the training bags"),
    "calibrated_error": Metric(
        "error % at a threshold chosen on the training bags", -1, complement="calibrated_accuracy"
    ),
    "brier": Metric("Brier score after calibration", -1, 1.0, 3),
    "key_instance_rate": Metric("key-instance rate %"),
    "instance_auc": Metric("instance AUC", scale=1.0, digits=3),
    "instance_accuracy": Metric("instance accuracy %"),
    "instance_error": Metric("instance error %", -1, complement="instance_accuracy"),
    "p_hat": Metric("estimated positives in positive bags %", 0, digits=0),
    "fit_seconds": Metric("CPU seconds to fit", -1, 1.0, 2),
    "predict_seconds": Metric("CPU seconds to predict", -1, 1.0, 3),
    "objective": Metric("objective", -1, 1.0, 2),
    "gap": Metric("duality gap", -1, 1.0, 6),
}

SELECTED = "accuracy"  # by which grid points are chosen, as in all papers


def measure_calibrated(
    y: Array, scores: Array, inner_y: Array, inner_scores: Array, classes: Array
) -> dict[str, float | None]:
    """Return accuracy and Brier score after calibration on out-of-fold scores.

    ``inner_y`` and ``inner_scores`` are of the training bags, each scored by a fit without it.
    """
    inner, outer = (part.reshape(len(part), -1) for part in (inner_scores, scores))
    of = classes[1:] if inner.shape[1] == 1 else classes
    weight = np.ones(len(inner_y))
    truth = inner_y[:, None] == of
    slope, midpoints = fit_sigmoids(inner, truth, weight)
    chances = sigmoid_probabilities(outer - midpoints, slope)
    if len(of) == 1:
        threshold = best_threshold(inner_scores, inner_y == of[0], weight)
        right = float(np.mean(labels_of(scores - threshold, classes) == y))
        return {"calibrated_accuracy": right, "brier": _squares(chances[:, 0], y == of[0])}
    chances /= chances.sum(axis=1, keepdims=True)
    brier = sum(_squares(chances[:, k], y == label) for k, label in enumerate(of))
    return {"calibrated_accuracy": None, "brier": brier}


def _squares(chance: Array, truth: Array) -> float:
    return float(np.mean((chance - truth) ** 2))


def measure_instances(model: Any, bags: Bags, y: Array) -> dict[str, float]:
    """Return how well instances are classified, where their labels and scores are known."""
    if not can_judge_instances(model, bags):
        return {}
    found = model.predict_instances(bags) == model.classes_[1]
    truth = np.asarray(bags.instance_labels) == 1
    right = float(np.mean(truth == found))
    return {"instance_accuracy": right, **instance_report(model, bags, y)}


def measure_fit(model: Any, train: Bags, y: Array) -> dict[str, float]:
    """Return objective, gap and p-hat, where the model has them.

    p-hat is the mean fraction of instances taken as positive, over positive training bags.
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
