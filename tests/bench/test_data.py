"""Data sets of a benchmark: every source gives bags, wrong options are named."""

import numpy as np
import pytest

from bagwise.bench.data import load_data
from bagwise.bench.run import run
from bagwise.bench.spec import DataEntry
from bagwise.bench.splits import Protocol
from bagwise.datasets import make_gaussian_bags
from bagwise.io import write
from bench_cases import small


def test_bags_drawn_with_a_wrong_option_are_named(tmp_path):
    data = [{"name": "toy", "source": "toy2d", "options": {"color": 1}}]
    with pytest.raises(ValueError, match=r"options of data set 'toy' are wrong: .*color"):
        run(small(data=data), tmp_path)


def test_draws_are_seeded_and_differ():
    entry, protocol = DataEntry("toy", "toy2d"), Protocol("fresh", train=6, test=4, seed=3)
    first, again, other = (load_data(entry, protocol, draw) for draw in (0, 0, 1))
    assert len(first.bags) == 10
    np.testing.assert_array_equal(first.bags.X, again.bags.X)
    assert first.key == again.key != other.key
    assert not np.array_equal(first.bags.X, other.bags.X)


def test_thinned_data_keep_the_smallest_bags_of_every_class():
    bags, y = make_gaussian_bags(n_bags=60, random_state=0)
    data = load_data(DataEntry("g", "gaussian", {"n_bags": 60}, thin=24), Protocol())
    assert np.bincount(data.y).tolist() == [12, 12]
    for label in (0, 1):
        assert data.bags.sizes[data.y == label].max() <= np.sort(bags.sizes[y == label])[12]


def test_files_are_read_with_their_options(tmp_path):
    bags, y = make_gaussian_bags(n_bags=8)
    write(tmp_path / "a.csv", bags, y)
    data = load_data(DataEntry("mine", "file", {"path": tmp_path / "a.csv"}), Protocol())
    np.testing.assert_allclose(data.bags.X, bags.X)
    with pytest.raises(ValueError, match=r"'mine' is a file: options.path must name it"):
        load_data(DataEntry("mine", "file"), Protocol())
    write(tmp_path / "b.csv", bags)
    with pytest.raises(ValueError, match="'mine' has no labels: name their column"):
        load_data(DataEntry("mine", "file", {"path": tmp_path / "b.csv"}), Protocol())
