"""Kernel models beside the row family: MI-ODM, KI-SVM, calibration folds, MILBoost, linear bags.

    BAGWISE_DATA=... python benchmarks/kernel_models.py [--only elephant] [--out docs/results/...]

CPU seconds of one thread. "x SVC" is relative to one scikit-learn SVC (rbf, C = 1, the same gamma)
on the same standardized instances in the same process, Gram matrix included. "folds" is what the
five folds of threshold="calibrated" add to a fit, in single fits. Rows are added to a JSON file
beside the page as they are measured, and those that are there are not measured again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.svm import SVC

import bagwise
from bagwise.datasets import fetch
from bagwise.kernels import settle_gamma

POOLS = ("OptimalMarginSVC", "KeyInstanceSVC")
CALIBRATED = ("InstanceSVC", "WitnessSVC", "LabelSVC", "AnnealedLabelSVC", "OptimalMarginSVC")


def seconds(model, bags, y) -> float:
    """Return the CPU time of one fit."""
    start = process_time()
    model.fit(bags, y)
    return process_time() - start


def standardized(name: str):
    """Load a set with features of mean 0 and variance 1."""
    bags, y = fetch(name)
    spread = bags.X.std(axis=0)
    X = (bags.X - bags.X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return bagwise.Bags(X, bags.offsets), np.asarray(y)


def svc_seconds(bags, y) -> float:
    """Return the CPU time of one SVC on the instances."""
    weights = np.ones(bags.n_instances)
    gamma = settle_gamma("median", bags.X, weights, np.random.RandomState(0))
    return seconds(SVC(gamma=gamma, cache_size=2000), bags.X, np.repeat(y, bags.sizes))


def rows(name: str):
    """Yield the names of the rows of one data set and functions that measure them."""
    for kind in POOLS:
        yield f"{kind}, threshold 0", lambda kind=kind: pool_row(name, kind)
    for kind in CALIBRATED:
        yield f"{kind}, five folds", lambda kind=kind: folds_row(name, kind)


def pool_row(name: str, kind: str) -> dict:
    bags, y = standardized(name)
    model = getattr(bagwise, kind)(threshold=0.0)
    model.fit(*standardized("musk1"))  # compiles
    one, took = svc_seconds(bags, y), seconds(model, bags, y)
    gap = model.gap_[0] / model.objective_[0]
    return {"seconds": took, "x SVC": took / one, "relative gap": gap}


def folds_row(name: str, kind: str) -> dict:
    bags, y = standardized(name)
    make = getattr(bagwise, kind)
    make(threshold=0.0).fit(*standardized("musk1"))
    once = seconds(make(threshold=0.0), bags, y)
    whole = seconds(make(threshold="calibrated"), bags, y)
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
    took, mean = (min(seconds(model, bags, y) for _ in range(3)) for model in models)
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
    for row, measure in [*other_rows(), *every]:
        if row not in found:
            found[row] = measure()
            kept.write_text(json.dumps(found, indent=1))
            print(row, found[row])
    names = ["seconds", "x SVC", "folds", "relative gap", "x MeanSVC"]
    lines = [f"| {row} | {' | '.join(cell(r, n) for n in names)} |" for row, r in found.items()]
    head = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    text = "\n".join(["# Kernel models", "", __doc__.strip(), "", *head, *lines])
    args.out.write_text(text + "\n")


def cell(row: dict, name: str) -> str:
    return f"{row[name]:.3g}" if name in row else ""


if __name__ == "__main__":
    main()
