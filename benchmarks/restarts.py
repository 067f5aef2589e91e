"""What more starts are worth: objectives, accuracy, and how stable key instances are.

    BAGWISE_DATA=... python benchmarks/restarts.py [--n-jobs 8]

Standardized features, rbf kernel of the median width, C = 1, squared hinge. One fit to the whole
set with 10 starts (the usual one, then random ones): the objective of the usual start, the lowest
and the highest, in percent above the lowest; stability: mean over positive bags of the agreement of
the other starts with the lowest (Jaccard index of the positive instances), and of 10 bootstrap
samples (same key instance; keys at random would reach the mean of 1/m, in parentheses). AUC: pooled
out-of-fold scores, 5 folds, with 1 and with 10 starts.
"""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedLabelSVC, AnnealedWitnessSVC, Annealing, LabelSVC, WitnessSVC
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.datasets import fetch
from bagwise.inspection import key_stability
from options import options

SETS = ("musk1", "elephant", "tiger", "fox")
MODELS = {
    "MI-SVM": WitnessSVC(),
    "mi-SVM": LabelSVC(),
    "AW-SVM": AnnealedWitnessSVC(),
    "AL-SVM": AnnealedLabelSVC(),
    "AL-SVM, T0 = 0.1": AnnealedLabelSVC(annealing=Annealing(T0=0.1)),
}
N_INIT, N_BOOTSTRAP = 10, 10


def row(name, model_name):
    """Return one line of the table."""
    warnings.simplefilter("ignore")
    bags, y = fetch(name)[:2]
    y = (y == y.max()).astype(int)
    bags = bags.replace(X=StandardScaler().fit_transform(bags.X))
    model, splits = MODELS[model_name], folds(bags, y, 5, 0)
    aucs = [
        100
        * roc_auc_score(y, out_of_fold_scores(model.set_params(n_init=n), bags, y, None, splits))
        for n in (1, N_INIT)
    ]
    model.fit(bags, y)
    stability = np.nanmean(model.stability_)
    found = np.array([record["objective"] for record in model.starts_])
    above = 100 * (found / found.min() - 1)
    boot = key_stability(model.set_params(n_init=1).fit(bags, y), bags, y, n_bootstrap=N_BOOTSTRAP)
    positive = y == 1
    return (
        f"| {name} | {model_name} | {above[0]:.2f} | {above.max():.2f} | {stability:.2f} | "
        f"{boot.stability[positive].mean():.2f} ({boot.expected[positive].mean():.2f}) | "
        f"{aucs[0]:.1f} | {aucs[1]:.1f} |"
    )


def main():
    given = options(__doc__, out=Path("docs/results/restarts.md"), n_jobs=1)
    head = "| set | method | usual start, % | highest, % | agreement of starts | of bootstrap "
    head += "(chance) | AUC, 1 start | 10 starts |"
    lines = [f"# Restarts\n\n```\n{__doc__}```\n", head, "|---|---|---|---|---|---|---|---|"]
    cells = product(SETS, MODELS)
    for line in Parallel(given.n_jobs)(delayed(row)(*cell) for cell in cells):
        lines.append(line)
        print(line, flush=True)
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
