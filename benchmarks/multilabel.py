"""Several labels per bag: joint networks with pairs of labels against one network per label.

    BAGWISE_DATA=... python benchmarks/multilabel.py > docs/results/multilabel.md

- digits: bags of eight handwritten digits. The six labels are "contains a 0", ..., "contains a 5".
  Of each of the pairs 0 | 1, 2 | 3, 4 | 5 a bag has one or none, never both, with one or two images
  each; the rest are digits from 6 to 9. Planted: the pairs exclude each other by construction.
- corel: the regions of one or two images of different classes of Corel (its first six) in one bag,
  labeled with these classes: a bag has at most two labels. Standardized, Nystroem map of 100
  components (rbf, gamma = 1/9).
- corel, any: the same, with the images of one to six classes, drawn independently: the pairs say
  nothing.

200 bags for training, 400 for the test (of other digits and other images), three draws. MIMN with
alpha 1 and 10; both ways share all parameters. Percent, mean over draws with standard errors: right
sets ("all labels"), right labels, micro-averaged F1, and by how much the joint training lowers the
objective of the separate networks.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, MarkovNetworkClassifier, MultiLabelMarkovNetwork
from bagwise.datasets import fetch
from draws import cells

ALPHAS, DRAWS, N_LABELS = (1.0, 10.0), 3, 6


def digits(n: int, rng: np.random.Generator, test: bool) -> tuple[Bags, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    X, y = (X[1::2], y[1::2]) if test else (X[::2], y[::2])
    labels = np.zeros((n, N_LABELS), dtype=int)
    rows = []
    for bag in range(n):
        for pair in range(3):
            choice = rng.integers(3)
            if choice < 2:
                labels[bag, 2 * pair + choice] = 1
        own = [
            rng.choice(np.flatnonzero(y == c), rng.integers(1, 3))
            for c in np.nonzero(labels[bag])[0]
        ]
        own.append(rng.choice(np.flatnonzero(y >= N_LABELS), 8 - sum(map(len, own))))
        rows.append(rng.permutation(np.concatenate(own)))
    return Bags(X[np.concatenate(rows)], np.arange(0, 8 * n + 1, 8)), labels


def corel(n: int, rng: np.random.Generator, test: bool, any_: bool) -> tuple[Bags, np.ndarray]:
    images, y = fetch("corel2000")[:2]
    y = np.unique(y, return_inverse=True)[1]
    known = np.arange(len(y)) % 2 == test
    labels = np.zeros((n, N_LABELS), dtype=int)
    joined = []
    for bag in range(n):
        if any_:
            labels[bag] = rng.random(N_LABELS) < 0.3
            labels[bag, rng.integers(N_LABELS)] = 1
        else:
            labels[bag, rng.choice(N_LABELS, rng.integers(1, 3), replace=False)] = 1
        chosen = [rng.choice(np.flatnonzero(known & (y == c))) for c in np.nonzero(labels[bag])[0]]
        joined.append(
            np.vstack([images.X[images.offsets[i] : images.offsets[i + 1]] for i in chosen])
        )
    return Bags.from_list(joined), labels


DATA = {
    "digits": digits,
    "corel": lambda *given: corel(*given, False),
    "corel, any": lambda *given: corel(*given, True),
}


def measured(name: str, alpha: float, pairs: bool, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    (bags, labels), (fresh, truth) = DATA[name](200, rng, False), DATA[name](400, rng, True)
    steps = [StandardScaler()]
    if name != "digits":
        steps.append(Nystroem(gamma=1 / 9, n_components=100, random_state=0))
    base = MarkovNetworkClassifier(alpha=alpha, feature_map=make_pipeline(*steps))
    model = MultiLabelMarkovNetwork(estimator=base, pairs=pairs).fit(bags, labels)
    found = model.predict(fresh)
    return [
        100 * model.score(fresh, truth),
        100 * float(np.mean(found == truth)),
        100 * f1_score(truth, found, average="micro"),
        100 * (1 - model.objective_ / model.separate_objective_),
    ]


def main() -> None:
    warnings.simplefilter("ignore")
    print("# Several labels per bag\n\n`python benchmarks/multilabel.py`\n")
    print("\n".join(__doc__.splitlines()[4:]) + "\n")
    print("| bags | alpha | networks | all labels | labels | F1 | objective lower by |")
    print("|---|---|---|---|---|---|---|")
    for name, alpha, pairs in product(DATA, ALPHAS, (False, True)):
        shown = cells([measured(name, alpha, pairs, seed) for seed in range(DRAWS)])
        way = "joint, with pairs" if pairs else "one per label"
        print(f"| {name} | {alpha:g} | {way} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
