"""AW-SVM with a fixed and with a penalized number of witnesses.

    BAGWISE_DATA=... python benchmarks/witness_count.py

Standardized features, rbf kernel of the median width, C = 1, pooled out-of-fold AUC in percent
(5 folds, seed 0), and the mean number of witnesses per positive bag of a fit to the whole set.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from bagwise import AnnealedWitnessSVC
from bagwise.crossfit import folds, out_of_fold_scores
from bagwise.datasets import fetch

SETS = ("musk1", "elephant", "tiger", "fox")
WAYS = [(n, weight) for n in (1, 3) for weight in (None, 0.1, 1.0)]


def cell(bags, y, n_witnesses, C_witnesses):
    model = AnnealedWitnessSVC(n_witnesses=n_witnesses, C_witnesses=C_witnesses)
    scores = out_of_fold_scores(model, bags, y, None, folds(bags, y, 5, 0))
    found = model.fit(bags, y).instance_weights_.sum() / np.sum(y == 1)
    return f"{100 * roc_auc_score(y, scores):.1f} ({found:.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/witness_count.md"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    names = [f"{n}, {'fixed' if w is None else f'C_witnesses = {w:g}'}" for n, w in WAYS]
    lines = [
        f"# The number of witnesses\n\n```\n{__doc__}```\n",
        "| set | " + " | ".join(names) + " |",
    ]
    lines.append("|---" * (1 + len(WAYS)) + "|")
    for name in SETS:
        bags, y = fetch(name)[:2]
        y = (y == y.max()).astype(int)
        bags = bags.replace(X=StandardScaler().fit_transform(bags.X))
        lines.append(f"| {name} | " + " | ".join(cell(bags, y, *way) for way in WAYS) + " |")
        print(lines[-1], flush=True)
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
