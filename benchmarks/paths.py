"""What a path of nine values costs and gives, against separate fits.

    BAGWISE_DATA=... python benchmarks/paths.py [--sets musk1 ...] [--n-jobs 8]

Standardized features, rbf kernel of the median width, C from .01 to 100 (nine values). Cost: CPU
time of the path and of nine separate fits, each divided by that of one fit at C = 1, in one
process on one thread. Objective: warm over cold, in percent, the median and the extremes over the
nine values (convex models: 0). Accuracy: of the C that 5-fold cross-validation chooses, on outer
folds (5, seed 0), by `PathCV` and by a grid search of separate fits.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from bagwise import (
    MICA,
    AnnealedLabelSVC,
    AnnealedWitnessSVC,
    InstanceSVC,
    LabelSVC,
    MissSVM,
    PathCV,
    WitnessSVC,
)
from bagwise.crossfit import folds
from bagwise.datasets import fetch
from bagwise.estimators.paths import CS
from bagwise.model_selection import search

SETS = ("musk1", "elephant", "tiger", "fox")
MODELS = {
    "SIL": InstanceSVC(),
    "MI-SVM": WitnessSVC(),
    "mi-SVM": LabelSVC(),
    "MICA": MICA(),
    "MissSVM": MissSVM(),
    "AW-SVM": AnnealedWitnessSVC(),
    "AL-SVM": AnnealedLabelSVC(),
}


def seconds(work):
    start = process_time()
    found = work()
    return process_time() - start, found


def accuracies(model, bags, y):
    """Return the nested accuracy of the path search and of separate fits."""
    right = np.zeros(2)
    for train, test in folds(bags, y, 5, 0):
        part, labels = bags[train], y[train]
        chosen = PathCV(estimator=model).fit(part, labels)
        found = search(model, [{"C": C} for C in CS], part, labels, cv=5)
        best = max(found, key=lambda choice: choice.value)
        alone = clone(model).set_params(**best.point).fit(part, labels)
        right += [np.sum(one.predict(bags[test]) == y[test]) for one in (chosen, alone)]
    return 100 * right / len(y)


def row(name, method):
    """Return one line of the table."""
    warnings.simplefilter("ignore")
    bags, y = fetch(name)[:2]
    bags = bags.replace(X=StandardScaler().fit_transform(bags.X))
    model = MODELS[method]
    clone(model).fit(bags, y)  # compiles and warms up
    one, _ = seconds(lambda: clone(model).fit(bags, y))
    along, warm = seconds(lambda: model.path(bags, y))
    alone, cold = seconds(lambda: [clone(model).set_params(C=C).fit(bags, y) for C in CS])
    change = [
        100 * (w.objective_[0] / c.objective_[0] - 1) for w, c in zip(warm, cold, strict=True)
    ]
    path, grid = accuracies(model, bags, y)
    return (
        f"| {name} | {method} | {along / one:.1f} | {alone / one:.1f} | {np.median(change):+.1f} "
        f"({min(change):+.1f} to {max(change):+.1f}) | {path:.1f} | {grid:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/paths.md"))
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    head = "| set | method | path, fits | nine fits, fits | objective, % | nested accuracy, path "
    lines = [f"# Paths\n\n```\n{__doc__}```\n", head + "| grid |", "|---|---|---|---|---|---|---|"]
    cells = product(given.sets, MODELS)
    for line in Parallel(given.n_jobs)(delayed(row)(*cell) for cell in cells):
        lines.append(line)
        print(line, flush=True)
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
