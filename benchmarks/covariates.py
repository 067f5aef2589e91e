"""Covariates beside instances: is what is fused ever worse than its better part?

    python benchmarks/covariates.py docs/results/covariates.md

Protocol: eight planted mixtures. A bag of 8 to 20 instances of 6 features is positive by a coin
whose log-odds are a sum: of an instance that is shifted along one direction, of all instances being
shifted a little, of age (a number) and of stage (three kinds, one-hot), each with a weight; a fifth
covariate is noise. Models learn from 150 bags and are judged on 400 others: AUC in percent, mean of
five draws. "instances" is AutoBagClassifier without covariates, "covariates" the logistic
regression of covariates alone, "auto" AutoBagClassifier(covariates=True); all of the portfolio
StatisticsLogistic, StatisticsForest (100 trees) and MI-SVM (linear). "lost" is the better part
minus auto, with its standard error over draws. The other columns are single models that see both.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from bagwise import (
    AutoBagClassifier,
    Bags,
    CompositionLogistic,
    MarkovNetworkClassifier,
    StatisticsForest,
    StatisticsLogistic,
    WitnessSVC,
)
from options import find_commit

DRAWS, TRAIN, TEST = 5, 150, 400
MIXTURES = {  # weights of: a witness, all instances, age, stage
    "witness alone": (3, 0, 0, 0),
    "age alone": (0, 0, 2, 0),
    "stage alone": (0, 0, 0, 3),
    "witness and age": (3, 0, 2, 0),
    "all instances and age": (0, 2, 2, 0),
    "all instances and stage": (0, 2, 0, 3),
    "weak witness, strong age": (1.5, 0, 3, 0),
    "all of them": (2, 1, 1, 2),
}
MODELS = [
    StatisticsLogistic(C=0.01),
    StatisticsForest(n_estimators=100),
    WitnessSVC(kernel="linear"),
]
FUSED = {
    "StatisticsForest": StatisticsForest(n_estimators=100, covariates=True),
    "CompositionLogistic": CompositionLogistic(n_words=16, C=10.0, covariates=True),
    "MIMN": MarkovNetworkClassifier(bag_features="bags", fit_intercept=True),
}


def draw(weights, seed):
    rng = np.random.default_rng(seed)
    n = TRAIN + TEST
    sizes = rng.integers(8, 21, n)
    causes = [rng.integers(0, 2, n) - 0.5, rng.normal(size=n), rng.normal(size=n)]
    stage = rng.integers(0, 3, n)
    odds = sum(w * c for w, c in zip(weights, [*causes, (stage - 1) / 1.5], strict=True))
    y = (rng.random(n) < expit(2 * odds)).astype(int)
    X = rng.normal(size=(sizes.sum(), 6))
    starts = np.cumsum(sizes) - sizes
    X[:, 1] += np.repeat(0.5 * causes[1], sizes)
    X[starts[causes[0] > 0], 0] += 4.0
    known = np.column_stack([50 + 10 * causes[2], np.eye(3)[stage], rng.normal(size=n)])
    return Bags(X, np.append(0, np.cumsum(sizes)), bag_features=known), y


def measure(model, bags, y):
    model.fit(bags[:TRAIN], y[:TRAIN])
    return 100 * roc_auc_score(y[TRAIN:], model.decision_function(bags[TRAIN:]))


def judge(weights):
    rows = []
    for seed in range(DRAWS):
        bags, y = draw(weights, seed)
        auto = AutoBagClassifier(models=MODELS, time_limit=None)
        parts = [
            measure(auto, bags, y),
            measure(StatisticsLogistic(statistics="none", covariates=True), bags, y),
        ]
        whole = measure(auto.set_params(covariates=True), bags, y)
        others = [measure(model, bags, y) for model in FUSED.values()]
        rows.append([*parts, whole, whole, *others])
    rows = np.array(rows)
    better = rows[:, :2].mean(axis=0).argmax()
    rows[:, 3] = rows[:, better] - rows[:, 2]
    return rows


def main(path):
    warnings.simplefilter("ignore")
    intro = "```\n" + __doc__.partition("\n\n")[2].strip().replace("\n\n", "\n```\n\n", 1)
    head = ["mixture", "instances", "covariates", "auto", "lost", *FUSED]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, weights in MIXTURES.items():
        rows = judge(weights)
        means = [f"{value:.1f}" for value in rows.mean(axis=0)]
        means[3] += f" ({rows[:, 3].std(ddof=1) / np.sqrt(DRAWS):.1f})"
        lines.append(f"| {name} | " + " | ".join(means) + " |")
        print(lines[-1], flush=True)
    title, commit = "# Covariates beside instances", f"Measured at commit {find_commit()}."
    Path(path).write_text("\n\n".join([title, intro, commit, "\n".join(lines)]) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
