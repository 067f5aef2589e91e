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
from collections.abc import Iterable, Mapping, Sequence
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
    known = _known(name, [row[0] for row in _rows()])
    return next((float(row[1]) for row in _rows() if row[0] == known), np.inf)


def _known(name: str, names: Sequence[str]) -> str:
    """Return the name to look up: that without the scaling, where only this one was measured."""
    return name if name in names else name.rsplit(", ", 1)[0]


def _columns(candidates: Iterable[str]) -> dict[str, int]:
    """Return the columns of the table by name, of those candidates that were measured."""
    names, _ = measured()
    known = {name: _known(name, names) for name in candidates}
    return {name: names.index(known[name]) for name in known if known[name] in names}


def _similarity(seen: Mapping[str, float]) -> Array:
    """Return weights of the tasks, by the AUC seen of candidates on the bags at hand."""
    table, known = measured()[1], _columns(seen)
    if len(known) < 2:
        return np.full(len(table), 1 / len(table))
    there = table[:, list(known.values())]
    here = np.array([seen[name] for name in known])
    apart = (here - here.mean()) - (there - there.mean(axis=1, keepdims=True))
    closeness = -np.mean(apart**2, axis=1) / (2 * _LIKE**2)
    weights = np.exp(closeness - closeness.max())
    return weights / weights.sum()


def expected_gains(seen: Mapping[str, float], candidates: Sequence[str]) -> dict[str, float]:
    """Return what each candidate is expected to add to the best AUC of those seen."""
    table, weights = measured()[1], _similarity(seen)
    best = table[:, list(_columns(seen).values())].max(axis=1, initial=0.5)  # chance
    gains = dict.fromkeys(candidates, np.inf)  # nothing is known about it: try it
    for name, column in _columns(candidates).items():
        gains[name] = float(weights @ np.maximum(table[:, column] - best, 0.0))
    return gains


def in_order(candidates: Sequence[str]) -> list[str]:
    """Sort names such that each adds most to those before it; unknown ones come last."""
    table, columns = measured()[1], _columns(candidates)
    left, order = list(columns), list[str]()
    while left:
        best = table[:, [columns[name] for name in order]].max(axis=1, initial=0.5)
        of_left = {name: table[:, columns[name]] for name in left}
        values = {n: (np.maximum(best, c).mean(), c.mean()) for n, c in of_left.items()}
        order.append(max(left, key=lambda name: values[name]))
        left.remove(order[-1])
    return order + [name for name in candidates if name not in columns]


def expected_areas(
    seen: Mapping[str, float], n_bags: float, candidates: Sequence[str]
) -> dict[str, float]:
    """Return the AUC expected of candidates, where some were seen on so many held-out bags."""
    table, columns = measured()[1], _columns([*seen, *candidates])
    weights, mean = _similarity(seen), float(np.mean(list(seen.values())))
    known = [columns[name] for name in seen if name in columns]
    level = float(weights @ table[:, known].mean(axis=1)) if known else mean
    trust = 1 / (1 + _NOISE**2 / n_bags / _SPREAD**2)  # in what was seen
    expected = {}
    for name in candidates:
        if name not in columns:
            expected[name] = seen.get(name, 1.0)
            continue
        usual = float(weights @ table[:, columns[name]]) - level + mean
        expected[name] = trust * seen[name] + (1 - trust) * usual if name in seen else usual
    return expected
