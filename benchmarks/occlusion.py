"""Occlusion: that it equals removal, what it costs, and how often it finds the key instance.

    python benchmarks/occlusion.py [--out docs/results/occlusion.md]

1. Equality. For every model that scores whole bags, the largest difference between its instance
   scores and the brute-force change of the bag's score when the instance is removed, relative to
   the largest bag score; bags of digits.
2. Cost. CPU time of occlusion, as a multiple of one `decision_function` on the same bags, and of
   one on the bags without each instance (as many bags as there are instances). Least of several
   runs within one process; 100 bags of 10 instances and 20 bags of 40, with 50 features.
3. Key instances. Bags of 5-15 digits, positive if they contain a 9; 100 training bags, 200 test
   bags from other images, 5 draws. A success is a positive test bag whose key instance is a 9.
   "Alone" are instances scored as bags of one. Default parameters, but C = 10 for the SVMs:
   nothing was chosen on these bags.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from bagwise import (
    DDSVM,
    MILES,
    BagKernelSVC,
    Bags,
    CitationKNN,
    MeanSVC,
    StatisticsForest,
    StatisticsLogistic,
    StatisticsSVC,
    WitnessSVC,
)
from bagwise.bags.segments import segment_argmax
from bagwise.bags.without import score_without_each
from bagwise.datasets import load_digits_bags
from bagwise.estimators.occlusion import occlude, occlusion_scores
from timing import cpu_seconds, one_thread

MODELS = {
    "mean kernel": BagKernelSVC(C=10),
    "mean kernel, linear": BagKernelSVC(C=10, kernel="linear"),
    "statistics kernel": BagKernelSVC(bag_kernel="statistics", C=10),
    "statistics kernel, linear": BagKernelSVC(bag_kernel="statistics", C=10, kernel="linear"),
    "miGraph": BagKernelSVC(bag_kernel="migraph", C=10),
    "max kernel": BagKernelSVC(bag_kernel="max", C=10),
    "Hausdorff kernel": BagKernelSVC(bag_kernel="hausdorff", C=10),
    "MeanSVC": MeanSVC(C=10),
    "StatisticsForest (quantiles)": StatisticsForest(),
    "StatisticsForest (four)": StatisticsForest(statistics="four"),
    "StatisticsSVC": StatisticsSVC(C=10),
    "StatisticsLogistic": StatisticsLogistic(),
    "Citation kNN": CitationKNN(),
    "DD-SVM": DDSVM(n_init=5),
    "MILES": MILES(C=10),
    "MI-SVM": WitnessSVC(C=10),
}
# Where scores are updated, occlusion costs at most 5 decision functions on the bags themselves.
UPDATED = (
    *("mean kernel", "mean kernel, linear", "statistics kernel", "statistics kernel, linear"),
    "StatisticsLogistic",
)


def normal_bags(n_bags, size, n_features=50, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_bags) % 2
    X = rng.normal(size=(n_bags, size, n_features))
    X[y == 1, 0, :3] += 2.0
    return Bags(X.reshape(-1, n_features), size * np.arange(n_bags + 1)), y


def equality(model):
    train, y = load_digits_bags(digit=9, n_bags=60, subset="train")
    bags, _ = load_digits_bags(digit=9, n_bags=20, subset="test")
    model.fit(train, y)
    own = model.decision_function(bags)
    expected = occlude(own, score_without_each(model.decision_function, bags), bags)
    difference = np.abs(occlusion_scores(model, bags) - expected).max()
    return float(difference / np.abs(own).max())


def costs(model, n_bags, size):
    train, y = normal_bags(100, size)
    bags, _ = normal_bags(n_bags, size, seed=1)
    model.fit(train, y)
    left = Bags(
        np.concatenate([np.delete(bag, i, axis=0) for bag in bags for i in range(size)]),
        (size - 1) * np.arange(bags.n_instances + 1),
    )
    seconds = cpu_seconds(occlusion_scores, model, bags)
    whole = cpu_seconds(model.decision_function, bags)
    return seconds / whole, seconds / cpu_seconds(model.decision_function, left, repeats=2)


def key_instances(model, draws=5):
    rows = []
    for draw in range(draws):
        train, y = load_digits_bags(digit=9, n_bags=100, subset="train", random_state=2 * draw)
        bags, truth = load_digits_bags(
            digit=9, n_bags=200, subset="test", random_state=2 * draw + 1
        )
        model.fit(train, y)
        positive = bags[truth == 1]
        alone = model.decision_function(Bags(positive.X, np.arange(positive.n_instances + 1)))
        rows.append(
            (
                success(occlusion_scores(model, positive), positive),
                success(alone, positive),
                success(model.instance_decision_function(positive), positive),
                roc_auc_score(truth, model.decision_function(bags)),
            )
        )
    return np.mean(rows, axis=0)


def success(scores, bags):
    return bags.instance_labels[bags.flat(segment_argmax(scores, bags.offsets))].mean()


def lines():
    yield "# Occlusion: equality, cost and key instances"
    yield ""
    yield __doc__.strip()
    yield ""
    yield (
        "| model | difference from removal | cost, x the bags (10 each) | x the bags without each "
        "| cost, x the bags (40 each) | x the bags without each |"
    )
    yield "|---|---|---|---|---|---|"
    for name, model in MODELS.items():
        small, large = costs(model, 100, 10), costs(model, 20, 40)
        values = " | ".join(f"{value:.2f}" for value in (*small, *large))
        must = " (at most 5)" if name in UPDATED else ""
        yield f"| {name}{must} | {equality(model):.0e} | {values} |"
    yield ""
    yield (
        "| model | bag AUC | success of occlusion % | of instances alone % "
        "| of `key_instances` % | scores |"
    )
    yield "|---|---|---|---|---|---|"
    for name, model in MODELS.items():
        occlusion, alone, own, auc = 100 * key_instances(model)
        kind = model.__bag_tags__().instance_scores
        yield f"| {name} | {auc:.1f} | {occlusion:.1f} | {alone:.1f} | {own:.1f} | {kind} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    written = []
    with one_thread():
        for line in lines():
            print(line, flush=True)
            written.append(line)
            if args.out:
                args.out.write_text("\n".join(written) + "\n")


if __name__ == "__main__":
    main()
