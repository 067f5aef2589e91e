"""Conformal sets on real bags: how often they hold the truth, and how large they are.

    BAGWISE_DATA=... python benchmarks/conformal.py docs/results/conformal.md

Protocol: 20 random halves (stratified); models are fitted and calibrated on one half, sets are
made for the other. "split" calibrates on one of three folds, "cross" on all three. Coverage in
percent is the fraction of test bags whose set holds the true label; size is the mean number of
labels in a set, of two; "one label" is the fraction of bags whose set has exactly one, and "right"
how often that one is the true label. The last row of each data set is the model alone.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from rich.progress import track
from sklearn.model_selection import StratifiedShuffleSplit

from bagwise import BagKernelSVC, WitnessSVC
from bagwise.datasets import fetch
from bagwise.model_selection import ConformalBagClassifier
from timing import one_thread

DATA = ("musk1", "tiger", "elephant", "fox")
MODELS = {"MI-SVM": WitnessSVC(C=5.0), "MI-Kernel": BagKernelSVC(C=10.0)}
LEVELS = (0.8, 0.9)
ROUNDS = 20


def rows_of(name, title, model):
    bags, y = fetch(name)
    halves = StratifiedShuffleSplit(ROUNDS, test_size=0.5, random_state=0).split(y, y)
    found, alone = {}, []
    for train, test in halves:
        alone.append(np.mean(model.fit(bags[train], y[train]).predict(bags[test]) == y[test]))
        for method in ("split", "cross"):
            sets = ConformalBagClassifier(estimator=model, method=method, cv=3).fit(
                bags[train], y[train]
            )
            p = sets.p_values(bags[test])
            for level in LEVELS:
                inside = p > 1 - level
                one = inside.sum(axis=1) == 1
                held = inside[np.arange(len(test)), y[test]]
                right = held[one].mean() if one.any() else np.nan
                values = held.mean(), inside.sum(axis=1).mean(), one.mean(), right
                found.setdefault((method, level), []).append(values)
    lines = []
    for (method, level), values in found.items():
        held, size, one, right = np.nanmean(values, axis=0)
        lines.append(
            f"| {name} | {title} | {method} | {100 * level:.0f} | {100 * held:.1f} | {size:.2f} "
            f"| {100 * one:.0f} | {100 * right:.1f} |"
        )
    return [*lines, f"| {name} | {title} | alone |  |  | 1 | 100 | {100 * np.mean(alone):.1f} |"]


def main() -> None:
    lines = [
        "| data | model | sets | level % | coverage % | size | one label % | right % |",
        "|---|---|---|---:|---:|---:|---:|---:|",
    ]
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in track(DATA, "conformal"):
            for title, model in MODELS.items():
                lines += rows_of(name, title, model)
    body = "Protocol:" + __doc__.split("Protocol:")[1]
    head = "# Conformal sets on real bags\n\n`python benchmarks/conformal.py`\n\n"
    Path(sys.argv[1]).write_text(head + body + "\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
