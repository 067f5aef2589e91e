"""Known labels of instances: what ``bags.known_labels`` says to a model of some classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.ids import name_of
from bagwise.bags.segments import bag_of_row, expand, segment_max

_REMEDY = "Correct known_labels or the label of the bag."


def known_signs(classes: list[Any], positive: list[Any], bags: Bags) -> list[Array | None]:
    """Return, for each class that is learned, 1 for its known instances, -1 for known others.

    0 is for instances of which nothing is known (NaN, None or an empty text); None where that is
    all of them. Labels are those of bags, or 1 and 0 (or -1) for two classes. ``positive`` names
    the classes that are learned.
    """
    labels = bags.known_labels
    known = np.flatnonzero(find_known(labels)) if labels is not None else np.empty(0, dtype=int)
    if not len(known):
        return [None] * len(positive)
    values = labels[known].tolist()
    names = _name_positives(set(values), classes, positive)
    if names is None:
        raise ValueError(_explain_unknown(bags, known, values, classes))
    signs = np.zeros((len(positive), bags.n_instances))
    for row, name in zip(signs, names, strict=True):
        row[known] = [1.0 if value == name else -1.0 for value in values]
    return list(signs)


def find_known(labels: Array) -> Array:
    """Return which labels are known, rather than NaN or empty."""
    if labels.dtype.kind == "f":
        return ~np.isnan(labels)
    return labels != "" if labels.dtype.kind == "U" else np.ones(len(labels), dtype=bool)


def _name_positives(present: set[Any], classes: list[Any], positive: list[Any]) -> Any:
    """Return what the learned classes are called among the known labels."""
    if present <= set(classes):
        return positive
    numbers = len(positive) == 1 and (1 not in classes or positive == [1])
    return [1] if numbers and (present <= {0, 1} or present <= {-1, 1}) else None


def _explain_unknown(bags: Bags, known: Array, values: list[Any], classes: list[Any]) -> str:
    at = next((i for i, value in enumerate(values) if value not in classes), 0)
    bag = bag_of_row(int(known[at]), bags.offsets)
    place = f"{name_of(bags.ids, bag)}, instance {known[at] - bags.offsets[bag]}"
    return (
        f"{place}: its known label {values[at]!r} is none of the classes {classes}. For two "
        "classes, 1 is a positive and 0 a negative; NaN or None is unknown (-1 is a negative)."
    )


def check_known(bags: Bags, signs: Array, positive: Array, used: Array) -> Array | None:
    """Return the signs within positive bags, None where all are 0; contradictions are errors."""
    wrong = np.flatnonzero((signs > 0) & expand(~positive & used, bags.offsets))
    if len(wrong):
        bag = bag_of_row(int(wrong[0]), bags.offsets)
        at = f"its instance {wrong[0] - bags.offsets[bag]} {_name_instance(bags, int(wrong[0]))}"
        raise ValueError(
            f"{name_of(bags.ids, bag)} is negative, but {at}is known to be positive. {_REMEDY}"
        )
    empty = np.flatnonzero((segment_max(signs, bags.offsets) < 0) & positive)
    if len(empty):
        what = "is positive, but all of its instances are known to be negative"
        raise ValueError(f"{name_of(bags.ids, int(empty[0]))} {what}. {_REMEDY}")
    signs = np.where(expand(positive, bags.offsets), signs, 0.0)
    return signs if signs.any() else None


def _name_instance(bags: Bags, row: int) -> str:
    return f"(id {bags.instance_ids[row]!s}) " if bags.has_instance_ids else ""


def warn_if_unused(model: Any, bags: Bags) -> None:
    """Warn that a model learns from labels of bags alone, where some of instances are known."""
    if bags.known_labels is None or not find_known(bags.known_labels).any():
        return
    warnings.warn(
        f"{type(model).__name__} learns from the labels of bags: the known labels of instances "
        "play no role. LabelSVC, WitnessSVC, InstanceSVC, the annealed SVMs and "
        'MarkovNetworkClassifier(cardinality="any") use them.',
        UserWarning,
        stacklevel=3,
    )
