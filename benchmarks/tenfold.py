"""Ten-fold errors of SIL, mi-SVM and MI-SVM, beside those of Gehler & Chapelle.

    BAGWISE_DATA=... python benchmarks/tenfold.py [--repeats 5] [--out docs/results/tenfold.md]

Protocol: stratified 10-fold, the same seeded folds for all models, raw features, rbf kernel with
gamma = 1 / (2 median^2), squared hinge, C in {.5, 5}. "Best C" is the best one on these same folds
(optimistic, as the papers report). The other columns are its AUC, and its error when each fold's
threshold is chosen on the held-out scores of the nine other folds. Mean and standard error over the
repeats. "Paper" is Gehler & Chapelle 2007.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bagwise import InstanceSVC, LabelSVC, WitnessSVC
from bagwise.crossfit import best_threshold
from bagwise.datasets import fetch
from options import options
from timing import one_thread

DATA = ("tiger", "fox", "elephant", "musk1")
MODELS = {"SIL": InstanceSVC, "mi-SVM": LabelSVC, "MI-SVM": WitnessSVC}
GRID = (0.5, 5.0)
PAPER = {"SIL": (None, None, None, 14.4), "mi-SVM": (25.0, 43.5, 24.0, 14.3)}


def scores_of(model, bags, y, train, test):
    with one_thread():
        return model.fit(bags[train], y[train]).decision_function(bags[test])


def one_repeat(kind, C, bags, y, seed, jobs):
    """Return error at threshold 0, AUC, and error at an inner threshold."""
    folds = list(StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y))
    scores, inner = np.empty(len(y)), np.empty(len(y))
    parts = jobs(delayed(scores_of)(kind(C=C), bags, y, *fold) for fold in folds)
    for (_, test), part in zip(folds, parts, strict=True):
        scores[test] = part
    for train, test in folds:
        # The other folds' held-out scores stand in for an inner cross-validation.
        inner[test] = best_threshold(scores[train], y[train] > 0, np.ones(len(train)))
    error = 100 * np.mean((scores > 0) != y)
    return error, roc_auc_score(y, scores), 100 * np.mean((scores > inner) != y)


def row(name, kind, repeats, jobs):
    bags, y = fetch(name)
    table = np.array(
        [[one_repeat(kind, C, bags, y, seed, jobs) for seed in range(repeats)] for C in GRID]
    )
    best = table[:, :, 0].mean(axis=1).argmin()
    return GRID[best], table[best]


def main() -> None:
    args = options(__doc__, repeats=5, out=Path)
    lines = [
        "| data | model | error % (se) | best C | AUC | error %, threshold from other folds "
        "| paper |",
        "|---|---|---|---|---|---|---|",
    ]
    jobs = Parallel(n_jobs=2)
    cells = [(d, m) for d in DATA for m in MODELS]
    for name, model in track(cells, "10-fold"):
        C, values = row(name, MODELS[model], args.repeats, jobs)
        mean, spread = values.mean(axis=0), values[:, 0].std(ddof=1) / np.sqrt(args.repeats)
        paper = PAPER.get(model, (None,) * 4)[DATA.index(name)]
        lines.append(
            f"| {name} | {model} | {mean[0]:.1f} ({spread:.1f}) | {C:g} | {mean[1]:.3f} "
            f"| {mean[2]:.1f} | {paper or '-'} |"
        )
    text = "\n".join(lines)
    print(text)
    if args.out:
        command = f"python benchmarks/tenfold.py --repeats {args.repeats} --out {args.out}"
        protocol = "Protocol:" + __doc__.split("Protocol:")[1]
        body = f"# Ten-fold errors of SIL, mi-SVM and MI-SVM\n\n`{command}`\n\n{protocol}"
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(f"{body}\n{text}\n")


if __name__ == "__main__":
    main()
