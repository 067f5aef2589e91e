"""MI-ODM: comparison of solvers, factorizations, time relative to one SVC, peak memory.

    BAGWISE_DATA=... python benchmarks/odm.py [--out docs/results/odm_solvers.md]

- solvers: time until the duality gap is below 1e-4 of the objective on the same pool of
  assignments (grown by Newton), for Newton, mirror prox and Zhang & Jin's stochastic mirror prox
  (stopped after --iterations). CPU seconds on one thread; musk1, C_pos = C_neg = 10, nu = theta =
  .4.
- factorizations: of the block of the negatives, per column (assignment) added to the pool.
- fit: one fit on elephant (rbf, 15 columns, threshold 0) relative to one scikit-learn SVC on the
  same instances in the same run.
- memory: peak of the Python heap during that fit, in matrices of n_instances^2 doubles. gamma is
  given, so that no median of distances is computed.
"""

from __future__ import annotations

import time
import tracemalloc
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagwise import OptimalMarginSVC, Pool
from bagwise.datasets import fetch
from bagwise.estimators.keyrows import KeyRows
from bagwise.estimators.task import Task
from bagwise.losses import MarginBand
from bagwise.procedures.columns import grow
from bagwise.solvers.column_newton import column_newton
from bagwise.solvers.mirror_prox import mirror_prox
from options import options
from timing import cpu_seconds, one_thread


def standardized(name):
    bags, y = fetch(name)
    return bags.replace(X=StandardScaler().fit_transform(bags.X)), y


def grown_pool(name, weight, columns):
    """Return the saddle problem over a grown pool."""
    bags, y = standardized(name)
    model = OptimalMarginSVC(C_pos=weight, C_neg=weight)
    rows_weight = np.ones(bags.n_instances)
    design = model._design(bags, rows_weight)
    task = Task(design, bags.offsets, y == 1, np.ones(len(bags)), MarginBand(0.4, 0.4))
    rows = KeyRows(task, "instances", 1)
    saddle = rows.saddle(model._row_weights(rows), task.loss)
    rng = np.random.RandomState(0)
    start = rows.choices.random(rng, 1)[0]
    options = {"tol": 1e-2, "max_columns": columns, "random_state": rng}

    def newton(saddle, last, tol):
        return column_newton(saddle, last, tol=tol)

    return grow(saddle, rows.choices, start, newton, **options).assignment


def solvers(iterations):
    saddle = grown_pool("musk1", 10.0, 7)
    ways = {
        "Newton": lambda: column_newton(saddle, tol=1e-4),
        "mirror prox": lambda: mirror_prox(saddle, max_iter=iterations),
        "stochastic mirror prox": lambda: mirror_prox(
            saddle, gradients="stochastic", max_iter=iterations // 8
        ),
    }
    lines = [
        f"| solver (musk1, pool of {len(saddle.columns)}) | CPU s | gap / objective | steps |",
        "|---|---|---|---|",
    ]
    for name, way in ways.items():
        began = time.process_time()
        point = way()
        seconds = time.process_time() - began
        relative = point.gap / point.upper
        lines.append(f"| {name} | {seconds:.3f} | {relative:.1e} | {point.n_iter} |")
    return lines


def factorizations():
    lines = [
        "| data | C_pos = C_neg | nu = theta | columns | factorizations per column | largest gap |",
        "|---|---|---|---|---|---|",
    ]
    for name in ("musk1", "elephant"):
        bags, y = standardized(name)
        for weight, share in product((10.0, 100.0, 1000.0), (0.4, 0.8)):
            options = {"nu": share, "theta": share, "threshold": 0.0, "pool": Pool(max_columns=15)}
            model = OptimalMarginSVC(C_pos=weight, C_neg=weight, **options).fit(bags, y)
            factored = np.mean([record["factorizations"] for record in model.history_])
            gap = max(record["gap"] for record in model.history_)
            lines.append(
                f"| {name} | {weight:g} | {share:g} | {model.n_columns_[0]} | {factored:.1f} "
                f"| {gap:.0e} |"
            )
    return lines


def fit_against_svc():
    bags, y = standardized("elephant")
    labels = np.repeat(y, np.diff(bags.offsets))
    # tol cannot be reached, so the pool grows to exactly 15 columns.
    model = OptimalMarginSVC(threshold=0.0, pool=Pool(max_columns=15, tol=1e-12))
    ours = cpu_seconds(model.fit, bags, y, repeats=3)
    theirs = cpu_seconds(SVC().fit, bags.X, labels, repeats=3)
    return [
        f"Fit on elephant, {model.n_columns_[0]} columns: {ours:.2f} CPU s, one SVC {theirs:.3f} "
        f"CPU s: {ours / theirs:.1f} times (bound 40)."
    ]


def memory():
    bags, y = standardized("elephant")
    model = OptimalMarginSVC(threshold=0.0, pool=Pool(max_columns=15), gamma=1 / bags.n_features)
    tracemalloc.start()
    model.fit(bags, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    matrices = peak / (8 * bags.n_instances**2)
    return [f"Peak memory of that fit: {matrices:.2f} matrices of n_instances^2 (bound 2.5)."]


def main() -> None:
    args = options(__doc__, iterations=40_000, out=Path)
    warnings.simplefilter("ignore", ConvergenceWarning)
    text = ["# MI-ODM: solvers, factorizations, time and memory", "", __doc__.strip(), ""]
    with one_thread():
        for part in (lambda: solvers(args.iterations), factorizations, fit_against_svc, memory):
            lines = part()
            print("\n".join(lines), flush=True)
            text += [*lines, ""]
    if args.out:
        args.out.write_text("\n".join(text))


if __name__ == "__main__":
    main()
