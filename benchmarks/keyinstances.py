"""How often the key instance is truly positive, on bags with known instance labels.

    BAGWISE_DATA=... python benchmarks/keyinstances.py [--splits 10] [--out docs/results/...]

Protocol (Zhang & Jin 2020, Section 5.1): train on half of the bags, test on the other half, repeat.
A success is a positive test bag whose key instance (the one with the highest score) is truly
positive. Digits: 100 bags of 5-15 images, "any" rule; 20 % of a positive bag are nines. Newsgroups:
rec.sport.hockey, 100 bags, 6.6 % positive instances. Every method chooses C (or C_pos = C_neg)
from {1, 10, 100} by the bag AUC of 3-fold cross-validation within the training half; instance
labels are never seen. rbf kernel with gamma = 1 / (2 median^2); pools of at most 10 assignments.
The bag AUC is that of the test half. Mean and standard deviation over the splits.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from bagwise import (
    AnnealedWitnessSVC,
    KeyInstanceSVC,
    LabelSVC,
    OptimalMarginSVC,
    Pool,
    WitnessSVC,
)
from bagwise.datasets import fetch, load_digits_bags
from bagwise.metrics import key_instance_rate
from options import options
from timing import one_thread

WEIGHTS = (1.0, 10.0, 100.0)
POOL = {"max_columns": 10, "max_iter": 10, "tol": 0.05}


def odm(weight, refine=False, **options):
    pool = Pool(refine=refine, **POOL)
    return OptimalMarginSVC(C_pos=weight, C_neg=weight, threshold=0.0, pool=pool, **options)


def ki(weight, **options):
    return KeyInstanceSVC(C=weight, threshold=0.0, pool=Pool(**POOL), **options)


METHODS = {
    "MI-ODM": odm,
    "MI-ODM, refined": lambda weight: odm(weight, refine=True),
    "MI-ODM by CCCP": lambda weight: odm(weight, relax=False),
    "Ins-KI-SVM": ki,
    "Bag-KI-SVM": lambda weight: ki(weight, negatives="bags"),
    "MI-SVM (WitnessSVC)": lambda weight: WitnessSVC(C=weight),
    "mi-SVM (LabelSVC)": lambda weight: LabelSVC(C=weight),
    "AW-SVM (AnnealedWitnessSVC)": lambda weight: AnnealedWitnessSVC(C=weight),
}
DATA = {
    "digits": lambda: load_digits_bags(n_bags=100, random_state=0),
    "newsgroups": lambda: fetch("newsgroups"),
}


def auc_inside(model, bags, y):
    scores = np.empty(len(y))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(y, y):
        fold = model.fit(bags[train], y[train]).decision_function(bags[test])
        scores[test] = fold
    return roc_auc_score(y, scores)


def one_split(build, bags, y, train, test):
    inside = [auc_inside(build(weight), bags[train], y[train]) for weight in WEIGHTS]
    model = build(WEIGHTS[int(np.argmax(inside))]).fit(bags[train], y[train])
    auc = roc_auc_score(y[test], model.decision_function(bags[test]))
    return key_instance_rate(model, bags[test], y[test]), auc


def main() -> None:
    args = options(__doc__, splits=10, out=Path)
    warnings.simplefilter("ignore", ConvergenceWarning)
    lines = ["| data | method | success rate % (sd) | bag AUC (sd) |", "|---|---|---|---|"]
    for name, load in DATA.items():
        bags, y = load()
        halves = StratifiedShuffleSplit(args.splits, test_size=0.5, random_state=0)
        splits = list(halves.split(y, y))
        for method, build in METHODS.items():
            with one_thread():
                found = np.array([one_split(build, bags, y, *split) for split in splits])
            (rate, auc), (rate_sd, auc_sd) = found.mean(axis=0), found.std(axis=0, ddof=1)
            lines.append(
                f"| {name} | {method} | {100 * rate:.1f} ({100 * rate_sd:.1f}) "
                f"| {auc:.3f} ({auc_sd:.3f}) |"
            )
            print(lines[-1], flush=True)
            if args.out:
                text = ["# Key instances: success rates", "", __doc__.strip(), ""]
                args.out.write_text("\n".join(text + lines) + "\n")


if __name__ == "__main__":
    main()
