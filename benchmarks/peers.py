"""The baselines compared with other packages from PyPI: CPU time on one thread, in the same run.

    python -m venv peers
    peers/bin/pip install . mil "sawmil[osqp]" mikit-learn
    BAGWISE_DATA=... peers/bin/python benchmarks/peers.py [--out docs/results/peers.md]

A package that cannot be imported is named and skipped. Ratios are (other fit) / (our fit) on the
same bags with the same parameters; "agree" is the percentage of training bags for which both
predict the same label. mil's MILES class needs a version of Keras that TensorFlow no longer
contains, so its embedding and the classifier that its source puts on top are timed without that
class (an l1 SVM with the squared hinge; ours uses the paper's hinge). sawmil 0.2.1 divides its
"average" kernel by the bag sizes twice, and its "none" is the sum. NSK is therefore compared with
its "featurespace" kernel, which is correct; for sMIL, which needs the mean, only the times are
comparable.
"""

from __future__ import annotations

import argparse
import importlib
from importlib.metadata import version
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.svm import SVC, LinearSVC

from bagwise import MILES, BagKernelSVC, MeanSVC, MILESEmbedding, SparseMIL
from bagwise.datasets import fetch
from bagwise.kernels import settle_gamma
from timing import cpu_seconds, one_thread

console = Console()
DATA = ("musk1", "elephant")
NO_PEER = "DiverseDensity, EMDD, DDSVM, CitationKNN, MissSVM, MILBoost, BagEnsemble, miGraph"


def gamma_of(bags):
    return settle_gamma("median", bags.X, np.ones(bags.n_instances), np.random.RandomState(0))


def signs_of(y):
    """Return labels -1 and 1, as sawmil has them."""
    return np.where(y == 1, 1.0, -1.0)


def nsk(bags, y):
    from sawmil import NSK, RBF

    gamma, signs, members = gamma_of(bags), signs_of(y), list(bags)
    settings = {"normalizer": "featurespace", "scale_C": False, "solver": "osqp"}
    peer = NSK(C=1.0, kernel=RBF(gamma=gamma), **settings)
    ours = BagKernelSVC(bag_kernel="mean", normalize=True, gamma=gamma, loss="hinge")
    return (
        lambda: ours.fit(bags, y).predict(bags),
        lambda: (np.ravel(peer.fit(members, signs).decision_function(members)) > 0).astype(int),
    )


def smil(bags, y):
    from sawmil import RBF, sMIL

    gamma, signs = gamma_of(bags), signs_of(y)
    peer = sMIL(C=1.0, kernel=RBF(gamma=gamma), normalizer="average", solver="osqp")
    # Its C is divided by the number of positive bags and of negative instances.
    positives, negatives = np.sum(y == 1), np.sum(y == 0)
    weights = {1: 1 / positives, 0: 1 / negatives}
    ours = SparseMIL(gamma=gamma, loss="hinge", class_weight=weights)
    members = list(bags)
    return (
        lambda: ours.fit(bags, y).predict(bags),
        lambda: (np.ravel(peer.fit(members, signs).decision_function(members)) > 0).astype(int),
    )


def miles(bags, y):
    from mil.bag_representation.mapping import MILESMapping

    gamma, members = gamma_of(bags), list(bags)
    ours = MILES(gamma=gamma, class_weight="balanced")

    def peer():
        mapping = MILESMapping(1 / gamma)
        mapped = mapping.fit(members).transform(members)
        options = {"dual": False, "class_weight": "balanced", "max_iter": 10000}
        return LinearSVC(penalty="l1", C=0.5, **options).fit(mapped, y).predict(mapped)

    return lambda: ours.fit(bags, y).predict(bags), peer


def miles_embedding(bags, y):
    from mil.bag_representation.mapping import MILESMapping

    gamma, members = gamma_of(bags), list(bags)
    return (
        lambda: MILESEmbedding(gamma=gamma).fit(bags).transform(bags).round(6),
        lambda: MILESMapping(1 / gamma).fit(members).transform(members).round(6),
    )


def means(bags, y):
    from milearn.wrapper import BagWrapper

    gamma, members = gamma_of(bags), list(bags)
    ours = MeanSVC(gamma=gamma, loss="hinge")
    # Its predictions need predict_proba, which scikit-learn's SVC no longer has: decisions instead.
    peer = BagWrapper(SVC(gamma=gamma), pool="mean")

    def fit_peer():
        peer.fit(members, y)
        return peer.estimator.predict(peer.get_bag_embedding(members)[:, 0])

    return lambda: ours.fit(bags, y).predict(bags), fit_peer


def statistics(bags, y):
    from milearn.wrapper import BagWrapper

    gamma, members = gamma_of(bags) / 2, list(bags)
    ours = BagKernelSVC(bag_kernel="statistics", gamma=gamma, loss="hinge")
    peer = BagWrapper(SVC(gamma=gamma), pool="extreme")

    def fit_peer():
        peer.fit(members, y)
        return peer.estimator.predict(peer.get_bag_embedding(members)[:, 0])

    return lambda: ours.fit(bags, y).predict(bags), fit_peer


# Our name, the other name, its distribution and module, and the function that builds both.
PAIRS = [
    ("BagKernelSVC mean, normalized", "NSK", "sawmil", "sawmil", nsk),
    ("SparseMIL (sMIL)", "sMIL", "sawmil", "sawmil", smil),
    ("MILES", "MILESMapping + LinearSVC", "mil", "mil.bag_representation.mapping", miles),
    ("MILESEmbedding", "MILESMapping", "mil", "mil.bag_representation.mapping", miles_embedding),
    ("MeanSVC", "BagWrapper(SVC, mean)", "mikit-learn", "milearn.wrapper", means),
    (
        "BagKernelSVC statistics",
        "BagWrapper(SVC, extreme)",
        "mikit-learn",
        "milearn.wrapper",
        statistics,
    ),
]


def found(distribution, module):
    """Return the version of a package; None, after printing the reason, if it is skipped."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        console.print(f"[bold red]SKIPPED {distribution}: {error}[/]")
        return None
    return version(distribution)


def compare(pair, data):
    bags, y = fetch(data)
    ours, peer = pair[-1](bags, y)
    agree = f"{100 * np.mean(ours() == peer()):.1f}" if pair[1] != "sMIL" else "only times compare"
    mine, theirs = cpu_seconds(ours, repeats=3), cpu_seconds(peer, repeats=3)
    return f"{mine:.4f}", f"{theirs:.4f}", f"{theirs / mine:.1f}", agree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = ["| data | ours | other package | our s | other s | other / ours | agree % |"]
    lines.append("|---|---|---|---|---|---|---|")
    for pair in PAIRS:
        name, theirs, distribution, module, _ = pair
        number = found(distribution, module)
        for data in DATA if number else ():
            with one_thread():
                cells = compare(pair, data)
            lines.append(
                f"| {data} | {name} | {distribution} {number} {theirs} | "
                + " | ".join(cells)
                + " |"
            )
            console.print(lines[-1])
    console.print(f"No working implementation on PyPI: {NO_PEER}.")
    if args.out:
        note = f"\nNo working implementation on PyPI: {NO_PEER}.\n"
        head = (
            "# Baselines compared with other packages\n\n"
            + (__doc__ or "").partition("\n\n")[2]
            + "\n"
        )
        args.out.write_text(head + "\n".join(lines) + "\n" + note)


if __name__ == "__main__":
    main()
