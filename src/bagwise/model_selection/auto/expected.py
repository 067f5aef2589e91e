"""What candidates are expected to add, learned from tasks measured before.

``results.csv`` beside this file has the AUC of every candidate on held-out bags of a few tasks, and
the seconds of a fit (``benchmarks/auto_expected.py`` writes it). The tasks on which candidates did
as they do on the bags at hand count most: with r_d the root mean square difference between the two
profiles of AUC, both centered, task d has weight exp(-r_d^2 / 2 s^2).

The expected gain of a candidate is the weighted mean, over tasks, of what it adds to the best AUC
of those tried before. Its expected AUC shrinks what was seen on one fold, a noisy number, towards
the weighted mean of the tasks.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np

from bagwise._typing import Array

_LIKE = 0.05  # AUC: how far profiles of similar tasks are apart
_SPREAD = 0.04  # AUC: how far a candidate lies from the tasks' mean
_NOISE = 0.3  # standard deviation of an AUC of n bags is about this over sqrt(n)


@cache
def _rows() -> list[list[str]]:
    text = files("bagwise.model_selection.auto").joinpath("results.csv").read_text()
    return list(csv.reader(text.splitlines()))[1:]


@cache
def measured() -> tuple[list[str], Array]:
    """Return the candidates' names and their AUC, one row per task."""
    return [row[0] for row in _rows()], np.array([[float(v) for v in r[2:]] for r in _rows()]).T


def usual_seconds(name: str) -> float:
    """Return the seconds that a fit took, the median over tasks; infinity where none is known."""
    return next((float(row[1]) for row in _rows() if row[0] == name), np.inf)


def _similarity(seen: Mapping[str, float]) -> Array:
    """Return weights of the tasks, by the AUC seen of candidates on the bags at hand."""
    names, table = measured()
    known = [name for name in seen if name in names]
    if len(known) < 2:
        return np.full(len(table), 1 / len(table))
    there = table[:, [names.index(name) for name in known]]
    here = np.array([seen[name] for name in known])
    apart = (here - here.mean()) - (there - there.mean(axis=1, keepdims=True))
    closeness = -np.mean(apart**2, axis=1) / (2 * _LIKE**2)
    weights = np.exp(closeness - closeness.max())
    return weights / weights.sum()


def expected_gains(seen: Mapping[str, float], candidates: Sequence[str]) -> dict[str, float]:
    """Return what each candidate is expected to add to the best AUC of those seen."""
    names, table = measured()
    tried = [names.index(name) for name in seen if name in names]
    best = table[:, tried].max(axis=1) if tried else np.full(len(table), 0.5)  # chance
    weights = _similarity(seen)
    return {
        name: float(weights @ np.maximum(table[:, names.index(name)] - best, 0.0))
        if name in names
        else np.inf  # nothing is known about it: try it
        for name in candidates
    }


def in_order(candidates: Sequence[str]) -> list[str]:
    """Sort names such that each adds most to those before it; unknown ones come last."""
    names, table = measured()
    left, order = [name for name in candidates if name in names], list[str]()
    while left:
        best = table[:, [names.index(name) for name in order]].max(axis=1, initial=0.5)
        columns = {name: table[:, names.index(name)] for name in left}
        values = {n: (np.maximum(best, c).mean(), c.mean()) for n, c in columns.items()}
        order.append(max(left, key=lambda name: values[name]))
        left.remove(order[-1])
    return order + [name for name in candidates if name not in names]


def expected_areas(
    seen: Mapping[str, float], n_bags: int, candidates: Sequence[str]
) -> dict[str, float]:
    """Return the AUC expected of candidates, where some were seen on one fold of so many bags."""
    names, table = measured()
    weights, mean = _similarity(seen), float(np.mean(list(seen.values())))
    known = [names.index(name) for name in seen if name in names]
    level = float(weights @ table[:, known].mean(axis=1)) if known else mean
    trust = 1 / (1 + _NOISE**2 / n_bags / _SPREAD**2)  # in what was seen
    expected = {}
    for name in candidates:
        usual = float(weights @ table[:, names.index(name)]) - level + mean if name in names else 1
        expected[name] = trust * seen[name] + (1 - trust) * usual if name in seen else usual
        if name not in names and name in seen:
            expected[name] = seen[name]
    return expected
