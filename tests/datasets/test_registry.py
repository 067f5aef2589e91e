"""The data sets hold what the registry says."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.datasets import fetch
from bagwise.datasets.registry import DATASETS, SHA256

needs_data = pytest.mark.usefixtures("data_dir")

# bags, positive bags, instances, features, smallest and largest bag
COUNTS = {
    "musk1": (92, 47, 476, 166, 2, 40),
    "musk2": (102, 39, 6598, 166, 1, 1044),
    "elephant": (200, 100, 1391, 230, 2, 13),
    "fox": (200, 100, 1320, 230, 2, 13),
    "tiger": (200, 100, 1220, 230, 1, 13),
    "protein": (193, 25, 26611, 9, 35, 189),
    "newsgroups": (100, 50, 1982, 200, 8, 38),
}


@needs_data
@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    bags, y = fetch(name)
    sizes = bags.sizes
    found = (len(bags), int(y.sum()), bags.n_instances, bags.n_features, sizes.min(), sizes.max())
    assert found == COUNTS[name]
    assert y.dtype == np.int64
    assert set(y) == {0, 1}
    dataset = DATASETS[name]
    assert found[:4] == (
        dataset.n_bags,
        dataset.n_positive,
        dataset.n_instances,
        dataset.n_features,
    )


@needs_data
@pytest.mark.parametrize("name", ["diabetes_13", "spam_12", "spam_23", "spam_110"])
def test_sets_with_instance_labels(name):
    bags, y = fetch(name)
    dataset = DATASETS[name]
    assert (len(bags), int(y.sum())) == (dataset.n_bags, dataset.n_positive)
    assert (bags.n_instances, bags.n_features) == (dataset.n_instances, dataset.n_features)
    positive, size = int(name.split("_")[1][0]), int(name.split("_")[1][1:])
    assert set(bags.sizes) == {size}
    counts = np.add.reduceat(bags.instance_labels, bags.offsets[:-1])
    np.testing.assert_array_equal(counts, positive * y)


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
