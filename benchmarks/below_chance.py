"""Why kernels of the median width rank newsgroups bags worse than chance.

    BAGWISE_DATA=... python benchmarks/below_chance.py [--out docs/results/below_chance.md]

Data: newsgroups rec.sport.hockey, 100 bags (50 positive), 1,982 posts, 200 features, 3.4 %
witnesses. AUC of pooled out-of-fold scores, stratified 5-fold cross-validation, mean over 5 seeds
of the folds, C = 1. Permuted labels: a hard-margin SVM (C = 1e6) on the mean kernel of the median
width, 200 permutations.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from bagwise import MILES, BagKernelSVC, Bags, MeanSVC
from bagwise.bags.segments import bag_index
from bagwise.crossfit import folds, lowest_by_chance, out_of_fold_scores
from bagwise.datasets import fetch
from bagwise.kernels import settle_gamma

GAMMAS = (0.5, 1.0, 5.0, 20.0, 100.0)
N_PERMUTATIONS = 200


def auc(model, bags, y):
    """Return the mean AUC over five divisions into folds."""
    scores = [out_of_fold_scores(model, bags, y, None, folds(bags, y, 5, s)) for s in range(5)]
    return float(np.mean([roc_auc_score(y, one) for one in scores]))


def held_out_auc(K, y, n_folds, seed):
    """Return the AUC of a hard-margin SVM on a kernel between bags."""
    scores = np.empty(len(y))
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(K, y):
        svm = SVC(kernel="precomputed", C=1e6).fit(K[np.ix_(train, train)], y[train])
        scores[test] = svm.decision_function(K[np.ix_(test, train)])
    return roc_auc_score(y, scores)


def bag_kernel(bags, gamma):
    """Return the mean kernel between bags."""
    share = np.zeros((len(bags), bags.n_instances))
    share[bag_index(bags.offsets), np.arange(bags.n_instances)] = 1
    share /= bags.sizes[:, None]
    return share @ rbf_kernel(bags.X, gamma=gamma) @ share.T


def alike(K, y):
    """Return the mean similarity of two bags of the same and of different classes, centered."""
    center = np.eye(len(y)) - 1 / len(y)
    centered = center @ K @ center
    same = (y[:, None] == y) & ~np.eye(len(y), dtype=bool)
    return centered[same].mean(), centered[y[:, None] != y].mean()


def widths(bags, y, median):
    yield "| width | mean kernel | MILES | same class | different class |\n|---|---|---|---|---|"
    for gamma in (*GAMMAS, median):
        models = BagKernelSVC(bag_kernel="mean", gamma=gamma), MILES(gamma=gamma)
        values = " | ".join(f"{100 * auc(model, bags, y):.1f}" for model in models)
        one, other = alike(bag_kernel(bags, gamma), y)
        name = f"{gamma:.0f} (median)" if gamma == median else f"{gamma:g}"
        yield f"| gamma = {name} | {values} | {1e4 * one:+.1f} | {1e4 * other:+.1f} |"


def parts(bags, y, median):
    keep = bags.instance_labels == 0
    without = Bags.from_groups(bags.X[keep], bag_index(bags.offsets)[keep])
    model = BagKernelSVC(bag_kernel="mean", gamma=median)
    yield "| bags | mean kernel, median width | linear bag mean |\n|---|---|---|"
    for name, some in (("all posts", bags), ("without the witnesses", without)):
        values = [100 * auc(each, some, y) for each in (model, MeanSVC(kernel="linear"))]
        yield f"| {name} | {values[0]:.1f} | {values[1]:.1f} |"


def permuted(bags, y, median):
    K, rng = bag_kernel(bags, median), np.random.default_rng(0)
    yield "| folds | true labels | permuted: mean | 2.5 % | 97.5 % |\n|---|---|---|---|---|"
    for n_folds in (2, 5, 10, 50):
        true = np.mean([held_out_auc(K, y, n_folds, s) for s in range(5)])
        null = [held_out_auc(K, rng.permutation(y), n_folds, 0) for _ in range(N_PERMUTATIONS)]
        numbers = [true, np.mean(null), *np.percentile(null, [2.5, 97.5])]
        yield f"| {n_folds} | " + " | ".join(f"{100 * number:.1f}" for number in numbers) + " |"


def facts(bags, median):
    norms, witness = np.linalg.norm(bags.X, axis=1), bags.instance_labels == 1
    K = rbf_kernel(bags.X, gamma=median)
    np.fill_diagonal(K, 0)
    pairs = {
        "two other posts": K[np.ix_(~witness, ~witness)],
        "two witnesses": K[np.ix_(witness, witness)],
    }
    yield f"- Median norm: {np.median(norms[witness]):.2f} for witnesses,"
    yield f"  {np.median(norms[~witness]):.3f} for other posts."
    yield f"- The median distance of two posts gives gamma = {median:.0f}. Mean kernel value of"
    yield "  " + ", of ".join(f"{name}: {value.mean():.4f}" for name, value in pairs.items()) + "."


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("docs/results/below_chance.md"))
    out = parser.parse_args().out
    warnings.simplefilter("ignore")
    bags, y = fetch("newsgroups")[:2]
    median = settle_gamma("median", bags.X, np.ones(bags.n_instances), np.random.RandomState(0))
    head = f"# Below chance on newsgroups\n\n```\n{__doc__}```"
    sections = {
        "What the kernel sees": facts(bags, median),
        "The width decides": widths(bags, y, median),
        "What is left without the signal": parts(bags, y, median),
        "Labels at random": permuted(bags, y, median),
    }
    lines = [head]
    for title, part in sections.items():
        lines += [f"\n## {title}\n", *part]
        print("\n".join(lines[-20:]), flush=True)
    bound = 100 * lowest_by_chance(50, 50)
    lines += [
        "\nSimilarities: means over pairs of bags of the centered kernel, times 10^4. AUC in %.",
        f"With 50 + 50 bags an AUC below {bound:.1f} is called significant (one-sided, 5 %).",
    ]
    out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
