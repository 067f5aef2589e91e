"""The data sets hold what the registry says."""

import numpy as np
import pytest

from bagwise.datasets import fetch
from bagwise.datasets.registry import DATASETS, SHA256

needs_data = pytest.mark.usefixtures("data_dir")

# smallest and largest bag
SIZES = {
    **{"musk1": (2, 40), "musk2": (1, 1044), "protein": (35, 189), "newsgroups": (8, 38)},
    **{"elephant": (2, 13), "fox": (2, 13), "tiger": (1, 13)},
    **{"diabetes_13": (3, 3), "spam_12": (2, 2), "spam_23": (3, 3), "spam_110": (10, 10)},
}


@needs_data
@pytest.mark.parametrize("name", SIZES)
def test_counts(name):
    bags, y = fetch(name)
    expected = DATASETS[name]
    assert (len(bags), int(y.sum())) == (expected.n_bags, expected.n_positive)
    assert (bags.n_instances, bags.n_features) == (expected.n_instances, expected.n_features)
    assert (bags.sizes.min(), bags.sizes.max()) == SIZES[name]
    assert (y.dtype, {*y.tolist()}) == (np.int64, {0, 1})
    if name.startswith(("diabetes", "spam")):  # the first digit: witnesses per positive bag
        counts = np.add.reduceat(bags.instance_labels, bags.offsets[:-1])
        np.testing.assert_array_equal(counts, int(name.split("_")[1][0]) * y)


@needs_data
def test_newsgroups_witness_rate():
    bags, _ = fetch("newsgroups")
    assert bags.instance_labels.mean() == pytest.approx(0.033, abs=0.003)  # 6.6 % of half the bags


@needs_data
def test_corel():
    bags, y = fetch("corel2000")
    assert (len(bags), bags.n_instances, bags.n_features) == (2000, 7947, 9)
    assert np.bincount(y).tolist() == [100] * 20
    first, classes = fetch("corel1000")
    assert len(first) == 1000
    assert np.bincount(classes).tolist() == [100] * 10
    np.testing.assert_array_equal(first.X, bags[y < 10].X)


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=lambda dataset: dataset.name)
def test_every_file_has_a_checksum(dataset):
    assert {len(SHA256[file]) for file in dataset.files} == {64}
    assert dataset.in_wheel is None or len(SHA256[dataset.in_wheel]) == 64
