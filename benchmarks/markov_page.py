"""Turn the tables under docs/results/markov/ into docs/results/markov.md.

    python benchmarks/markov_page.py

A section whose table does not exist yet says so.
"""

from __future__ import annotations

import csv
import lzma
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).parents[1] / "docs" / "results"
NAMES = {"any": "MIMN", "ratio": "RMIMN .5", "learned": "GMIMN K=5"}
PAPER = {  # Table 2: best alpha on the same folds, with MI-Kernel bag features
    "elephant": {"any": 89, "ratio": 87, "learned": 90},
    "fox": {"any": 64, "ratio": 59, "learned": 63},
    "tiger": {"any": 86, "ratio": 85, "learned": 89},
    "musk1": {"any": 87, "ratio": 88, "learned": 89},
    "musk2": {"any": 92, "ratio": 92, "learned": 92},
    "corel1000": {"any": 85.6, "ratio": 85.2, "learned": 84.9},  # Table 3 (GMIMN: K = 10)
    "corel2000": {"any": 71.6, "ratio": 72.1, "learned": 70.9},
}
BEST_OF = """Each column shows its best among the three networks, with and without bag features.
"Best alpha" and the choice among the networks look at the test folds, as the paper does.

{}
All of them:

"""
NOT_RUN = "Not measured yet.\n"


def rows_of(name: str) -> list[dict[str, str]]:
    path = RESULTS / "markov" / f"{name}.csv"
    packed = path.with_name(f"{path.name}.xz")
    if packed.exists():
        with lzma.open(packed, "rt") as file:
            return list(csv.DictReader(file))
    return list(csv.DictReader(path.open())) if path.exists() else []


def accuracies(rows: list[dict[str, str]], folds: int | None) -> dict[Any, list[float]]:
    """Return one accuracy per complete repeat, by (data, map, features, model, protocol)."""
    sums: dict[Any, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0, 0]))
    seen = set()
    for row in rows:
        key = tuple(row[k] for k in ("data", "map", "bag_features", "model", "protocol"))
        if (key, row["repeat"], row["fold"]) in seen:  # bag-kernel SVMs run once for every map
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


def best_alpha(of: dict[str, list[float]]) -> list[float]:
    """Return the accuracies of the alpha that is best on the same folds."""
    fixed = [v for k, v in of.items() if k.startswith("alpha") or k == "fixed"]
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
    repeats = {key: len(best_alpha(of)) for key, of in found.items()}
    most = {key[0]: max(n for k, n in repeats.items() if k[0] == key[0]) for key in found}
    return {key: of for key, of in found.items() if repeats[key] == most[key[0]]}


def summary(found: dict[Any, dict[str, list[float]]]) -> str:
    """Return the best network and the best bag-kernel SVM per data set, beside the paper."""
    lines = [
        "| data | best alpha | nested | average | paper's best | best bag-kernel SVM |",
        "|---|---|---|---|---|---|",
    ]
    for data in dict.fromkeys(key[0] for key in found):
        networks = [of for key, of in found.items() if key[0] == data and key[3] in NAMES]
        kernels = [of["fixed"] for key, of in found.items() if key[0] == data and "fixed" in of]
        best = max((best_alpha(of) for of in networks), key=np.mean)
        chosen = [
            max((of.get(k, []) for of in networks), key=lambda v: np.mean(v) if v else 0.0)
            for k in ("nested", "average")
        ]
        columns = [cell(values) for values in (best, *chosen)]
        columns += [str(max(PAPER[data].values())), cell(max(kernels, key=np.mean))]
        lines.append(f"| {data} | " + " | ".join(columns) + " |")
    return "\n".join(lines) + "\n"


def binary_section() -> str:
    found = complete(variants(accuracies(rows_of("binary"), 10)))
    if not found:
        return NOT_RUN
    lines = [
        "| data | model | feature map | bag features | best alpha | nested | average | paper | "
        "repeats |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key in sorted(found, key=lambda v: (v[0], v[3] not in NAMES, v)):
        (data, kind, features, model), of = key, found[key]
        best = best_alpha(of)
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
        "| data | model | bag features | best alpha | paper | splits |",
        "|---|---|---|---|---|---|",
    ]
    for (data, _, features, model), of in found.items():
        best = best_alpha(of)
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
        "| data | model | alpha | ours | gap | best CCCP | best L-BFGS | ours / best |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['data']} | {NAMES[row['cardinality']]} | {float(row['alpha']):g} | "
            f"{row['ours']} | {row['gap']} | {row['cccp']} | {row['lbfgs']} | {row['ratio']} |"
        )
    return "\n".join(lines) + "\n"


def ratio_section() -> str:
    cells: dict[Any, list[list[float]]] = defaultdict(list)
    for row in rows_of("ratio"):
        if row["positive_fraction"] in ("", "0.0", "0.3", "0.5", "0.51", "0.6"):
            values = [float(row[k]) for k in ("accuracy", "precision", "recall", "share", "true")]
            cells[row["rule"], row["model"], row["positive_fraction"]].append(values)
    if not cells:
        return NOT_RUN
    lines = [
        "| bags | model | accuracy | instance precision | recall | inferred fraction "
        "| true fraction |",
        "|---|---|---|---|---|---|---|",
    ]
    for (rule, model, fraction), values in cells.items():
        numbers = " | ".join(cell([100 * row[i] for row in values]) for i in range(5))
        lines.append(f"| {rule} | {model} {fraction} | {numbers} |")
    return "\n".join(lines) + "\n"


PAGE = """# Markov networks: what was measured

`python benchmarks/markov_page.py` writes this page from the tables under `docs/results/markov/`;
each section names the command that made its table. Numbers in parentheses are standard errors over
repeats. alpha is the weight of the regularizer (the paper's lambda), `positive_fraction` the
paper's rho.

## Five binary data sets

`python benchmarks/markov.py binary --repeats 3 --maps nystroem --bag-features none kernels
kernels-100` (musk2: `nystroem-100` instead; tiger also `nystroem-100` with the first two).
Stratified 10-fold; scaling to [0, 1], feature map (Nystroem with 300 or 100 instances, rbf with
gamma = 1 / median^2), bag kernels and alpha are all fitted on the training folds. "Best alpha" is
the best of 1, 3, 10, 30 and 100 (musk1: also .3) on the same folds, which is optimistic, as in the
paper. "Nested" chooses alpha by three inner folds. "Average" averages the scores of all alphas.
Instances have unit mean squared norm; training starts from `init="instances"` and stops at a
tolerance of 3 %. The column "paper" is its Table 2 (intersection map, lambda of 1, 10 and 100). The
bag-kernel SVMs behind the bag features are listed as well: C = 10, and C = 100 for "kernels-100".

Two choices were made after looking at these folds, so the numbers that use them are optimistic: 100
instances for tiger, among twelve maps, and C = 100, which was found on musk2, where it adds one to
three points. On the other data sets it adds up to one point or costs up to two.

{binary}
## Corel

`python benchmarks/markov.py corel --repeats 5`. Random halves with balanced classes; Nystroem map
with 150 instances; the joint multiclass network ("native") and one-vs-rest ("ovr"). Without bag
features alpha is .3 (.1 counts if all halves have it). With them it is 10; on corel1000 it is the
better of 3 and 10 on the same halves. The column "paper" is its Table 3 (five splits, bag features;
its GMIMN has K = 10).

{corel}
## Objective

`python benchmarks/markov.py objective`. The paper's scale of alpha (no unit norm), intersection map
with n = 1. "Gap" bounds what one more convex step could gain. CCCP and L-BFGS run from four starts.

{objective}
## Ratio experiment

`python benchmarks/markov_ratio.py`. Bags of digits (see [Markov networks](../markov.md)); 150
training and 150 test bags per draw. The number after RMIMN is `positive_fraction`. "Inferred
fraction" is the fraction of instances called positive in bags called positive, "true fraction" the
fraction that really is.

{ratio}"""


if __name__ == "__main__":
    page = PAGE.format(
        binary=binary_section(),
        corel=corel_section(),
        objective=objective_section(),
        ratio=ratio_section(),
    )
    (RESULTS / "markov.md").write_text(page)
