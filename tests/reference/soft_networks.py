"""Small networks to pass over, and their risk by trying all labelings."""

from itertools import pairwise, product

import numpy as np

from bagwise.assumptions import AtLeastPotential, BinnedPotential
from bagwise.models.markov.looks import NetworkLabels, NetworkProblem
from bagwise.procedures.run import run
from bagwise.rows import make_rows
from bagwise.rows.host import BLOCK_BYTES
from bagwise.solvers.soft_newton import soft_newton, whole_start

RULES = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]


def bags_of(potential, *, n_bags=12, largest=6, seed=0):
    """Draw rows, offsets and labels of ragged bags, with features of bags."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, largest, n_bags))])
    X = rng.normal(size=(offsets[-1], 3))
    positive = np.arange(n_bags) % 2 == 1
    X[np.repeat(positive, np.diff(offsets)), 0] += 1.0
    weight, columns = rng.uniform(0.5, 2.0, n_bags), rng.normal(size=(n_bags, 2))
    return X, offsets, NetworkLabels.of(potential, offsets, positive, weight, columns)


class Network(NetworkProblem):
    """A problem together with its rows."""

    def __init__(self, potential, alpha=0.3, place=lambda X: X, block_bytes=BLOCK_BYTES, **options):
        X, offsets, labels = bags_of(potential, **options)
        self.rows = make_rows(place(X), offsets, conditioned=False, block_bytes=block_bytes)
        super().__init__(self.rows, labels, 0.7, True, alpha)

    def see(self, *point, **options):
        return run(self.rows, self.look(*point, **options))

    def begin(self, **options):
        return run(self.rows, whole_start(self, **options))

    def descend(self, start, **options):
        return run(self.rows, soft_newton(self, start, **options))


def brute_risk(X, offsets, labels, w, scale):
    """Return the risk, by trying all labelings of every bag."""
    d, n = X.shape[1], labels.potential.n_weights
    z = scale * X @ w[:d] + w[d]
    potential, of_bags = w[d + 1 : d + 1 + n], labels.columns @ w[d + 1 + n :]
    total = 0.0
    for i, (a, b) in enumerate(pairwise(offsets)):
        table, bins = labels.potential.table(b - a), labels.potential.bins(b - a)
        best = [-np.inf, -np.inf]
        for labeling in product([0, 1], repeat=int(b - a)):
            k = sum(labeling)
            for side in range(2):
                score = labeling @ z[a:b] + table[side, k] + potential[bins[side, k]]
                best[side] = max(best[side], score + side * of_bags[i])
        margin = (best[1] - best[0]) * (1 if labels.positive[i] else -1)
        total += labels.weight[i] * max(0.0, 1 - margin)
    return total
