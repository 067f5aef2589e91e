"""What to expect of every method: the table that orders `bagwise compare`.

    BAGWISE_DATA=... python benchmarks/expected.py --out FOLDER [--minutes 10] [--jobs 1]

``bagwise/catalog/expected.csv`` gets one row per method. The first tasks are those of
``benchmarks/auto_expected.py``, of which the best setting of the method counts; methods that were
not measured there have no value. The last ones are measured here for all candidates, by
`bagwise.model_selection.compare` (nested cross-validation, 5 outer folds, once). Costs are CPU
seconds per outer fold relative to the quickest method, medians over the tasks measured here. The
same command resumes, and measures new methods.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

import bagwise.catalog
from bagwise.datasets import fetch, load_digits_bags
from bagwise.model_selection import compare
from bagwise.model_selection.auto import expected

TASKS = {
    "musk1": lambda: fetch("musk1")[:2],
    "digits": lambda: load_digits_bags(n_bags=100, random_state=0),
}
TABLE = Path(bagwise.catalog.__file__).parent / "expected.csv"


def measured(task: str, out: Path, minutes: float, jobs: int):
    bags, y = TASKS[task]()
    folder, limit = out / task.replace(" ", "_"), {"n_jobs": jobs, "time_limit": 60 * minutes}
    return compare(bags, y, n_repeats=1, out=folder, **limit)


def of_auto() -> tuple[list[str], dict]:
    """Return the tasks of the automatic model, and the best AUC of each method on them."""
    names, table = expected.measured()
    path = Path(expected.__file__).with_name("results.csv")
    tasks = path.read_text().splitlines()[0].split(",")[1:]
    best: dict[str, np.ndarray] = {}
    for name, areas in zip(names, table.T, strict=True):
        method = name.split(",")[0]
        best[method] = np.maximum(best.get(method, 0.0), areas)
    return tasks, best


def write(found: dict) -> None:
    """Write the table of what was measured so far."""
    tasks, best = of_auto()
    rows = []
    for name in (method.name for method in bagwise.catalog.METHODS):
        costs, areas = [], [f"{v:.3f}" for v in best[name]] if name in best else [""] * len(tasks)
        for comparison in found.values():
            results = comparison.results
            quickest = min(one.seconds for one in results.values())
            known = results.get(name)
            areas.append("" if known is None else f"{known.estimates['auc'].value:.3f}")
            costs += [] if known is None else [known.seconds / quickest]
        if costs:
            rows.append([name, f"{np.median(costs):.1f}", *areas])
    head = ["method", "cost", *tasks, *(f"{task} (nested)" for task in found)]
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--jobs", type=int, default=1)
    args = parser.parse_args()
    found = {}
    for task in TASKS:
        found[task] = measured(task, args.out, args.minutes, args.jobs)
        print(task, len(found[task].results), list(found[task].unfinished), flush=True)
        write(found)


if __name__ == "__main__":
    main()
