"""Inference over counts: instances a second, beside NumPy's lexsort and running sum.

    python benchmarks/inference.py --train > docs/results/inference.md

One thread, 10^6 scores cut into bags of 10, 100 and 1000. "at least one" needs no sort; the other
two sort every bag. NumPy's reference sorts all scores by (bag, score) and takes running sums, which
is the cheapest way to the same numbers without a loop over bags. CPU time, best of 5 (NumPy) and of
50 runs. ``--train`` adds training on 10^6 x 50 instances (bags of 100, float32, lambda = 100) as
passes over the data: a product with the instances, or with their transpose, is one pass.
"""

from __future__ import annotations

import argparse

import numpy as np

from bagwise import Bags, MarkovNetworkClassifier
from bagwise.cardinality import AtLeastPotential, BinnedPotential, CountInference
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
    print("| bag size | potential | million instances a second | times NumPy |\n|---|---|---|---|")
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
    import bagwise.models.markov_inputs as inputs

    inputs.matrix_design = Counted
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 50)).astype(np.float32)
    offsets = np.arange(0, n + 1, 100)
    y = np.arange(len(offsets) - 1) % 2
    X[offsets[:-1][y == 1], 0] += 4.0
    bags = Bags(X, offsets)
    print(
        "\n| cardinality | passes | a pass, s | fit, s | objective | gap |"
        "\n|---|---|---|---|---|---|"
    )
    for cardinality in ("any", "ratio", "learned"):
        Counted.passes = 0
        model = MarkovNetworkClassifier(cardinality, lambda_=100.0)
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
