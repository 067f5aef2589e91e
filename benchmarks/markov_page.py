"""Turn the tables under docs/results/markov/ into docs/results/markov.md.

    python benchmarks/markov_page.py

What is not yet measured is left out and said so.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NAMES = {"any": "MIMN", "ratio": "RMIMN .5", "learned": "GMIMN K=5"}
PAPER = {  # Table 2: best lambda on the same folds, with MI-Kernel bag features
    "elephant": {"any": 89, "ratio": 87, "learned": 90},
    "fox": {"any": 64, "ratio": 59, "learned": 63},
    "tiger": {"any": 86, "ratio": 85, "learned": 89},
    "musk1": {"any": 87, "ratio": 88, "learned": 89},
    "musk2": {"any": 92, "ratio": 92, "learned": 92},
    "corel1000": {"any": 85.6, "ratio": 85.2, "learned": 84.9},  # Table 3 (GMIMN: K = 10)
    "corel2000": {"any": 71.6, "ratio": 72.1, "learned": 70.9},
}
BEST_OF = """The best of the three networks, without or with either bag features, each column's own.
"Best lambda" and the choice among the networks look at the test folds, as the paper's do.

{}
All of them:

"""
NOT_RUN = "Not measured yet.\n"


def rows_of(name: str) -> list[dict[str, str]]:
    path = RESULTS / "markov" / f"{name}.csv"
    return list(csv.DictReader(path.open())) if path.exists() else []


def accuracies(rows: list[dict[str, str]], folds: int | None) -> dict[Any, list[float]]:
    """Return one accuracy a complete repeat by (data, map, features, model, protocol)."""
    sums: dict[Any, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    seen = set()
    for row in rows:
        key = tuple(row[k] for k in ("data", "map", "bag_features", "model", "protocol"))
        if (key, row["repeat"], row["fold"]) in seen:  # the machines run once for every map
            continue
        seen.add((key, row["repeat"], row["fold"]))
        total = sums[key][row["repeat"]]
        for i, value in enumerate((row["right"], row["bags"], 1)):
            total[i] += int(value)
    return {
        key: [100 * right / bags for right, bags, n in by.values() if folds in (None, n)]
        for key, by in sums.items()
    }


def cell(values: list[float]) -> str:
    """Return mean and standard error."""
    if not values:
        return "-"
    error = f" ({np.std(values, ddof=1) / np.sqrt(len(values)):.1f})" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{error}"


def per_lambda(of: dict[str, list[float]]) -> list[float]:
    """Return the accuracies of the lambda that is best on the same folds."""
    fixed = [v for k, v in of.items() if k.startswith("lambda") or k == "fixed"]
    return max(fixed, key=lambda values: (len(values), np.mean(values)))


def variants(found: dict[Any, list[float]]) -> dict[Any, dict[str, list[float]]]:
    """Return accuracies by protocol of each (data, map, features, model)."""
    grouped: dict[Any, dict[str, list[float]]] = defaultdict(dict)
    for key, values in found.items():
        if values:
            grouped[key[:4]][key[4]] = values
    return grouped


def complete(found: dict[Any, dict[str, list[float]]]) -> dict[Any, dict[str, list[float]]]:
    """Leave out variants with fewer repeats than others of their data set."""
    repeats = {key: len(per_lambda(of)) for key, of in found.items()}
    most = {key[0]: max(n for k, n in repeats.items() if k[0] == key[0]) for key in found}
    return {key: of for key, of in found.items() if repeats[key] == most[key[0]]}


def summary(found: dict[Any, dict[str, list[float]]]) -> str:
    """Return the best of the family by data set, and the best kernel machine, beside the paper."""
    lines = [
        "| data | best lambda | nested | average | paper's best | best kernel machine |",
        "|---|---|---|---|---|---|",
    ]
    for data in dict.fromkeys(key[0] for key in found):
        networks = [of for key, of in found.items() if key[0] == data and key[3] in NAMES]
        machines = [of["fixed"] for key, of in found.items() if key[0] == data and "fixed" in of]
        best = max((per_lambda(of) for of in networks), key=np.mean)
        chosen = [
            max((of.get(k, []) for of in networks), key=lambda v: np.mean(v) if v else 0.0)
            for k in ("nested", "average")
        ]
        columns = [cell(values) for values in (best, *chosen)]
        columns += [str(max(PAPER[data].values())), cell(max(machines, key=np.mean))]
        lines.append(f"| {data} | " + " | ".join(columns) + " |")
    return "\n".join(lines) + "\n"


def binary_section() -> str:
    found = complete(variants(accuracies(rows_of("binary"), 10)))
    if not found:
        return NOT_RUN
    lines = [
        "| data | model | feature map | bag features | best lambda | nested | average | paper | "
        "repeats |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key in sorted(found, key=lambda v: (v[0], v[3] not in NAMES, v)):
        (data, kind, features, model), of = key, found[key]
        best = per_lambda(of)
        printed = PAPER[data].get(model, "-") if features.startswith("kernels") else "-"
        lines.append(
            f"| {data} | {NAMES.get(model, model)} | {kind} | {features} | {cell(best)} | "
            f"{cell(of.get('nested', []))} | {cell(of.get('average', []))} | {printed} | "
            f"{len(best)} |"
        )
    return BEST_OF.format(summary(found)) + "\n".join(lines) + "\n"


def corel_section() -> str:
    found = variants(accuracies(rows_of("corel"), None))
    if not found:
        return NOT_RUN
    lines = [
        "| data | model | bag features | best lambda | paper | splits |",
        "|---|---|---|---|---|---|",
    ]
    for (data, _, features, model), of in found.items():
        best = per_lambda(of)
        rule, *how = model.split(" ", 1)
        name = f"{NAMES[rule]}, {how[0]}" if rule in NAMES else model
        printed = PAPER[data].get(rule, "-") if features == "kernels" else "-"
        lines.append(f"| {data} | {name} | {features} | {cell(best)} | {printed} | {len(best)} |")
    return "\n".join(lines) + "\n"


def objective_section() -> str:
    rows = rows_of("objective")
    if not rows:
        return NOT_RUN
    lines = [
        "| data | model | lambda | ours | gap | best CCCP | best L-BFGS | ours / best |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['data']} | {NAMES[row['cardinality']]} | {float(row['lambda']):g} | "
            f"{row['ours']} | {row['gap']} | {row['cccp']} | {row['lbfgs']} | {row['ratio']} |"
        )
    return "\n".join(lines) + "\n"


def ratio_section() -> str:
    cells: dict[Any, list[list[float]]] = defaultdict(list)
    for row in rows_of("ratio"):
        if row["rho"] in ("", "0.0", "0.3", "0.5", "0.51", "0.6"):
            values = [float(row[k]) for k in ("accuracy", "precision", "recall", "share", "true")]
            cells[row["rule"], row["model"], row["rho"]].append(values)
    if not cells:
        return NOT_RUN
    lines = [
        "| bags | model | accuracy | instance precision | recall | inferred share | true share |",
        "|---|---|---|---|---|---|---|",
    ]
    for (rule, model, rho), values in cells.items():
        numbers = " | ".join(cell([100 * row[i] for row in values]) for i in range(5))
        lines.append(f"| {rule} | {model} {rho} | {numbers} |")
    return "\n".join(lines) + "\n"


PAGE = """# Markov networks: what was measured

Every table is made by a committed script; `python benchmarks/markov_page.py` writes this page from
the tables under `docs/results/markov/`. Numbers in brackets are standard errors over repeats.

## Five binary sets

`python benchmarks/markov.py binary --repeats 3 --maps nystroem --bag-features none kernels
kernels-100` (musk2: `nystroem-100` instead; tiger also `nystroem-100` with the first two).
Stratified 10-fold; scaling to [0, 1], feature map (Nystroem, 300 instances, or 100, rbf with gamma
= 1 / median^2), bag kernels and lambda are all fitted on the training folds. "Best lambda" is the
best of 1, 3, 10, 30 and 100 (musk1: also .3) on the same folds: as in the paper, optimistic;
"nested" chooses it by three inner folds; "average" averages the path. Instances have unit mean
squared norm; training begins at "whole" and is solved to 3 %. The paper's column is its Table 2
(intersection map, lambda of 1, 10 and 100). The kernel machines behind the bag features stand
beside; they have C = 10, those of "kernels-100" C = 100.

Two choices were made after a look at these folds, and the numbers that use them are optimistic by
that: 100 instances for tiger, among twelve maps, and C = 100, which was found on musk2, where it
adds one to three points. Elsewhere it adds up to one point or takes up to two.

{binary}
## Corel

`python benchmarks/markov.py corel --repeats 5`. Random halves, classes balanced; Nystroem map with
150 instances; the joint multiclass network ("native") and one-vs-rest. lambda is .3 without bag
features (.1 counts when all halves have it); with them it is 10, on corel1000 the better of 3 and
10 on the same halves. The paper's column is its Table 3 (five splits, bag features; its GMIMN has K
= 10).

{corel}
## Objective

`python benchmarks/markov.py objective`. The paper's lambda (no unit norm), intersection map with
n = 1. CCCP and L-BFGS each from four starts.

{objective}
## Ratio experiment

`python benchmarks/markov_ratio.py`. Bags of digits (see [how it works](../markov.md));
150 training and 150 test bags a draw. "Inferred share" is the fraction of instances called positive
in bags called positive, "true share" the real one.

{ratio}"""


if __name__ == "__main__":
    page = PAGE.format(
        binary=binary_section(),
        corel=corel_section(),
        objective=objective_section(),
        ratio=ratio_section(),
    )
    (RESULTS / "markov.md").write_text(page)
