"""What a path of nine values costs and gives, against separate fits.

    BAGWISE_DATA=... python benchmarks/paths.py [--sets musk1 ...] [--n-jobs 8] [--networks]

Standardized features, rbf kernel of the median width, C from .01 to 100 (nine values). Cost: CPU
time of the path and of nine separate fits, each divided by that of one fit at C = 1, in one
process on one thread. Objective: warm over cold, in percent, the median and the extremes over the
nine values (convex models: 0). Accuracy: of the C that 5-fold cross-validation chooses, on outer
folds (5, seed 0), by `PathCV` and by a grid search of separate fits.

``--networks`` does the same for Markov networks along alpha from 100 to .01, on another page:
linear, standardized features; the cost is counted in passes over the data (products with the
instances or their transpose, one each per step of a bundle method), of the path and of nine
separate fits, divided by the mean of these nine; 3 inner folds.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from bagwise import (
    MICA,
    AnnealedLabelSVC,
    AnnealedWitnessSVC,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    MissSVM,
    PathCV,
    WitnessSVC,
)
from bagwise.crossfit import folds
from bagwise.datasets import fetch
from bagwise.estimators.paths import CS
from bagwise.model_selection import search
from bagwise.models.markov.paths import ALPHAS
from bagwise.models.markov.risk import MarkovRisk
from options import kept

SETS = ("musk1", "elephant", "tiger", "fox")
NETWORKS = {"MIMN": "any", "RMIMN": "ratio", "GMIMN": "learned"}
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


def accuracies(model, bags, y, name="C", values=CS, cv=5):
    """Return the nested accuracy of the path search and of separate fits."""
    right = np.zeros(2)
    for train, test in folds(bags, y, 5, 0):
        part, labels = bags[train], y[train]
        chosen = PathCV(estimator=model, name=name, values=values, cv=cv).fit(part, labels)
        found = search(model, [{name: value} for value in values], part, labels, cv=cv)
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


def passes(work):
    """Return how often the instances are read, and the result."""
    counted, plain = [0], {name: getattr(MarkovRisk, name) for name in ("forward", "backward")}

    def reads(name):
        def read(self, vector):
            counted[0] += 1
            return plain[name](self, vector)

        return read

    for name in plain:
        setattr(MarkovRisk, name, reads(name))
    found = work()
    for name, method in plain.items():
        setattr(MarkovRisk, name, method)
    return counted[0], found


def network_row(name, method):
    """Return one line of the table of networks."""
    warnings.simplefilter("ignore")
    bags, y = fetch(name)[:2]
    bags = bags.replace(X=StandardScaler().fit_transform(bags.X))
    model = MarkovNetworkClassifier(cardinality=NETWORKS[method])
    along, warm = passes(lambda: model.path(bags, y))
    alone, cold = passes(
        lambda: [clone(model).set_params(alpha=alpha).fit(bags, y) for alpha in ALPHAS]
    )
    change = [
        100 * (w.objective_[0] / c.objective_[0] - 1) for w, c in zip(warm, cold, strict=True)
    ]
    path, grid = accuracies(model, bags, y, "alpha", ALPHAS, 3)
    return (
        f"| {name} | {method} | {alone / len(ALPHAS):.0f} | {along} | "
        f"{along * len(ALPHAS) / alone:.1f} | {np.median(change):+.1f} "
        f"({min(change):+.1f} to {max(change):+.1f}) | {path:.1f} | {grid:.1f} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--networks", action="store_true")
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    head = "| set | method | path, fits | nine fits, fits | objective, % | nested accuracy, path "
    of_one, methods, page, title = row, list(MODELS), "paths", "Paths"
    if given.networks:
        head = "| set | network | passes of a fit | of the path | path, fits | objective, % "
        head += "| nested accuracy, path "
        of_one, methods, page = network_row, list(NETWORKS), "paths_networks"
        title = "Paths of Markov networks"
    rule = "|" + "---|" * (head.count("|") + 1)
    command = f"python benchmarks/paths.py {' '.join(sys.argv[1:])}"
    top = f"# {title}\n\n`{command}`\n\n```\n{__doc__}```\n"
    lines = [top, head + "| grid |", rule]
    cells = product(given.sets, methods)
    out = given.out or Path(f"docs/results/{page}.md")
    for line in kept(out.with_suffix(".jsonl"), cells, of_one, given.n_jobs):
        lines.append(line)
        print(line, flush=True)
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
