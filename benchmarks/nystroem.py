"""Kernels by landmarks: time, memory, accuracy and kernel error by the number of landmarks.

    BAGWISE_DATA=... python benchmarks/nystroem.py [--only TEXT]

musk2 (6,598 instances, standardized): AW-SVM, C = 1, exact and approximated on the same ten
stratified folds; differences of the AUC are paired over folds. Planted sets: bags of 20 instances
of 20 features in float32, a third of all instances in 16 clusters, and in every second bag two
instances (10 %) from 8 other clusters; MI-SVM, C = 1; scores of 1,000 further bags. "exact" is the
kernel itself, "linear" the linear kernel. Times are CPU times on one thread, of one fit, landmarks
and features included; the memory is the peak of a process that makes the data and fits. Every
measurement is a process of its own, stored in docs/results/nystroem.jsonl as soon as it is made,
and those that are there are not made again; then docs/results/nystroem.md is written from the file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bagwise import AnnealedWitnessSVC, Bags, KernelOptions, WitnessSVC
from bagwise.datasets import fetch

RESULTS = Path(__file__).parents[1] / "docs" / "results"
STORE, PAGE = RESULTS / "nystroem.jsonl", RESULTS / "nystroem.md"
SIZE, WIDTH = 20, 20  # instances per bag, features
MUSK = [None, 50, 100, 200, 500, 1000, 2000]
PLANTED = {
    10_000: [None, 0, 300, 1000],
    100_000: [0, 30, 100, 300, 1000],
    1_000_000: [30, 100, 300],
}
# Measured with version 0.2, which had landmarks="kmeans"; the page keeps these rows.
KMEANS = {"musk2": [200], 100_000: [300], 1_000_000: [300]}


def planted(n_instances: int, seed: int) -> tuple[Bags, Any, Any]:
    """Return bags, labels, and which instances are witnesses."""
    rng = np.random.default_rng(seed)
    centers = np.random.default_rng(99).normal(size=(24, WIDTH))
    centers *= 3.5 / np.linalg.norm(centers, axis=1)[:, None]
    y = np.arange(n_instances // SIZE) % 2
    witness = np.repeat(y, SIZE) * (np.arange(n_instances) % SIZE < 2) == 1
    X = rng.normal(size=(n_instances, WIDTH)).astype(np.float32)
    for rows, first, last in ((rng.random(n_instances) < 1 / 3, 8, 24), (witness, 0, 8)):
        noise = 0.7 * rng.normal(size=(rows.sum(), WIDTH))
        X[rows] = centers[rng.integers(first, last, rows.sum())] + noise
    return Bags(X, np.arange(0, n_instances + 1, SIZE)), y, witness


def options(landmarks: int | None, how: str) -> dict[str, Any]:
    """Return the parameters of an approximation; None is the exact kernel, 0 a linear one."""
    if not landmarks:
        return {} if landmarks is None else {"kernel": "linear"}
    chosen = KernelOptions(approx="nystroem", n_components=landmarks)
    return {"kernel_options": chosen}


def fitted(model: Any, bags: Bags, y: Any) -> tuple[Any, float]:
    """Return the model and its CPU seconds."""
    began = time.process_time()
    model.fit(bags, y)
    return model, time.process_time() - began


def on_planted(n_instances: int, landmarks: int | None, how: str) -> dict[str, Any]:
    """Fit MI-SVM to a planted set."""
    bags, y, _ = planted(n_instances, seed=0)
    test, truth, witness = planted(1000 * SIZE, seed=1)
    model, seconds = fitted(WitnessSVC(**options(landmarks, how)), bags, y)
    return {
        "seconds": seconds,
        "auc": roc_auc_score(truth, model.decision_function(test)),
        "instance_auc": roc_auc_score(witness, model.instance_decision_function(test)),
        "error": getattr(model, "kernel_error_", 0.0),
        "gap": float(model.gap_[0] / model.objective_[0]),
    }


def on_musk(landmarks: int | None, how: str) -> dict[str, Any]:
    """Fit AW-SVM to ten folds of musk2."""
    bags, y = fetch("musk2")
    bags = bags.replace(X=(bags.X - bags.X.mean(axis=0)) / bags.X.std(axis=0))
    splits = StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    records = []
    for train, test in splits:
        model = AnnealedWitnessSVC(**options(landmarks, how))
        model, seconds = fitted(model, bags[train], y[train])
        scores = model.decision_function(bags[test])
        gap = float(model.gap_[0] / model.objective_[0])
        error = getattr(model, "kernel_error_", 0.0)
        right = float(np.mean((scores > 0) == y[test]))
        records.append((seconds, roc_auc_score(y[test], scores), right, error, gap))
    columns = np.array(records).T
    names = "seconds", "auc", "accuracy", "error", "gap"
    means = dict(zip(names, columns.mean(axis=1), strict=True))
    return {**means, "gap": columns[4].max(), "aucs": columns[1].tolist()}


def measure(data: str, landmarks: int | None, how: str) -> dict[str, Any]:
    """Measure in this process."""
    warnings.simplefilter("ignore")
    found = on_musk(landmarks, how) if data == "musk2" else on_planted(int(data), landmarks, how)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"data": data, "landmarks": landmarks, "how": how, "memory": peak, **found}


def stored() -> dict[tuple[str, int | None, str], dict[str, Any]]:
    """Return the measurements made so far."""
    lines = STORE.read_text().splitlines() if STORE.exists() else []
    records = map(json.loads, lines)
    return {(r["data"], r["landmarks"], r["how"]): r for r in records}


def wanted() -> list[tuple[str, int | None, str]]:
    """Return all measurements, in the order of the page."""
    cells = [("musk2", n, "leverage") for n in MUSK]
    cells += [(str(size), n, "leverage") for size, many in PLANTED.items() for n in many]
    return cells + [(str(data), n, "kmeans") for data, many in KMEANS.items() for n in many]


def write_page() -> None:
    """Write the tables."""
    found = stored()
    introduction = " ".join(__doc__.split("\n\n")[2].split())
    lines = ["# Kernels by landmarks", "", "Made by `python benchmarks/nystroem.py`.", introduction]
    exact = found.get(("musk2", None, "leverage"))
    lines += ["", "## musk2", "", "| landmarks | AUC | difference from exact | accuracy | "]
    lines[-1] += "kernel error | CPU s per fit | gap |"
    lines += ["|---|---|---|---|---|---|---|"]
    for cell in (cell for cell in wanted() if cell[0] == "musk2" and cell in found):
        r = found[cell]
        apart = "" if exact is None or cell[1] is None else _paired(r["aucs"], exact["aucs"])
        numbers = f"{100 * r['auc']:.1f} | {apart} | {r['accuracy']:.1%} | {r['error']:.2%}"
        lines.append(f"| {_name(cell)} | {numbers} | {r['seconds']:.1f} | {r['gap']:.0e} |")
    lines += ["", "## Planted sets", "", "| instances | landmarks | AUC | instance AUC | "]
    lines[-1] += "kernel error | CPU s | peak memory, MB | gap |"
    lines += ["|---|---|---|---|---|---|---|---|"]
    for cell in sorted(
        (cell for cell in wanted() if cell[0] != "musk2" and cell in found), key=_of
    ):
        r = found[cell]
        scores = f"{100 * r['auc']:.1f} | {100 * r['instance_auc']:.1f} | {r['error']:.2%}"
        costs = f"{r['seconds']:.1f} | {r['memory']:.0f} | {r['gap']:.0e}"
        lines.append(f"| {int(cell[0]):,} | {_name(cell)} | {scores} | {costs} |")
    PAGE.write_text("\n".join(lines) + "\n")


def _of(cell: tuple[str, int | None, str]) -> tuple[int, int]:
    return int(cell[0]), -1 if cell[1] is None else cell[1]


def _name(cell: tuple[str, int | None, str]) -> str:
    how = ", k-means" if cell[2] == "kmeans" else ""
    if not cell[1]:
        return "exact" if cell[1] is None else "linear"
    return f"{cell[1]:,}{how}"


def _paired(values: list[float], others: list[float]) -> str:
    apart = 100 * (np.array(values) - np.array(others))
    return f"{apart.mean():+.1f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.1f}"


def main() -> None:
    """Make what is missing, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="only data whose name contains this")
    parser.add_argument("--cell", nargs=3, help="measure one cell in this process")
    arguments = parser.parse_args()
    if arguments.cell:
        data, landmarks, how = arguments.cell
        print(json.dumps(measure(data, None if landmarks == "None" else int(landmarks), how)))
        return
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for cell in wanted():
        if arguments.only in cell[0] and cell not in stored():
            command = [sys.executable, __file__, "--cell", *map(str, cell)]
            line = subprocess.run(
                command, check=True, text=True, capture_output=True, env=environment
            )
            with STORE.open("a") as file:
                file.write(line.stdout)
            print(line.stdout[:200].strip(), flush=True)
    write_page()


if __name__ == "__main__":
    main()
