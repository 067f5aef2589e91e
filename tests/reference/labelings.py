"""All 2^m labelings of a bag."""

from __future__ import annotations

import itertools

import numpy as np


def energies(scores, potential, weights):
    """Return the energies of all labelings for either label of the bag."""
    size = len(scores)
    table, bins = np.array(potential.table(size)), np.array(potential.bins(size))
    labelings = np.array(list(itertools.product([0, 1], repeat=size)))
    prior = (table + np.append(weights, 0.0)[bins])[:, labelings.sum(axis=1)]
    return labelings @ scores + prior
