"""Count potentials to try inference on: ours, and rules that users may write."""

import itertools

import numpy as np

from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountPotential, as_potential


class Peaked(CountPotential):
    """A user's rule: a fixed preference for half of the bag, and one learned weight for "all"."""

    n_weights = 1

    def __repr__(self):  # names the test, the same in every process
        return "Peaked()"

    def table(self, size):
        count = np.arange(size + 1)
        fixed = -0.3 * np.abs([count, count - size / 2])
        fixed[1, 0] = -np.inf
        return fixed

    def bins(self, size):
        bins = np.full((2, size + 1), -1)
        bins[1, size] = 0
        return bins


class AllOrNothing:
    """A table and nothing else, as a list of lists."""

    def __repr__(self):
        return "AllOrNothing()"

    def table(self, size):
        never = -np.inf
        return [[0.5] + [never] * size, [never] * size + [-1.0]]


class EvenOrOdd:
    """Not of our kin, with learned weights of its own."""

    n_weights = 2

    def __repr__(self):
        return "EvenOrOdd()"

    def table(self, size):
        return np.where(np.arange(size + 1) % 3 == 2, [[-np.inf], [0.25]], [[0.0], [-0.5]])

    def bins(self, size):
        return [[-1] * (size + 1), [count % 2 for count in range(size + 1)]]


POTENTIALS = [
    AtLeastPotential(),
    *(AtLeastPotential(fraction) for fraction in (0.1, 0.2, 0.3, 0.5, 0.75, 1.0)),
    *(BinnedPotential(n_bins) for n_bins in (1, 2, 5, 10)),
    Peaked(),
    *(as_potential(rule) for rule in (AllOrNothing(), EvenOrOdd())),
]


def enumerate_labelings(scores, potential, weights):
    """Return all 2^m labelings of a bag and the score of each for either label of the bag."""
    size = len(scores)
    table, bins = np.array(potential.table(size)), np.array(potential.bins(size))
    labelings = np.array(list(itertools.product([0, 1], repeat=size)))
    of_count = table + np.append(weights, 0.0)[bins]  # (2, m + 1)
    return labelings, labelings @ scores + of_count[:, labelings.sum(axis=1)]
