"""Data sets of a benchmark: draws and thinning."""

import numpy as np

from bagwise.bench.data import load_data
from bagwise.bench.spec import DataEntry
from bagwise.bench.splits import Protocol
from bagwise.datasets import make_gaussian_bags


def test_draws_are_seeded_and_differ():
    entry, protocol = DataEntry("toy", "toy2d"), Protocol("fresh", train=6, test=4, seed=3)
    first, again, other = (load_data(entry, protocol, draw) for draw in (0, 0, 1))
    assert len(first.bags) == 10
    np.testing.assert_array_equal(first.bags.X, again.bags.X)
    assert not np.array_equal(first.bags.X, other.bags.X)


def test_thinned_data_keep_the_smallest_bags_of_every_class():
    bags, y = make_gaussian_bags(n_bags=60, random_state=0)
    data = load_data(DataEntry("g", "gaussian", {"n_bags": 60}, thin=24), Protocol())
    assert np.bincount(data.y).tolist() == [12, 12]
    for label in (0, 1):
        assert data.bags.sizes[data.y == label].max() <= np.sort(bags.sizes[y == label])[12]
