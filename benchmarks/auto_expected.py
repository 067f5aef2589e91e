"""What candidates of `AutoBagClassifier` are expected to add: AUC on a few tasks, by 5-fold.

    BAGWISE_DATA=... python benchmarks/auto_expected.py [--tasks musk1 digit-3]

Every candidate of the portfolio is fitted to the training part of five folds of each task and
scores the held-out bags. Finished cells (one candidate on one task) are stored in
docs/results/auto/expected.jsonl: a second run continues where the first one stopped. The table
that is shipped, src/bagwise/model_selection/auto/results.csv, is written from the cells of all
tasks that are complete. `AutoBagClassifier` is judged without the column of the task it is judged
on (benchmarks/auto.py).
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from auto_tasks import TASKS, load
from bagwise.crossfit import bag_scores, folds
from bagwise.model_selection.auto import portfolio
from bagwise.model_selection.auto.race import _FAILURES
from timing import one_thread

ROOT = Path(__file__).parents[1]
CELLS = ROOT / "docs" / "results" / "auto" / "expected.jsonl"
TABLE = ROOT / "src" / "bagwise" / "model_selection" / "auto" / "results.csv"


def measured(candidate, bags, y):
    """Return the mean AUC over folds and CPU seconds of one fit; a failure is chance."""
    began, areas = time.process_time(), []
    try:
        for train, test in folds(bags, y, 5, 0):
            model = candidate.build(bags).fit(bags[train], y[train])
            areas.append(roc_auc_score(y[test], bag_scores(model, bags[test])))
    except _FAILURES as error:
        print(candidate.name, error)
        return 0.5, 0.0
    return float(np.mean(areas)), (time.process_time() - began) / len(areas)


def cells():
    lines = CELLS.read_text().splitlines() if CELLS.exists() else []
    return {(cell["task"], cell["candidate"]): cell for cell in map(json.loads, lines)}


def write_table():
    """Write the shipped table: one row per candidate, one column per complete task."""
    done, names = cells(), [candidate.name for candidate in portfolio.PORTFOLIO]
    tasks = [task for task in TASKS if all((task, name) in done for name in names)]
    with TABLE.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["candidate", "seconds", *tasks])
        for name in names:
            of_tasks = [done[task, name] for task in tasks]
            seconds = np.median([cell["seconds"] for cell in of_tasks])
            rows.writerow([name, f"{seconds:.3f}", *(f"{cell['auc']:.3f}" for cell in of_tasks)])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    options = parser.parse_args()
    one_thread()
    warnings.simplefilter("ignore")
    CELLS.parent.mkdir(parents=True, exist_ok=True)
    done = cells()
    for task in options.tasks:
        todo = [c for c in portfolio.PORTFOLIO if (task, c.name) not in done]
        bags, y = load(task) if todo else (None, None)
        for candidate in todo:
            refused = candidate.refused(bags, 2, np.inf)
            auc, seconds = (0.5, 0.0) if refused else measured(candidate, bags, y)
            cell = {"task": task, "candidate": candidate.name, "auc": auc, "seconds": seconds}
            with CELLS.open("a") as file:
                file.write(json.dumps(cell) + "\n")
            print(f"{task:12} {candidate.name:40} {100 * auc:5.1f} {seconds:6.2f} s", flush=True)
    write_table()


if __name__ == "__main__":
    main()
