"""Learning from label proportions: instances labeled by shares of bags.

    BAGWISE_DATA=... python benchmarks/proportions.py docs/results/proportions.md

Protocol: instances with known labels are put into bags at random, each bag with a share of
positives drawn uniformly from [0, 1]; models see the shares of 60 bags of 5 to 30 instances, and
are judged on instances of 60 other bags: accuracy, and mean error of the predicted shares, in
percent. Three draws, standard errors in parentheses. Pools: handwritten digits (scikit-learn; 5 to
9 against 0 to 4, and 9 against the others), and the instances of newsgroups and diabetes_13 (UCI,
as bags by others). C = 10, rbf kernel with median width. "all labels" is an SVM that sees every
training label; "majority" gives the instances of a bag its majority label; "bag means" regresses
shares on means of bags (ridge); "likelihood" is LabelProportionLogistic, alpha = .1, linear or with
200 Nystroem features of the same kernel; the others are LabelProportionSVC by its first labels.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from rich.progress import track
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, InstanceSVC, LabelProportionLogistic, LabelProportionSVC
from bagwise.datasets import fetch
from bagwise.kernels import settle_gamma
from timing import one_thread

BAGS, DRAWS = 60, 3


def pools():
    digits = load_digits()
    yield "digits 5-9", digits.data, digits.target >= 5
    yield "digit 9", digits.data, digits.target == 9
    for name in ("newsgroups", "diabetes_13"):
        bags, _ = fetch(name)
        X = bags.X.toarray() if hasattr(bags.X, "toarray") else np.asarray(bags.X)
        yield name, X, np.asarray(bags.instance_labels) > 0


def draw(X, labels, rng):
    """Draw bags with replacement from each class, by a share per bag."""
    sizes = rng.integers(5, 31, BAGS)
    counts = np.round(rng.random(BAGS) * sizes).astype(int)
    rows = []
    for size, count in zip(sizes, counts, strict=True):
        rows += [rng.choice(np.flatnonzero(labels), count)]
        rows += [rng.choice(np.flatnonzero(~labels), size - count)]
    rows = np.concatenate(rows)
    return Bags(X[rows], np.concatenate([[0], np.cumsum(sizes)])), counts / sizes, labels[rows]


def singles(bags):
    return Bags(bags.X, np.arange(bags.n_instances + 1))


def scored(name, bags, shares, labels):
    """Return a function that scores instances."""
    if name == "all labels":
        model = InstanceSVC(C=10.0).fit(singles(bags), labels.astype(int))
    elif name == "majority":
        model = InstanceSVC(C=10.0).fit(bags, (shares > 0.5).astype(int))
    elif name == "bag means":
        means = np.add.reduceat(bags.X, bags.offsets[:-1]) / bags.sizes[:, None]
        ridge = Ridge(1.0).fit(means, shares)
        return lambda asked: ridge.predict(asked.X) - 0.5
    elif name.startswith("likelihood"):
        width = settle_gamma("median", bags.X, np.ones(bags.n_instances), np.random.RandomState(0))
        rbf = Nystroem(gamma=width, n_components=200, random_state=0)
        mapped = rbf if name.endswith("rbf") else None
        model = LabelProportionLogistic(alpha=0.1, feature_map=mapped).fit(bags, shares)
    else:
        init, starts = name.split(", ")
        model = LabelProportionSVC(C=10.0, init=init, n_init=int(starts.split()[0]))
        model.fit(bags, shares)
    return model.instance_decision_function


METHODS = ("all labels", "soft, 1 start", "anneal, 1 start", "random, 1 start", "random, 5 starts",
           "likelihood, linear", "likelihood, rbf", "majority", "bag means")  # fmt: skip


def one_draw(X, labels, seed):
    rng = np.random.default_rng(seed)
    half = rng.permutation(len(X)) < len(X) // 2  # no instance is in training and test bags
    train, test = draw(X[half], labels[half], rng), draw(X[~half], labels[~half], rng)
    scaler = StandardScaler().fit(train[0].X)
    seen, asked = (part[0].replace(X=scaler.transform(part[0].X)) for part in (train, test))
    found = []
    for name in METHODS:
        positive = scored(name, seen, train[1], train[2])(asked) > 0
        shares = np.add.reduceat(1.0 * positive, asked.offsets[:-1]) / asked.sizes
        found.append((100 * np.mean(positive == test[2]), 100 * np.mean(np.abs(shares - test[1]))))
    return found


def main() -> None:
    lines = ["| instances | model | accuracy % | error of shares |", "|---|---|---:|---:|"]
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for pool, X, labels in track(list(pools()), "proportions"):
            table = np.array([one_draw(X, labels, seed) for seed in range(DRAWS)])
            mean, spread = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(DRAWS)
            for name, m, s in zip(METHODS, mean, spread, strict=True):
                cells = [f"{value:.1f} ({error:.1f})" for value, error in zip(m, s, strict=True)]
                lines.append(f"| {pool} | {name} | {' | '.join(cells)} |")
    body = "Protocol:" + __doc__.split("Protocol:")[1]
    head = "# Learning from label proportions\n\n`python benchmarks/proportions.py`\n\n"
    Path(sys.argv[1]).write_text(head + body + "\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
