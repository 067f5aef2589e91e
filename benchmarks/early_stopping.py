"""GMIMN with and without early stopping.

    BAGWISE_DATA=... python benchmarks/early_stopping.py [--sets musk1 ...] [--repeats 2]

GMIMN with K = 5 bins, standardized features, 5-fold cross-validation with two seeds, alpha .1, 1
and 10, of which none is chosen: the table shows all. Early stopping holds out a tenth or a fifth of
the training bags (seed 0) and stops after 10 descents without gain. Accuracy: mean over the two
seeds, with the standard deviation; "steps" those of the bundle methods, per fit; "early": the
percentage of fits in which an iterate before the last one was kept.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.preprocessing import StandardScaler

from bagwise import MarkovNetworkClassifier
from bagwise.crossfit import folds
from bagwise.datasets import fetch
from options import options

SETS, ALPHAS = ("musk1", "elephant", "fox"), (0.1, 1.0, 10.0)
WAYS = {"no": {}}
WAYS |= {f"{f:g}": {"early_stopping": True, "validation_fraction": f} for f in (0.1, 0.2)}


def row(name: str, alpha: float, way: str, repeats: int) -> str:
    warnings.simplefilter("ignore")
    bags, y = fetch(name)[:2]
    accuracy, steps, early = [], [], []
    for seed in range(repeats):
        right = 0
        for train, test in folds(bags, y, 5, seed):
            model = MarkovNetworkClassifier(
                cardinality="learned", feature_map=StandardScaler(), alpha=alpha, **WAYS[way]
            ).fit(bags[train], y[train])
            right += int(np.sum(model.predict(bags[test]) == y[test]))
            steps.append(sum(record["solver_steps"] for record in model.history_))
            early.append(model.history_[-1].get("stopped_early", False))
        accuracy.append(100 * right / len(y))
    return (
        f"| {name} | {alpha:g} | {way} | {np.mean(accuracy):.1f} ({np.std(accuracy):.1f}) | "
        f"{np.mean(steps):.0f} | {100 * np.mean(early):.0f} |"
    )


def main() -> None:
    given = options(
        __doc__, out=Path("docs/results/early_stopping.md"), n_jobs=1, repeats=2, sets=SETS
    )
    lines = [f"# Early stopping of GMIMN\n\n```\n{__doc__}```\n"]
    lines += [
        "| set | alpha | held out | accuracy | steps | early, % |",
        "|---|---|---|---|---|---|",
    ]
    cells = [(name, alpha, way) for name in given.sets for alpha in ALPHAS for way in WAYS]
    jobs = Parallel(given.n_jobs, return_as="generator")
    for line in jobs(delayed(row)(*cell, given.repeats) for cell in cells):
        lines.append(line)
        print(line, flush=True)
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
