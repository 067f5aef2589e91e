"""Exact posteriors of one bag's instances: milliseconds by size and potential.

    python benchmarks/posteriors.py > docs/results/posteriors.md

One bag of m instances with standard normal scores and random potential weights; both sides' log Z,
all marginals and the distribution of the count. "Tree" is the tree of products over all counts in
logarithms, O(m^2) for these potentials (not run above 10,000 instances); "tilted" the sums by
pieces, O(m log m). CPU time on one thread, best of 3; the difference is the largest one between
marginals of the two ways.
"""

from __future__ import annotations

import numpy as np

import bagwise.assumptions.posterior as module
from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountPosterior
from timing import cpu_seconds, one_thread

POTENTIALS = {
    "at least 30 %": AtLeastPotential(0.3),
    "5 learned bins": BinnedPotential(5),
    "10 learned bins": BinnedPotential(10),
}
SIZES, LARGEST_TREE = (32, 100, 1000, 10_000, 100_000), 10_000


def way(potential: object, size: int, counts_per_piece: int) -> CountPosterior:
    module._COUNTS_PER_PIECE = counts_per_piece
    return CountPosterior(potential, np.array([0, size]))


def main() -> None:
    print("# Exact posteriors\n\n`python benchmarks/posteriors.py`\n")
    print("\n".join(__doc__.splitlines()[4:]) + "\n")
    print("| instances | potential | tree, ms | tilted, ms | difference |\n|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for size in SIZES:
        for name, potential in POTENTIALS.items():
            scores, weights = rng.normal(size=(1, size)), rng.normal(size=(1, potential.n_weights))
            tilted, slow, difference = way(potential, size, 0), "-", "-"
            found = tilted.of(scores, weights)  # compiles
            fast = 1e3 * cpu_seconds(tilted.of, scores, weights, repeats=3)
            if size <= LARGEST_TREE:
                tree = way(potential, size, size)
                expected = tree.of(scores, weights)
                slow = f"{1e3 * cpu_seconds(tree.of, scores, weights, repeats=3):.2f}"
                difference = f"{np.abs(found.marginals - expected.marginals).max():.0e}"
            print(f"| {size:,} | {name} | {slow} | {fast:.2f} | {difference} |", flush=True)


if __name__ == "__main__":
    with one_thread():
        main()
