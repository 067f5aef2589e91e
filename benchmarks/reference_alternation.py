"""Slow alternations by a general QP solver, stored as a reference for the tests.

mi-SVM and MI-SVM (squared hinge) on one training fold of musk1 and tiger. Every convex problem is
solved by clarabel with all rows written out; every assignment is made bag by bag in plain Python.
The objectives of all steps and the held-out bags go to tests/procedures/reference_alternation.json.

    PYTHONPATH=tests BAGWISE_DATA=... python benchmarks/reference_alternation.py

Takes a minute or two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from bagwise.datasets import fetch
from bagwise.losses import SquaredHinge
from reference.program import kernel_features, reference_solution

TARGET = Path(__file__).parents[1] / "tests" / "procedures" / "reference_alternation.json"
CASES = [
    ("musk1", "linear", 0.01),
    ("musk1", "linear", 1.0),
    ("musk1", "rbf", 1.0),
    ("tiger", "linear", 0.01),
    ("tiger", "linear", 1.0),
]


def held_out(y: np.ndarray) -> np.ndarray:
    """Return the bags of the first of ten folds."""
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    return next(folds.split(np.zeros(len(y)), y))[1]


def scores_of(X: np.ndarray, positive: np.ndarray, negative: np.ndarray) -> tuple[float, Any]:
    found = reference_solution(X, positive, negative, SquaredHinge())
    return found.primal, found


def best_of_each(bags: list[range], scores: np.ndarray) -> np.ndarray:
    p = np.zeros(len(scores))
    for bag in bags:
        p[max(bag, key=lambda k: scores[k])] = 1
    return p


def labels_of_each(bags: list[range], scores: np.ndarray) -> np.ndarray:
    p = best_of_each(bags, scores)
    for bag in bags:
        for k in bag:
            if scores[k] > 0:
                p[k] = 1
    return p


def start_from_means(X: np.ndarray, bags: list[range], negatives: np.ndarray, C: float) -> Any:
    means = np.array([X[list(bag)].mean(axis=0) for bag in bags])
    rows = np.vstack([means, X[negatives]])
    is_mean = np.arange(len(rows)) < len(means)
    _, found = scores_of(rows, C * is_mean, C * ~is_mean)
    return best_of_each(bags, X @ found.coef)


def alternate(X: np.ndarray, bags: list[range], C: float, method: str) -> list[float]:
    """Return the objectives of all steps."""
    inside = np.zeros(len(X), dtype=bool)
    for bag in bags:
        inside[list(bag)] = True
    negatives = np.flatnonzero(~inside)
    p = 1.0 * inside if method == "labels" else start_from_means(X, bags, negatives, C)
    objectives: list[float] = []
    while True:
        rest = np.where(inside, 1 - p if method == "labels" else 0.0, 1.0)
        value, found = scores_of(X, C * p, C * rest)
        if objectives and value > objectives[-1] * (1 - 1e-10):
            return objectives
        objectives.append(value)
        scores = X @ found.coef + found.intercept
        proposal = (labels_of_each if method == "labels" else best_of_each)(bags, scores)
        if np.array_equal(proposal, p):
            return objectives
        p = proposal


def run_case(name: str, kernel: str, C: float) -> dict[str, Any]:
    bags, y = fetch(name)
    test = held_out(y)
    train = np.setdiff1d(np.arange(len(y)), test)
    part, labels = bags[train], y[train]
    X = StandardScaler().fit_transform(part.X)
    gamma = 0.5 / X.shape[1]
    features = X if kernel == "linear" else kernel_features(rbf_kernel(X, gamma=gamma))
    edges = list(zip(part.offsets[:-1].tolist(), part.offsets[1:].tolist(), strict=True))
    positive = [range(*edge) for edge, label in zip(edges, labels, strict=True) if label == 1]
    case = {"data": name, "kernel": kernel, "gamma": gamma, "C": C, "held_out": test.tolist()}
    for method in ("labels", "witnesses"):
        case[method] = alternate(features, positive, C, method)
        print(name, kernel, C, method, case[method], flush=True)
    return case


if __name__ == "__main__":
    TARGET.write_text(json.dumps([run_case(*case) for case in CASES], indent=1) + "\n")
