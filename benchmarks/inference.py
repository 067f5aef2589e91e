"""Inference over counts: instances per second, compared with NumPy's lexsort and cumsum.

    python benchmarks/inference.py --train > docs/results/inference.md

10^6 scores in bags of 10, 100 and 1000, on one thread. "At least one" needs no sorting; the other
two potentials sort every bag. The NumPy reference sorts all scores by (bag, score) and takes
cumulative sums, the cheapest way to the same numbers without a loop over bags. CPU time, best of 5
(NumPy) and of 50 runs. ``--train`` also trains on 10^6 x 50 instances (bags of 100, float32, alpha
= 100) and counts passes over the data: one product with the instances or their transpose is a pass.
"""

from __future__ import annotations

import argparse

import numpy as np

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountInference
from bagwise.designs import Dense
from timing import cpu_seconds, one_thread

POTENTIALS = {
    "at least one": AtLeastPotential(),
    "at least half": AtLeastPotential(0.5),
    "five learned bins": BinnedPotential(5),
}


def with_numpy(scores: np.ndarray, bag: np.ndarray) -> np.ndarray:
    return np.cumsum(scores[np.lexsort((-scores, bag))])


def throughput(n: int) -> None:
    scores = np.random.default_rng(0).normal(size=(1, n))
    print(
        "| bag size | potential | million instances per second | times NumPy |\n|---|---|---|---|"
    )
    for size in (10, 100, 1000):
        offsets = np.arange(0, n + 1, size)
        reference = cpu_seconds(with_numpy, scores[0], np.repeat(np.arange(n // size), size))
        print(f"| {size} | NumPy lexsort + cumsum | {n / reference / 1e6:.1f} | 1 |")
        for name, potential in POTENTIALS.items():
            inference = CountInference(potential, offsets)
            weights = np.zeros((1, potential.n_weights))
            out = inference.best(scores, weights)  # compiles
            seconds = cpu_seconds(inference.best, scores, weights, out, repeats=50)
            ratio = reference / seconds
            print(f"| {size} | {name} | {n / seconds / 1e6:.0f} | {ratio:.0f} |", flush=True)


class Counted(Dense):
    """Rows that count how often they are read in full."""

    passes = 0

    def __matmul__(self, coef):
        type(self).passes += 1
        return super().__matmul__(coef)

    def adjoint(self, dual):
        """Return X' r."""
        type(self).passes += 1
        return super().adjoint(dual)


def training(n: int) -> None:
    import bagwise.models.markov.inputs as inputs

    inputs.matrix_design = Counted
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50)).astype(np.float32)
    offsets = np.arange(0, n + 1, 100)
    y = np.arange(len(offsets) - 1) % 2
    X[offsets[:-1][y == 1], 0] += 4.0
    bags = Bags(X, offsets)
    print(
        "\n| cardinality | passes | seconds per pass | seconds per fit | objective | gap |"
        "\n|---|---|---|---|---|---|"
    )
    for cardinality in ("any", "ratio", "learned"):
        Counted.passes = 0
        model = MarkovNetworkClassifier(cardinality=cardinality, alpha=100.0)
        seconds = cpu_seconds(model.fit, bags, y, repeats=1)
        passes = Counted.passes
        one = cpu_seconds(lambda: Counted(X) @ np.ones(50), repeats=2)
        print(
            f"| {cardinality} | {passes} | {one:.3f} | {seconds:.1f} | {model.objective_[0]:.1f} | "
            f"{model.gap_[0]:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=10**6)
    parser.add_argument("--train", action="store_true")
    given = parser.parse_args()
    print("# Inference over counts\n\n`python benchmarks/inference.py --train`\n")
    print("\n".join(__doc__.splitlines()[4:]) + "\n")
    with one_thread():
        throughput(given.instances)
        if given.train:
            training(given.instances)
