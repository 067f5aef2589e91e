"""Weights of bags and of classes, checked."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from bagwise._typing import Array
from bagwise.bags import Bags


def check_weight(bags: Bags, sample_weight: Any) -> Array:
    """Return one finite weight per bag that is not negative; ones when none are given."""
    if sample_weight is None:
        return np.ones(len(bags))
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(len(bags), float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar: one weight per bag.")
    if len(weight) != len(bags):
        hint = " (that is one per instance)" if len(weight) == bags.n_instances else ""
        raise ValueError(
            f"sample_weight.shape == {weight.shape}{hint}, expected {(len(bags),)}: one per bag."
        )
    if not np.any(weight):
        raise ValueError("Sample weights must contain at least one non-zero number.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        i = bad[0]
        raise ValueError(
            f"The sample weight of bag {i} (id {bags.ids.tolist()[i]!r}) is {weight[i]}: weights "
            "must be finite and not negative."
        )
    return weight


def class_weights(class_weight: Any, classes: Array, codes: Array, weight: Array) -> Array:
    """Return one positive, finite weight per class; 1 for classes without one of their own."""
    if isinstance(class_weight, str):
        numbers = np.arange(len(classes))
        return compute_class_weight("balanced", classes=numbers, y=codes, sample_weight=weight)
    given, labels = class_weight or {}, classes.tolist()
    for label, value in given.items():
        if label not in labels:
            raise ValueError(
                f"class_weight names class {label!r}, which is not among the labels {labels}: "
                "remove it or correct it."
            )
        if not isinstance(value, Real) or not np.isfinite(float(value)) or value < 0:
            raise ValueError(
                f"class_weight of class {label!r} is {value!r}: weights must be finite numbers "
                "and not negative."
            )
        if value == 0:
            raise ValueError(
                f"class_weight of class {label!r} is 0, and learning needs every class: give it a "
                "small weight, or fit without its bags."
            )
    return np.array([float(given.get(label, 1.0)) for label in labels])
