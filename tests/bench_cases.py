"""Small benchmarks for tests: one that is run, and one whose results are written by hand."""

import json

from bagwise.bench.cell import Cell
from bagwise.bench.run import Plan
from bagwise.bench.spec import DataEntry, ModelEntry, Spec, parse_spec
from bagwise.bench.splits import Protocol, Split

SMALL = {
    "name": "small",
    "data": [
        {"name": "near", "source": "gaussian", "options": {"n_bags": 24, "shift": 1.5}},
        {"name": "far", "source": "gaussian", "options": {"n_bags": 24, "shift": 3.0}},
    ],
    "models": [
        {"method": "MI-SVM", "grid": {"C": [0.1, 10.0]}},
        {"method": "MI-Kernel", "grid": {"C": [1.0], "normalize": [False, True]}},
        {"name": "SIL", "method": "InstanceSVC"},
    ],
    "protocol": {"kind": "kfold", "folds": 3, "repeats": 2, "inner": 2},
    "metrics": ["accuracy", "auc", "brier", "key_instance_rate"],
}

# Accuracy of C = 1 and C = 2 on the two folds of two rounds, and on inner folds.
OUTER = {1: [[0.9, 0.7], [0.8, 0.8]], 2: [[0.8, 0.9], [0.9, 0.8]]}
INNER = {1: [[0.6, 0.9], [0.5, 0.7]], 2: [[0.7, 0.8], [0.5, 0.6]]}
N_TEST = [10, 30]


def small(**changes):
    """Return the benchmark SMALL with some parts changed."""
    return parse_spec({**SMALL, **changes})


def make_plan(folder, models=("MI-SVM",), data=("tiger",), published="", repeats=2):
    """Return a plan of two folds per round and two grid points, without running it."""
    # Names of rows are no part of a cell's id: parameters keep the models apart.
    entries = [ModelEntry(m, "MI-SVM", {"degree": i}, {"C": [1, 2]}) for i, m in enumerate(models)]
    spec = Spec(
        name="t",
        title="Title",
        data=tuple(DataEntry(name) for name in data),
        models=tuple(entries),
        protocol=Protocol("kfold", folds=2, repeats=repeats),
        metrics=("accuracy", "error"),
        published=published,
    )
    cells = [
        Cell(entry, model, point, Split(f"r{r}f{f}", r, "", (2 * r + f,)), "sha", 2)
        for r in range(repeats)
        for entry in spec.data
        for model in spec.models
        for f in range(2)
        for point in model.points(entry)
    ]
    return Plan(spec, folder, cells)


def write_results(plan, change=lambda cell, record: record):
    """Write the records of OUTER and INNER as ``change`` returns them; None writes no record."""
    lines = []
    for cell in plan.cells:
        r, f, C = cell.split.repeat, int(cell.split.name[-1]), cell.point["C"]
        metrics = {"accuracy": OUTER[C][r][f], "auc": None, "fit_seconds": 1.0}
        inner = {"accuracy": INNER[C][r][f]}
        made = change(cell, {"n_test": N_TEST[f], "metrics": metrics, "inner": inner})
        if made is not None:
            lines.append(json.dumps({**cell.head, **made}))
    (plan.folder / "results.jsonl").write_text("\n".join(lines) + "\n")
