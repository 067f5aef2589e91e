"""Networks whose instances are a chain, on planted recordings in which witnesses come in runs.

    BAGWISE_DATA=... python benchmarks/chains.py > docs/results/chains.md

A recording is a bag of 30 segments with 10 noisy features (unit normal). An event shifts the first
feature of its segments by 1.5.

- runs: a positive recording has one event of 6 segments in a row, a negative one has none;
- clicks: negative recordings have 6 such segments too, but no two of them side by side: only the
  order tells the classes apart;
- shuffled: "runs" with the segments of every recording in random order, where a chain is wrong.

100 recordings for training and 200 for the test, three draws; MIMN and GMIMN (K = 5) with an
intercept; alpha (1, 10) and, with a chain, its cost (.3, 1, 3) chosen by 3-fold accuracy on the
training bags. Accuracy of bags, and F1 and AUC of the segments of an event within positive test
recordings (``predict_instances`` and ``predict_instances_proba``), in percent with standard errors
over draws.

Real data: protein (Trx), whose bags are the residues of a protein in their order. MIMN with an
intercept, standardized features, balanced class weights; out-of-fold AUC of 5 folds (seed 0) for
every alpha and cost, none of them chosen. Cost 0 is no chain.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.crossfit import folds
from bagwise.datasets import fetch
from draws import cells

SEGMENTS, EVENT, SHIFT, FEATURES = 30, 6, 1.5, 10
KINDS = ("runs", "clicks", "shuffled")
ALPHAS, COSTS = (1.0, 10.0), (0.3, 1.0, 3.0)
PROTEIN_COSTS, DRAWS = (0.1, 0.3, 1.0), 3


def recordings(kind: str, n: int, rng: np.random.Generator) -> tuple[Bags, np.ndarray]:
    """Draw recordings; instance labels mark the segments of events, also of clicks."""
    X = rng.normal(size=(n, SEGMENTS, FEATURES))
    y, event = np.arange(n) % 2, np.zeros((n, SEGMENTS), dtype=bool)
    for i in range(n):
        if y[i]:
            begin = rng.integers(SEGMENTS - EVENT + 1)
            event[i, begin : begin + EVENT] = True
        elif kind == "clicks":  # gaps of at least one segment
            places = np.sort(rng.choice(SEGMENTS - EVENT + 1, EVENT, replace=False))
            event[i, places + np.arange(EVENT)] = True
        if kind == "shuffled":
            event[i] = rng.permutation(event[i])
    X[event, 0] += SHIFT
    offsets = np.arange(0, n * SEGMENTS + 1, SEGMENTS)
    bags = Bags(X.reshape(-1, FEATURES), offsets, instance_labels=event.ravel().astype(int))
    return bags, y


def chosen(bags: Bags, y: np.ndarray, values: dict[str, tuple[float, ...]], **fixed):
    """Return the network with the best 3-fold accuracy, fitted to all training bags."""
    best, network = -1.0, None
    for found in product(*values.values()):
        given = dict(zip(values, found, strict=True))
        model = MarkovNetworkClassifier(fit_intercept=True, **given, **fixed)
        right = sum(
            np.sum(model.fit(bags[train], y[train]).predict(bags[test]) == y[test])
            for train, test in folds(bags, y, 3, 0)
        )
        if right > best:
            best, network = right, model
    return network.fit(bags, y)


def measured(draw, kind: str, cardinality: str, name: str, costs, seed: int) -> list[float]:
    """Train on bags that ``draw`` returns; accuracy, F1 and AUC of others."""
    rng = np.random.default_rng(seed)
    (bags, y), (fresh, truth) = draw(kind, 100, rng), draw(kind, 200, rng)
    model = chosen(bags, y, {"alpha": ALPHAS, name: costs}, cardinality=cardinality)
    positive = np.repeat(truth == 1, fresh.sizes)
    marked = fresh.instance_labels[positive]
    found = model.predict_instances(fresh)[positive]
    chance = model.predict_instances_proba(fresh)[positive, 1]
    return [
        100 * model.score(fresh, truth),
        100 * f1_score(marked, found),
        100 * roc_auc_score(marked, chance),
    ]


def begin(name: str, doc: str) -> None:
    """Print the head of a page of results: how they were made."""
    warnings.simplefilter("ignore")
    print(f"# {name.capitalize()} within bags\n\n`python benchmarks/{name}.py`\n")
    print("\n".join(doc.splitlines()[4:]) + "\n")


def planted(draw, kinds: tuple[str, ...], name: str) -> None:
    """Print a row per kind of bags and network, without and with the cost of this name."""
    print("|---|---|---|---|---|---|")
    for kind, (network, rule) in product(kinds, {"MIMN": "any", "GMIMN": "learned"}.items()):
        for tied, costs in (("no", (0.0,)), ("yes", COSTS)):
            draws = [measured(draw, kind, rule, name, costs, seed) for seed in range(DRAWS)]
            print(f"| {kind} | {network} | {tied} | {cells(draws)} |", flush=True)


def protein(alpha: float, cost: float) -> float:
    bags, y = fetch("protein")[:2]
    scores, y = np.empty(len(y)), (y == y.max()).astype(int)
    for train, test in folds(bags, y, 5, 0):
        model = MarkovNetworkClassifier(
            alpha=alpha,
            chain=cost,
            fit_intercept=True,
            feature_map=StandardScaler(),
            class_weight="balanced",
        )
        scores[test] = model.fit(bags[train], y[train]).decision_function(bags[test])
    return 100 * roc_auc_score(y, scores)


def main() -> None:
    begin("chains", __doc__)
    print("| recordings | network | chain | accuracy | F1 of segments | AUC of segments |")
    planted(recordings, KINDS, "chain")
    print("\n| protein, alpha | cost | AUC |\n|---|---|---|")
    for alpha, cost in product((10.0, 100.0), (0.0, *PROTEIN_COSTS)):
        print(f"| {alpha:g} | {cost:g} | {protein(alpha, cost):.1f} |", flush=True)


if __name__ == "__main__":
    main()
