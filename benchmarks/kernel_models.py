"""Kernel models beside the row family: MI-ODM, KI-SVM, calibration folds, MILBoost, linear bags.

    BAGWISE_DATA=... python benchmarks/kernel_models.py [--only elephant] [--out docs/results/...]

CPU seconds of one thread, the better of two runs. "x SVC" is relative to one scikit-learn SVC (rbf,
C = 1, the same gamma) on the same standardized instances in the same process, Gram matrix included.
All models have the kernel rbf; elephant has 1,391 instances, musk2 6,598. GraphSVC joins each bag
to the three bags with the nearest means. "folds" is what the five folds of threshold="calibrated"
add to a fit, in single fits. Rows are added to a JSON file beside the page as they are measured,
and those that are there are not measured again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC

import bagwise
from bagwise.datasets import fetch, make_gaussian_bags
from bagwise.kernels import settle_gamma
from timing import cpu_seconds, one_thread

SINGLE = (
    "OptimalMarginSVC",
    "KeyInstanceSVC",
    "ODM",
    "SemiProximalSVC",
    "MICA",
    "SparseMIL",
    "MissSVM",
    "GraphSVC",
)
CALIBRATED = (
    "InstanceSVC",
    "WitnessSVC",
    "LabelSVC",
    "AnnealedLabelSVC",
    "OptimalMarginSVC",
    "KeyInstanceSVC",
)


def seconds(model, bags, y, repeats: int = 2) -> float:
    """Return the CPU time of one fit."""
    return cpu_seconds(model.fit, bags, y, repeats=repeats)


def made(kind: str, bags, **parameters):
    """Return a model; `GraphSVC` gets the graph of its bags."""
    if kind == "GraphSVC":
        parameters["bag_graph"] = neighbors(bags)
    return getattr(bagwise, kind)(kernel="rbf", **parameters)


def neighbors(bags) -> bagwise.Graph:
    """Join each bag to the three bags with the nearest means."""
    means = np.add.reduceat(bags.X, bags.offsets[:-1]) / bags.sizes[:, None]
    edges = NearestNeighbors(n_neighbors=3).fit(means).kneighbors_graph().tocoo()
    return bagwise.Graph(edges.row, edges.col)


def warm(kind: str) -> None:
    """Compile for small and for large kernel matrices."""
    for bags, y in (standardized("musk1"), make_gaussian_bags(n_bags=330, random_state=0)):
        bags = bags.replace(ids=np.arange(len(bags)))
        made(kind, bags, threshold=0.0).fit(bags, y)


def standardized(name: str):
    """Load a set with features of mean 0 and variance 1."""
    bags, y = fetch(name)
    spread = bags.X.std(axis=0)
    X = (bags.X - bags.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return bagwise.Bags(X, bags.offsets, ids=np.arange(len(bags))), np.asarray(y)


def svc_seconds(bags, y) -> float:
    """Return the CPU time of one SVC on the instances."""
    weights = np.ones(bags.n_instances)
    gamma = settle_gamma("median", bags.X, weights, np.random.RandomState(0))
    return seconds(SVC(gamma=gamma, cache_size=2000), bags.X, np.repeat(y, bags.sizes))


def rows(name: str):
    """Yield the names of the rows of one data set and functions that measure them."""
    for kind in SINGLE:
        yield f"{kind}, threshold 0", lambda kind=kind: single_row(name, kind)
    for kind in CALIBRATED:
        yield f"{kind}, five folds", lambda kind=kind: folds_row(name, kind)


def single_row(name: str, kind: str) -> dict:
    bags, y = standardized(name)
    warm(kind)
    model = made(kind, bags, threshold=0.0)
    one, took = svc_seconds(bags, y), seconds(model, bags, y)
    gap = model.gap_[0] / model.objective_[0]
    return {"seconds": took, "x SVC": took / one, "relative gap": gap}


def folds_row(name: str, kind: str) -> dict:
    bags, y = standardized(name)
    warm(kind)
    once, whole = (seconds(made(kind, bags, threshold=t), bags, y) for t in (0.0, "calibrated"))
    return {"seconds": whole, "folds": (whole - once) / once}


def other_rows():
    """Yield boosting on many features, and linear bags against MeanSVC."""
    yield "MILBoost, 2,002 x 708", boosting_row
    yield "BagKernelSVC(kernel='linear'), elephant", linear_row


def boosting_row() -> dict:
    X, y = np.random.default_rng(0).normal(size=(2002, 708)), np.arange(58) % 2
    offsets = np.linspace(0, 2002, 59).astype(int)
    X[offsets[:-1][y == 1], 5] += 3
    bagwise.MILBoost(n_estimators=2).fit(bagwise.Bags(X, offsets), y)
    return {"seconds": seconds(bagwise.MILBoost(), bagwise.Bags(X, offsets), y)}


def linear_row() -> dict:
    bags, y = fetch("elephant")
    models = bagwise.BagKernelSVC(kernel="linear"), bagwise.MeanSVC(kernel="linear")
    took, mean = (seconds(model, bags, y, repeats=5) for model in models)
    return {"seconds": took, "x MeanSVC": took / mean}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("docs/results/kernel_models.md"))
    parser.add_argument("--only", nargs="*", default=["elephant", "musk2"])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    kept = args.out.with_suffix(".json")
    found = json.loads(kept.read_text()) if kept.exists() else {}
    every = [(f"{name}: {row}", measure) for name in args.only for row, measure in rows(name)]
    every = [*other_rows(), *every]
    for row, measure in every:
        if row not in found:
            found[row] = measure()
            kept.write_text(json.dumps(found, indent=1))
            print(row, found[row])
    names = ["seconds", "x SVC", "folds", "relative gap", "x MeanSVC"]
    order = [row for row, _ in every]
    lines = [f"| {row} | {' | '.join(cell(found[row], n) for n in names)} |" for row in order]
    head = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    text = "\n".join(["# Kernel models", "", __doc__.strip(), "", *head, *lines])
    args.out.write_text(text + "\n")


def cell(row: dict, name: str) -> str:
    return f"{row[name]:.3g}" if name in row else ""


if __name__ == "__main__":
    with one_thread():
        main()
