"""The baselines against their peers from PyPI: CPU time ratios within one run, one thread.

    python -m venv peers
    peers/bin/pip install . mil "sawmil[osqp]" mikit-learn
    BAGWISE_DATA=... peers/bin/python benchmarks/peers.py [--out docs/results/peers.md]

A peer that cannot be imported is named and skipped. Ratios are (peer's fit) / (our fit) on the same
bags with the same parameters; "agree" is the share of training bags that both predict alike,
because a fast wrong answer is no answer. mil's own MILES class needs a Keras that TensorFlow no
longer ships, so its embedding and the machine its source puts on top are timed without that class
(an l1 machine with the squared hinge; ours is the paper's hinge). sawmil 0.2.1 divides its
"average" kernel by the bags' sizes twice, and "none" is the sum: NSK is compared with its
"featurespace" kernel, which is right, and for sMIL, which needs the mean, only the time says
something.
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
NO_PEER = "DiverseDensity, EMDD, DDSVM, CitationKNN, MISSVM, MILBoost, BagEnsemble, miGraph"


def gamma_of(bags):
    return settle_gamma("median", bags.X, np.ones(bags.n_instances), np.random.RandomState(0))


def spread(y):
    """Labels -1 and 1, as sawmil has them."""
    return np.where(y == 1, 1.0, -1.0)


def nsk(bags, y):
    from sawmil import NSK, RBF

    gamma, signs, members = gamma_of(bags), spread(y), list(bags)
    settings = {"normalizer": "featurespace", "scale_C": False, "solver": "osqp"}
    peer = NSK(C=1.0, kernel=RBF(gamma=gamma), **settings)
    ours = BagKernelSVC("mean", normalize=True, gamma=gamma, loss="hinge")
    return (
        lambda: ours.fit(bags, y).predict(bags),
        lambda: (np.ravel(peer.fit(members, signs).decision_function(members)) > 0).astype(int),
    )


def smil(bags, y):
    from sawmil import RBF, sMIL

    gamma, signs = gamma_of(bags), spread(y)
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
        machine = LinearSVC(
            penalty="l1", C=0.5, dual=False, class_weight="balanced", max_iter=10000
        )
        return machine.fit(mapped, y).predict(mapped)

    return lambda: ours.fit(bags, y).predict(bags), peer


def miles_embedding(bags, y):
    from mil.bag_representation.mapping import MILESMapping

    gamma, members = gamma_of(bags), list(bags)
    return (
        lambda: MILESEmbedding(gamma).fit(bags).transform(bags).round(6),
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
    ours = BagKernelSVC("statistics", gamma=gamma, loss="hinge")
    peer = BagWrapper(SVC(gamma=gamma), pool="extreme")

    def fit_peer():
        peer.fit(members, y)
        return peer.estimator.predict(peer.get_bag_embedding(members)[:, 0])

    return lambda: ours.fit(bags, y).predict(bags), fit_peer


# Ours, the peer's, its distribution and module, and what builds the pair.
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
    """Return the version of a peer, or None after saying loudly why it is skipped."""
    try:
        importlib.import_module(module)
    except ImportError as error:
        console.print(f"[bold red]SKIPPED {distribution}: {error}[/]")
        return None
    return version(distribution)


def compare(pair, data):
    bags, y = fetch(data)
    ours, peer = pair[-1](bags, y)
    agree = np.mean(ours() == peer())
    mine, theirs = cpu_seconds(ours, repeats=3), cpu_seconds(peer, repeats=3)
    return f"{mine:.4f}", f"{theirs:.4f}", f"{theirs / mine:.1f}", f"{100 * agree:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    lines = ["| data | ours | peer | our s | peer's s | peer / ours | agree % |"]
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
    console.print(f"No peer on PyPI that runs: {NO_PEER}.")
    if args.out:
        note = f"\nNo peer on PyPI that runs: {NO_PEER}.\n"
        head = "# Baselines against their peers\n\n" + (__doc__ or "").partition("\n\n")[2] + "\n"
        args.out.write_text(head + "\n".join(lines) + "\n" + note)


if __name__ == "__main__":
    main()
