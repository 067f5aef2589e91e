"""Ten-fold accuracies of the baselines on the five usual data sets, beside the published ones.

    BAGWISE_DATA=... python benchmarks/baselines.py [--data musk1 tiger] [--models MILES]

Protocol: stratified 10-fold on stored splits (docs/results/baselines/), the same for all models;
features are standardized on the training folds. A cell holds the accuracy of the best point of a
small grid on these same folds, which is optimistic and what the papers report; its AUC; and the
accuracy when each fold's grid point and threshold are chosen on the held-out scores of the nine
other folds. Finished cells are stored in docs/results/baselines/cells.jsonl: a second run
continues where the first one stopped. ``--page`` writes docs/results/baselines.md from the cells.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    DDSVM,
    EMDD,
    MILES,
    BagEnsemble,
    BagKernelSVC,
    CitationKNN,
    DiverseDensity,
    MeanSVC,
    MILBoost,
    MissSVM,
    PerInstance,
    SparseMIL,
    WitnessSVC,
)
from bagwise.bench.splits import Protocol, read_splits, store_splits
from bagwise.bench.tables import read_published
from bagwise.crossfit import best_threshold
from bagwise.datasets import fetch, load_digits_bags
from bagwise.kernels import settle_gamma
from timing import one_thread

DATA = ("musk1", "musk2", "elephant", "fox", "tiger")
FOLDER = Path(__file__).parents[1] / "docs" / "results" / "baselines"
CELLS = FOLDER / "cells.jsonl"
console = Console()

C = {"C": [1.0, 10.0, 100.0, 1000.0]}
FEW = {"C": [10.0, 100.0]}
# Name: (class, fixed parameters, grid, the method's name in the published tables). "width" is a
# factor on gamma = 1 / (2 median^2).
MODELS = {
    "BagKernelSVC mean (MI-Kernel)": (BagKernelSVC, {}, C, "MI-Kernel"),
    "BagKernelSVC sum": (BagKernelSVC, {"bag_kernel": "sum"}, {"C": [0.1, 1.0, 10.0]}, None),
    "BagKernelSVC statistics (STK)": (BagKernelSVC, {"bag_kernel": "statistics"}, C, None),
    "BagKernelSVC migraph": (BagKernelSVC, {"bag_kernel": "migraph"}, C, "miGraph"),
    "MeanSVC (SimpleMI)": (MeanSVC, {}, C, None),
    "MILES": (MILES, {}, {"C": [1.0, 3.0, 10.0, 100.0], "width": [0.1, 1.0, 3.0]}, "MILES"),
    "DiverseDensity (DD)": (DiverseDensity, {}, {}, "DD"),
    "EMDD (EM-DD)": (EMDD, {}, {}, "EM-DD"),
    "DDSVM (DD-SVM)": (DDSVM, {}, {"C": [1.0, 10.0, 100.0]}, "DD-SVM"),
    "CitationKNN": (
        CitationKNN,
        {},
        {"metric": ["minimal", "average"], "n_references": [2, 3], "n_citers": [3, 4]},
        None,
    ),
    "SparseMIL (sMIL)": (SparseMIL, {}, C, None),
    "SparseMIL (stMIL)": (SparseMIL, {"variant": "transductive"}, FEW, None),
    "SparseMIL (sbMIL)": (
        SparseMIL,
        {"variant": "balanced"},
        {"C": [1.0, 10.0], "positive_fraction": [0.6, 1.0]},
        None,
    ),
    "MissSVM": (MissSVM, {}, {"C": [10.0, 100.0, 1000.0]}, "MissSVM"),
    "MILBoost": (MILBoost, {}, {"max_depth": [1, 3]}, None),
    "BagEnsemble of WitnessSVC": (BagEnsemble, {"estimator": WitnessSVC(C=100.0)}, {}, None),
}
# musk2 has 6,598 instances: models over all of them are linear there, and slow ones have one grid
# point.
LINEAR_ON_MUSK2 = ("SparseMIL (sMIL)", "SparseMIL (stMIL)", "SparseMIL (sbMIL)", "MissSVM")
ON_MUSK2 = {
    **{name: ({"kernel": "linear"}, {"C": [0.1, 1.0, 10.0, 100.0]}) for name in LINEAR_ON_MUSK2},
    "BagEnsemble of WitnessSVC": ({"estimator": WitnessSVC(C=0.1, kernel="linear")}, {}),
    "DDSVM (DD-SVM)": ({}, {"C": [10.0]}),
    "MILBoost": ({}, {"max_depth": [1]}),
}
# Models with key instances, for the digit bags.
KEYS = {
    "DiverseDensity (DD)": DiverseDensity(),
    "EMDD (EM-DD)": EMDD(),
    "CitationKNN (CkNN-ROI), average": CitationKNN(metric="average"),
    "BagKernelSVC mean (MI-Kernel)": BagKernelSVC(C=10),
    "MILES": MILES(C=10),
    "SparseMIL (sMIL)": SparseMIL(C=10),
    "MissSVM": MissSVM(C=10),
}
DIGITS = (0, 9)
TABLES = ("hajimirsadeghi2017-table2", "zhang2020-table3")


def points(grid):
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def built(kind, fixed, point, gamma):
    """Return the model at a grid point, behind a scaler that sees the training folds only."""
    point = dict(point)
    if "width" in point:
        point["gamma"] = gamma * point.pop("width")
    return make_pipeline(PerInstance(StandardScaler()), kind(**fixed, **point))


def median_gamma(bags):
    rows = StandardScaler().fit_transform(bags.X)
    return settle_gamma("median", rows, np.ones(len(rows)), np.random.RandomState(0))


def held_out(model, bags, y, splits):
    scores = np.empty(len(y))
    for split in splits:
        train, test = split.train(len(y)), np.array(split.test)
        scores[test] = model.fit(bags[train], y[train]).decision_function(bags[test])
    return scores


def measures(scores, y):
    """Return accuracy at threshold 0 and AUC, in %."""
    return 100 * np.mean((scores > 0) == y), 100 * roc_auc_score(y, scores)


def chosen_on_others(columns, y, splits):
    """Return the accuracy when the other nine folds choose a fold's grid point and threshold."""
    right = np.empty(len(y), dtype=bool)
    for split in splits:
        train, test = split.train(len(y)), np.array(split.test)
        limits = [best_threshold(s[train], y[train] > 0, np.ones(len(train))) for s in columns]
        fits = [np.mean((s[train] > t) == y[train]) for s, t in zip(columns, limits, strict=True)]
        best = int(np.argmax(fits))
        right[test] = (columns[best][test] > limits[best]) == y[test]
    return 100 * np.mean(right)


def cell(name, data):
    kind, fixed, grid, _ = MODELS[name]
    if data == "musk2" and name in ON_MUSK2:
        other, grid = ON_MUSK2[name]
        fixed = {**fixed, **other}
    bags, y = fetch(data)
    _, splits = read_splits(store_splits(FOLDER, data, Protocol("kfold", 10, 1), bags, y))
    gamma = median_gamma(bags)
    began = time.process_time()
    columns = [
        held_out(built(kind, fixed, point, gamma), bags, y, splits) for point in points(grid)
    ]
    seconds = round((time.process_time() - began) / (10 * len(columns)), 3)
    rated = [measures(scores, y) for scores in columns]
    best = max(range(len(columns)), key=lambda k: rated[k])
    found = [*rated[best], chosen_on_others(columns, y, splits)]
    return {
        "model": name,
        "data": data,
        "seconds_a_fit": seconds,
        "grid": len(columns),
        "point": points(grid)[best],
        "measures": np.round(found, 2).tolist(),
    }


def key_cell(name, digit):
    """Return how often the key instance of a positive digit bag shows the digit, in %."""
    model, rates = KEYS[name], []
    for seed in range(3):
        train = load_digits_bags(digit=digit, n_bags=100, subset="train", random_state=seed)
        test, y = load_digits_bags(digit=digit, n_bags=100, subset="test", random_state=10 + seed)
        model.fit(*train)
        positive = test[y == 1]
        hit = positive.instance_labels[positive.flat(model.key_instances(positive))]
        rates.append((100 * hit.mean(), 100 * roc_auc_score(y, model.decision_function(test))))
    measured = np.mean(rates, axis=0).round(1).tolist()
    return {"model": name, "data": f"digit {digit}", "measures": measured}


def stored():
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    return {(entry["model"], entry["data"]): entry for entry in map(json.loads, lines)}


def published(method, data):
    numbers = [read_published()[table].number("accuracy", method, data) for table in TABLES]
    return " / ".join(f"{number[0]:g}" if number else "-" for number in numbers)


def page(cells):
    head = "| model | " + " | ".join(DATA) + " |"
    lines = [head, "|---|" + "---|" * len(DATA)]
    for name, (_, _, _, method) in MODELS.items():
        found = [cells.get((name, data)) for data in DATA]
        texts = []
        for data, entry in zip(DATA, found, strict=True):
            ours = "{:.1f} / {:.1f} / {:.1f}".format(*entry["measures"]) if entry else "-"
            theirs = f" ({published(method, data)})" if method else ""
            texts.append(ours + theirs.replace("(- / -)", ""))
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    lines += ["", "CPU seconds per fit on one thread, mean over folds and grid points:", ""]
    lines += [head, "|---|" + "---|" * len(DATA)]
    for name in MODELS:
        found = [cells.get((name, data)) for data in DATA]
        texts = [f"{entry['seconds_a_fit']:.2f}" if entry else "-" for entry in found]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


def key_page(cells):
    lines = ["| model | " + " | ".join(f"digit {digit}" for digit in DIGITS) + " |"]
    lines.append("|---|" + "---|" * len(DIGITS))
    for name in KEYS:
        found = [cells.get((name, f"digit {digit}")) for digit in DIGITS]
        texts = ["{:.1f} / {:.1f}".format(*entry["measures"]) if entry else "-" for entry in found]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


KEY_INTRODUCTION = """

## Key instances on digit bags

Train on 100 bags of 5 to 15 images, test on 100 others (`load_digits_bags`); mean of three draws.
A cell: percentage of positive test bags whose key instance (the one with the highest score) shows
the digit / AUC of the bags in %.

"""

INTRODUCTION = """# Ten-fold accuracies of the baselines

`BAGWISE_DATA=... python benchmarks/baselines.py`

Protocol: stratified 10-fold, one round, on the stored splits beside this page; features are
standardized on the training folds. A cell has three numbers, all in %: accuracy of the best grid
point on these same folds at threshold 0 / its AUC / accuracy when each fold's grid point and
threshold are chosen on the held-out scores of the nine other folds. Published accuracies follow in
parentheses: Hajimirsadeghi & Mori 2017, Table 2 (10-fold, mostly quoted from the methods' own
papers) / Zhang & Jin 2020, Table 3 (5-fold). Without parentheses, neither paper prints an accuracy
of the method on this data set. One standard error is about 3 points, because the data sets have 92
to 200 bags. The grids are in the script: one to four values of C (or of `positive_fraction`, depth,
metric and numbers of neighbors), and gamma = 1 / (2 median^2), for MILES also a tenth and three
times that value. On musk2 (6,598 instances) SparseMIL, MissSVM and the ensemble use a linear kernel
instead of rbf.

sMIL and stMIL ask positive bags only for margins below zero, so their accuracy at threshold 0 means
little. Their paper reports areas under ROC curves; compare the second and third numbers instead.

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--page", action="store_true", help="only write the page")
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    jobs = [(data, name, cell) for data, name in product(args.data, args.models)]
    jobs += [(f"digit {digit}", name, key_cell) for digit, name in product(DIGITS, KEYS)]
    for data, name, measure in [] if args.page else jobs:
        if (name, data) in stored():
            continue
        with one_thread():
            entry = measure(name, int(data[-1]) if measure is key_cell else data)
        with CELLS.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        console.print(f"{data:9} {name:32} {entry['measures']}")
    cells = stored()
    text = INTRODUCTION + page(cells) + KEY_INTRODUCTION + key_page(cells) + "\n"
    FOLDER.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
