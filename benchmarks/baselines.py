"""Ten-fold accuracies of the baselines on the five benchmark sets, beside the published ones.

    BAGWISE_DATA=... python benchmarks/baselines.py [--data musk1 tiger] [--repeats 1]

Protocol: stratified 10-fold on stored splits (docs/results/baselines/), the same for all models,
raw features. A cell is the accuracy of the best point of a small grid on these same folds, which is
optimistic and what the papers report; its AUC; and the accuracy when each fold's threshold is
chosen on the held-out scores of the nine others. Cells are kept in
docs/results/baselines/cells.jsonl as they finish: a second run continues, and ``--page`` writes
docs/results/baselines.md from them.
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

from bagwise import (
    DDSVM,
    EMDD,
    MILES,
    MISSVM,
    BagEnsemble,
    BagKernelSVC,
    CitationKNN,
    DiverseDensity,
    MeanSVC,
    MILBoost,
    SparseMIL,
    WitnessSVC,
)
from bagwise.benchmark.protocol import Protocol, read_splits, stored_splits
from bagwise.benchmark.published import published_table
from bagwise.crossfit import best_threshold
from bagwise.datasets import fetch
from timing import one_thread

DATA = ("musk1", "musk2", "elephant", "fox", "tiger")
FOLDER = Path(__file__).parents[1] / "docs" / "results" / "baselines"
CELLS = FOLDER / "cells.jsonl"
console = Console()

C = {"C": [1.0, 10.0, 100.0]}
FEW = {"C": [1.0, 10.0]}
# Name: (class, fixed parameters, grid, the method's name in the published tables).
MODELS = {
    "BagKernelSVC mean (MI-Kernel)": (BagKernelSVC, {}, C, "MI-Kernel"),
    "BagKernelSVC sum": (BagKernelSVC, {"kernel": "sum"}, {"C": [0.01, 0.1, 1.0]}, None),
    "BagKernelSVC statistics (STK)": (BagKernelSVC, {"kernel": "statistics"}, C, None),
    "BagKernelSVC migraph": (BagKernelSVC, {"kernel": "migraph"}, C, "miGraph"),
    "BagKernelSVC max": (BagKernelSVC, {"kernel": "max"}, C, None),
    "BagKernelSVC hausdorff": (BagKernelSVC, {"kernel": "hausdorff"}, C, None),
    "MeanSVC (SimpleMI)": (MeanSVC, {}, C, None),
    "MILES": (MILES, {}, {"C": [0.3, 1.0, 3.0]}, "MILES"),
    "DiverseDensity (DD)": (DiverseDensity, {}, {}, "DD"),
    "EMDD (EM-DD)": (EMDD, {}, {}, "EM-DD"),
    "DDSVM (DD-SVM)": (DDSVM, {}, FEW, "DD-SVM"),
    "CitationKNN": (CitationKNN, {}, {"distance": ["minimal", "average"]}, None),
    "SparseMIL (sMIL)": (SparseMIL, {}, FEW, None),
    "SparseMIL (stMIL)": (SparseMIL, {"variant": "transductive"}, FEW, None),
    "SparseMIL (sbMIL)": (
        SparseMIL,
        {"variant": "balanced", "C": 1.0},
        {"balance": [0.3, 0.6, 1.0]},
        None,
    ),
    "MISSVM (MissSVM)": (MISSVM, {}, FEW, "MissSVM"),
    "MILBoost": (MILBoost, {}, {"max_depth": [1, 2]}, None),
    "BagEnsemble of WitnessSVC": (BagEnsemble, {"estimator": WitnessSVC(C=5.0)}, {}, None),
}
TABLES = ("hajimirsadeghi2017-table2", "zhang2020-table3")


def points(grid):
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def held_out(model, bags, y, splits):
    scores = np.empty(len(y))
    for split in splits:
        train, test = split.train(len(y)), np.array(split.test)
        scores[test] = model.fit(bags[train], y[train]).decision_function(bags[test])
    return scores


def measures(scores, y, splits):
    """Return accuracy at threshold 0, AUC, and accuracy at the other folds' threshold."""
    limit = np.empty(len(y))
    for split in splits:
        train, test = split.train(len(y)), np.array(split.test)
        limit[test] = best_threshold(scores[train], y[train] > 0, np.ones(len(train)))
    at_zero = 100 * np.mean((scores > 0) == y)
    return at_zero, 100 * roc_auc_score(y, scores), 100 * np.mean((scores > limit) == y)


def cell(name, data, repeats):
    kind, fixed, grid, _ = MODELS[name]
    bags, y = fetch(data)
    file = stored_splits(FOLDER, data, Protocol("kfold", 10, repeats), bags, y)
    _, splits = read_splits(file)
    began, rows = time.process_time(), []
    for point in points(grid):
        per_repeat = []
        for repeat in range(repeats):
            chosen = [split for split in splits if split.repeat == repeat]
            scores = held_out(kind(**fixed, **point), bags, y, chosen)
            per_repeat.append(measures(scores, y, chosen))
        rows.append({"point": point, "measures": np.mean(per_repeat, axis=0).round(2).tolist()})
    best = max(rows, key=lambda row: row["measures"][0])
    fits = 10 * repeats * len(rows)
    seconds = round((time.process_time() - began) / fits, 3)
    return {"model": name, "data": data, "repeats": repeats, "seconds_a_fit": seconds, **best}


def stored():
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    return {(entry["model"], entry["data"]): entry for entry in map(json.loads, lines)}


def published(method, data):
    numbers = [published_table(table).number("accuracy", method, data) for table in TABLES]
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
    lines += ["", "CPU seconds of one fit (one thread), mean over folds and grid points:", ""]
    lines += [head, "|---|" + "---|" * len(DATA)]
    for name in MODELS:
        found = [cells.get((name, data)) for data in DATA]
        texts = [f"{entry['seconds_a_fit']:.2f}" if entry else "-" for entry in found]
        lines.append(f"| {name} | " + " | ".join(texts) + " |")
    return "\n".join(lines)


INTRODUCTION = """# Ten-fold accuracies of the baselines

`BAGWISE_DATA=... python benchmarks/baselines.py`

Protocol: stratified 10-fold, {repeats} round(s), on the stored splits beside this page, raw
features. A cell: accuracy % of the best grid point on these same folds at threshold 0 / its AUC % /
its accuracy when each fold's threshold is chosen on the scores of the nine others, and in brackets
the published accuracy % of Hajimirsadeghi & Mori 2017, Table 2 (10-fold, most of it quoted there
from the methods' own papers) / Zhang & Jin 2020, Table 3 (5-fold). Where there are no brackets
those papers print no accuracy of the method on these sets. One standard error is about 3 points:
the sets have 92 to 200 bags. The grids are those of the script: two or three values of C (or of the
distance, balance, depth), gamma = 1 / (2 median^2).

"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--page", action="store_true", help="only write the page")
    args = parser.parse_args()
    FOLDER.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    for data, name in [] if args.page else product(args.data, args.models):
        if (name, data) in stored():
            continue
        with one_thread():
            entry = cell(name, data, args.repeats)
        with CELLS.open("a") as file:
            file.write(json.dumps(entry) + "\n")
        console.print(f"{data:9} {name:32} {entry['measures']} {entry['seconds_a_fit']} s a fit")
    cells = stored()
    repeats = max(entry["repeats"] for entry in cells.values())
    text = INTRODUCTION.format(repeats=repeats) + page(cells) + "\n"
    FOLDER.with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
