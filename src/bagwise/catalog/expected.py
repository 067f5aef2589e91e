"""What to expect of methods before anything is fitted: which to try first, and what they cost.

``benchmarks/expected.py`` writes ``expected.csv`` beside this file: one row per method with
its AUC on each task, and its CPU seconds per outer fold of a comparison relative to the quickest
method, as a median over tasks. Where a method was not measured on a task, chance is assumed.
"""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files

import numpy as np


@cache
def _table() -> tuple[dict[str, list[float]], dict[str, float]]:
    text = files("bagwise.catalog").joinpath("expected.csv").read_text(encoding="utf-8")
    areas, costs = {}, {}
    for name, cost, *values in list(csv.reader(text.splitlines()))[1:]:
        areas[name] = [float(value) if value else 0.5 for value in values]
        costs[name] = float(cost)
    return areas, costs


@cache
def _order() -> list[str]:
    """Put first the method that adds most to the best AUC so far, on the mean over tasks."""
    areas, _ = _table()
    left, order = dict(areas), []
    best = np.full(len(next(iter(left.values()))), 0.5)  # chance
    while left:
        gain = {n: (np.maximum(best, v).mean(), np.mean(v)) for n, v in left.items()}
        first = max(gain, key=lambda n: gain[n])
        order.append(first)
        best = np.maximum(best, left.pop(first))
    return order


def by_expected_gain(names: list[str]) -> list[str]:
    """Return the names of methods in the order in which to try them.

    Each adds most to the best AUC of those before it, on the mean over the tasks that were
    measured. Names that were not measured come last, as they are.

    Examples
    --------
    >>> from bagwise.catalog.expected import by_expected_gain
    >>> by_expected_gain(["mine", "SVM-Majority", "MI-SVM"])
    ['MI-SVM', 'SVM-Majority', 'mine']
    """
    place = {name: i for i, name in enumerate(_order())}
    return sorted(names, key=lambda name: place.get(name, len(place)))


def usual_cost(name: str) -> float:
    """Return the cost of a method relative to the quickest; infinity where it was not measured.

    Examples
    --------
    >>> from bagwise.catalog.expected import usual_cost
    >>> usual_cost("SimpleMI") < usual_cost("MI-SVM") < usual_cost("mine")
    True
    """
    return _table()[1].get(name, float("inf"))
