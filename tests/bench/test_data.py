"""Data sets of a benchmark."""

import numpy as np

from bagwise.bench.data import load_data
from bagwise.bench.spec import DataEntry
from bagwise.bench.splits import Protocol


def test_draws_are_seeded_and_differ():
    entry, protocol = DataEntry("toy", "toy2d"), Protocol("fresh", train=6, test=4, seed=3)
    first, again, other = (load_data(entry, protocol, draw) for draw in (0, 0, 1))
    assert len(first.bags) == 10
    np.testing.assert_array_equal(first.bags.X, again.bags.X)
    assert not np.array_equal(first.bags.X, other.bags.X)
