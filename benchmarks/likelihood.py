"""Markov networks trained for their margin and for the likelihood of the bags' labels.

    BAGWISE_DATA=... python benchmarks/likelihood.py [--n-jobs 8] [--sets musk1 tiger]

Bags: stratified 5-fold cross-validation (seed 0), standardized features, the alpha in
{.1, 1, 10} with the highest AUC on the same folds (optimistic for both alike). Log loss: of
out-of-fold probabilities at that alpha; for the hinge by a sigmoid fitted to inner out-of-fold
scores, for the likelihood the network's own, and by the same sigmoid ("refused": in some fold the
inner scores do not rise with the label). "Size alone" is the AUC of
the number of instances in a bag.

Instances: bags of digits, 200 for training and 200 for the test, the rule known to the network,
alpha = .3. Brier score and log loss of ``predict_instances_proba`` against the digits' labels, and
the AUC of the same probabilities; "base rate" always says the fraction of positive instances in the
test bags.
"""

from __future__ import annotations

import warnings
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler

from bagwise import MarkovNetworkClassifier
from bagwise.crossfit import folds
from bagwise.datasets import fetch, load_digits_bags
from options import kept, options

SETS = ("musk1", "elephant", "tiger", "fox")
RULES = {"MIMN": "any", "RMIMN": "ratio", "GMIMN": "learned"}
ALPHAS = (0.1, 1.0, 10.0)
DIGITS = {
    "any": {"cardinality": "any"},
    "ratio": {"cardinality": "ratio", "positive_fraction": 0.3},
    "majority": {"cardinality": "ratio", "positive_fraction": 0.51},
}


def held_out(model, bags, y, splits, method):
    """Return the out-of-fold scores or probabilities of the positive class."""
    found = np.empty(len(y))
    for train, test in splits:
        part = getattr(model.fit(bags[train], y[train]), method)(bags[test])
        found[test] = part if part.ndim == 1 else part[:, 1]
    return found


def sigmoid_loss(model, bags, y, splits):
    """Return the log loss; a model whose inner scores fall with the label refuses to calibrate."""
    try:
        return f"{log_loss(y, held_out(model, bags, y, splits, 'predict_proba')):.3f}"
    except ValueError as error:
        if "do not rise with the label" not in str(error):
            raise
        return "refused"


def row(name, network, loss):
    """Return one line of the table of bags."""
    warnings.simplefilter("ignore")
    bags, y = fetch(name)[:2]
    y = (y == y.max()).astype(int)
    splits, size = folds(bags, y, 5, 0), 100 * roc_auc_score(y, bags.sizes)
    shared = {"cardinality": RULES[network], "loss": loss, "fit_intercept": loss == "log_loss"}
    shared["feature_map"] = StandardScaler()
    tried = {}
    for alpha in ALPHAS:
        model = MarkovNetworkClassifier(alpha=alpha, **shared)
        scores = held_out(model, bags, y, splits, "decision_function")
        tried[alpha] = roc_auc_score(y, scores), np.mean((scores > 0) == (y == 1))
    alpha = max(tried, key=lambda a: tried[a][0])
    auc, accuracy = tried[alpha]
    model = MarkovNetworkClassifier(alpha=alpha, probability="sigmoid", **shared)
    fitted, own = sigmoid_loss(model, bags, y, splits), "-"
    if loss == "log_loss":
        model.set_params(probability=False)
        own = f"{log_loss(y, held_out(model, bags, y, splits, 'predict_proba')):.3f}"
    return (
        f"| {name} | {size:.1f} | {network} | {loss} | {alpha:g} | {100 * accuracy:.1f} | "
        f"{100 * auc:.1f} | {fitted} | {own} |"
    )


def bags_table(out, sets, n_jobs):
    yield "| set | size alone | network | loss | alpha | accuracy | AUC | log loss, sigmoid | own |"
    yield "|---|---|---|---|---|---|---|---|---|"
    cells = product(sets, RULES, ("hinge", "log_loss"))
    yield from kept(out.with_suffix(".jsonl"), cells, row, n_jobs)


def digits_table():
    yield "| bags | probabilities | Brier | log loss | AUC |"
    yield "|---|---|---|---|---|"
    for rule, parameters in DIGITS.items():
        bags, y = load_digits_bags(rule=rule, n_bags=200, subset="train")
        fresh, _ = load_digits_bags(rule=rule, n_bags=200, subset="test", random_state=1)
        truth = fresh.instance_labels
        for loss in ("hinge", "log_loss"):
            model = MarkovNetworkClassifier(
                alpha=0.3, loss=loss, fit_intercept=loss == "log_loss", **parameters
            )
            chance = model.fit(bags, y).predict_instances_proba(fresh)[:, 1]
            yield f"| {rule} | {loss} | {measures(truth, chance)} |"
        yield f"| {rule} | base rate | {measures(truth, np.full(len(truth), truth.mean()))} |"


def measures(truth, chance):
    auc = 100 * roc_auc_score(truth, chance)
    return f"{brier_score_loss(truth, chance):.3f} | {log_loss(truth, chance):.3f} | {auc:.1f}"


def main():
    given = options(__doc__, out=Path("docs/results/likelihood.md"), n_jobs=1, sets=SETS)
    warnings.simplefilter("ignore")
    lines = [f"# Markov networks by maximum likelihood\n\n```\n{__doc__}```"]
    parts = {"Bags": bags_table(given.out, given.sets, given.n_jobs), "Instances": digits_table()}
    for title, part in parts.items():
        lines.append(f"\n## {title}\n")
        for line in part:
            lines.append(line)
            print(line, flush=True)
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
