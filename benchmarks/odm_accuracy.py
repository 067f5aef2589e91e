"""Five-fold accuracies of MI-ODM and related methods, by random search with equal budgets.

    BAGWISE_DATA=... python benchmarks/odm_accuracy.py musk1 elephant fox tiger --draws 16
    BAGWISE_DATA=... python benchmarks/odm_accuracy.py musk2 --draws 12 --columns 5
    python benchmarks/odm_accuracy.py --table docs/results/odm.md

Protocol (Zhang & Jin 2020, Section 5.2): stratified 5-fold, the same seeded folds for all methods;
features are standardized on the training instances; C_pos, C_neg and C in {1, 10, 100, 1000}, nu
and theta in {.2, .4, .6, .8}, rbf kernel with gamma = 2^{-4, -2, 0, 2, 4} / n_features (for DD and
EM-DD: the initial width). Every method gets the same number of random draws from its grid; some
draws are equal. "Best" is the best draw on the same folds (optimistic, as the papers report), at
threshold 0 and at thresholds calibrated by 3-fold inner cross-validation. "Nested" is the draw
chosen by that inner cross-validation in each training fold, at both thresholds. The pool contains
at most --columns assignments. Every finished draw is stored, and stored draws are not run again.
"MI-ODM, any way" shares one budget between the three ways to train it (draw n is taken from way n
modulo 3), which is what a fair comparison with one method needs.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from bagwise import (
    EMDD,
    BagKernelSVC,
    DiverseDensity,
    KeyInstanceSVC,
    LabelSVC,
    OptimalMarginSVC,
    WitnessSVC,
)
from bagwise.crossfit import best_threshold
from bagwise.datasets import fetch
from bagwise.estimators.assigned import AssignedClassifier
from timing import one_thread

SEED = 0
WAYS = ("MI-ODM", "MI-ODM, refined", "MI-ODM by CCCP")
DATA = ("musk1", "musk2", "elephant", "fox", "tiger")
METHODS = {
    "MI-ODM": (OptimalMarginSVC, {}),
    "MI-ODM, refined": (OptimalMarginSVC, {"refine": True}),
    "MI-ODM by CCCP": (OptimalMarginSVC, {"relax": False}),
    "Ins-KI-SVM": (KeyInstanceSVC, {"negatives": "instances"}),
    "Bag-KI-SVM": (KeyInstanceSVC, {"negatives": "bags"}),
    "MI-SVM": (WitnessSVC, {}),
    "mi-SVM": (LabelSVC, {}),
    "MI-Kernel": (BagKernelSVC, {}),
    "DD": (DiverseDensity, {}),
    "EM-DD": (EMDD, {}),
}
PAPER = {
    "Ins-KI-SVM": (84.0, 84.4, 83.5, 63.4, 82.9),
    "Bag-KI-SVM": (88.0, 82.0, 84.5, 60.5, 85.0),
    "MI-SVM": (77.9, 84.3, 81.4, 59.4, 84.0),
    "mi-SVM": (87.4, 83.6, 82.0, 58.2, 78.9),
    "MI-Kernel": (88.0, 89.3, 84.3, 60.3, 84.2),
    "MI-ODM": (88.2, 89.8, 84.5, 63.9, 85.2),
    "DD": (88.0, 84.0, None, None, None),
    "EM-DD": (84.8, 84.9, 78.3, 56.1, 72.1),
}
WEIGHTS, SHARES, WIDTHS = (1, 10, 100, 1000), (0.2, 0.4, 0.6, 0.8), (-4, -2, 0, 2, 4)


def draw(kind, rng, n_features):
    """Draw one point of the paper's grid."""
    point = {"gamma": 2.0 ** rng.choice(WIDTHS) / n_features}
    weights = [float(rng.choice(WEIGHTS)) for _ in range(2)]
    shares = [float(rng.choice(SHARES)) for _ in range(2)]
    if kind is OptimalMarginSVC:
        names = ("C_pos", "C_neg", "nu", "theta")
        return {**point, **dict(zip(names, weights + shares, strict=True))}
    return {**point, "C": weights[0]} if "C" in kind().get_params() else point


def held_out(model, bags, y, train, test):
    scaler = StandardScaler().fit(bags[train].X)
    fitted = model.fit(scaled(scaler, bags[train]), y[train])
    return fitted.decision_function(scaled(scaler, bags[test]))


def scaled(scaler, bags):
    return bags.replace(X=scaler.transform(bags.X))


def inner_scores(model, bags, y):
    scores = np.empty(len(y))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=SEED).split(y, y):
        scores[test] = held_out(model, bags, y, train, test)
    return scores


def try_draw(model, bags, y, folds):
    """Return numbers of correct predictions and inner accuracies, by threshold and fold."""
    right, inner = np.empty((2, len(folds)), dtype=int), np.empty((2, len(folds)))
    for f, (train, test) in enumerate(folds):
        scores = held_out(model, bags, y, train, test)
        inside = inner_scores(model, bags[train], y[train])
        calibrated = best_threshold(inside, y[train] > 0, np.ones(len(train)))
        for t, threshold in enumerate((0.0, calibrated)):
            right[t, f] = np.sum((scores > threshold) == y[test])
            inner[t, f] = np.mean((inside > threshold) == y[train])
    return right, inner


def drawn(data, method, number):
    """Return the data set and the grid point of a draw of a method."""
    bags, y = fetch(data)
    rng, kind = np.random.RandomState(SEED), METHODS[method][0]
    return bags, y, [draw(kind, rng, bags.n_features) for _ in range(number + 1)][number]


def run_draw(data, method, number, columns):
    """Return the record of one draw of one method."""
    bags, y, point = drawn(data, method, number)
    kind, options = METHODS[method]
    if issubclass(kind, AssignedClassifier):
        steps = (
            {"max_columns": columns, "max_iter": columns, "tol": 0.05}
            if options.get("relax", True)
            else {}
        )
        options = {**options, **steps, "threshold": 0.0}
    began = time.process_time()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=SEED).split(y, y))
    right, inner = try_draw(kind(**options, **point), bags, y, folds)
    return {
        "data": data,
        "method": method,
        "draw": number,
        "columns": columns,
        "point": point,
        "right": right.tolist(),
        "inner": inner.round(6).tolist(),
        "bags": len(y),
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def accuracies(draws):
    """Return the best draw's and the nested accuracies in percent, each at both thresholds."""
    right = np.array([record["right"] for record in draws])  # (draws, 2, 5)
    inner = np.array([record["inner"] for record in draws])
    chosen = np.take_along_axis(right, inner.argmax(axis=0)[None], axis=0)[0]
    counts = [*right.sum(axis=2).max(axis=0), *chosen.sum(axis=1)]
    return [100 * count / draws[0]["bags"] for count in counts]


def one_each(records):
    """Return one record per draw, in order: two runs at the same time may both have stored it."""
    return [r for _, r in sorted({r["draw"]: r for r in records}.items())]


def table(records):
    """Compare methods on the draws that all methods of a data set have."""
    lines = [
        "| data | method | best, threshold 0 | best, calibrated | nested, threshold 0 "
        "| nested, calibrated | paper | draws | CPU s |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for data in DATA:
        of = {
            m: one_each(r for r in records if (r["data"], r["method"]) == (data, m))
            for m in METHODS
        }
        shared = set.intersection(*({r["draw"] for r in rows} for rows in of.values()))
        mixed = [
            r for rows in map(of.get, WAYS) for r in rows if r["method"] == WAYS[r["draw"] % 3]
        ]
        for method, rows in {**of, "MI-ODM, any way": mixed}.items():
            draws = [r for r in rows if r["draw"] in shared]
            if not draws:
                continue
            paper = PAPER[method.split(",")[0].split(" by")[0]][DATA.index(data)]
            numbers = " | ".join(
                "-" if value is None else f"{value:.1f}" for value in [*accuracies(draws), paper]
            )
            seconds = sum(r["cpu_seconds"] for r in draws)
            lines.append(f"| {data} | {method} | {numbers} | {len(draws)} | {seconds:.0f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*")
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--first", type=int, default=0, help="number of the first draw")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--store", type=Path, default=Path("docs/results/odm.jsonl"))
    parser.add_argument("--table", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    numbers = range(args.first, args.first + args.draws)
    for data, number, method in product(args.data, numbers, args.methods):
        name = (data, method, args.columns)
        known = [r for r in stored(args.store) if (r["data"], r["method"], r["columns"]) == name]
        if number not in {r["draw"] for r in known}:
            point = drawn(data, method, number)[2]
            same = [r for r in known if r["point"] == point]
            with one_thread():
                record = (
                    {**same[0], "draw": number, "cpu_seconds": 0.0}
                    if same
                    else run_draw(data, method, number, args.columns)
                )
            with args.store.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps(record), flush=True)
    if args.table:
        text = ["# MI-ODM and related methods: five-fold accuracy (%)", "", __doc__.strip(), ""]
        args.table.write_text("\n".join(text + table(stored(args.store))) + "\n")


def stored(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
