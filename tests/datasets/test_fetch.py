"""`fetch` and `catalog`: names, options, which data sets are present, and what they hold."""

import numpy as np
import pytest

from bagwise.datasets import catalog, fetch
from bagwise.datasets.locate import DATASETS, SHA256

needs_data = pytest.mark.usefixtures("data_dir")

# positive bags, smallest and largest bag
SIZES = {
    **{"musk1": (47, 2, 40), "musk2": (39, 1, 1044), "protein": (25, 35, 189)},
    **{"elephant": (100, 2, 13), "fox": (100, 2, 13), "tiger": (100, 1, 13)},
    **{"newsgroups": (50, 8, 38), "diabetes_13": (99, 3, 3), "spam_12": (929, 2, 2)},
    **{"spam_23": (696, 3, 3), "spam_110": (146, 10, 10)},
}


def test_unknown_names_and_options():
    with pytest.raises(ValueError, match=r"There is no data set 'lion'\. Known names: musk1"):
        fetch("lion")
    with pytest.raises(ValueError, match=r"no data set 'muks1'\. Did you mean 'musk1'"):
        fetch("muks1")
    with pytest.raises(TypeError, match="takes no options, got task"):
        fetch("fox", task="student")


def test_catalog_says_what_is_present(nowhere, monkeypatch):
    entries = {entry.name: entry for entry in catalog()}
    assert set(entries) == set(DATASETS)
    assert not any(entry.present for entry in entries.values())
    assert entries["musk1"].where == "downloaded by pip on first use"
    assert "fox.csv.gz" in entries["fox"].where
    (nowhere / "fox.csv.gz").write_bytes(b"here")
    monkeypatch.setenv("BAGWISE_DATA", str(nowhere))
    (nowhere / "webkb").mkdir()
    for file in DATASETS["webkb"].files:  # a set of several files is present when all are
        assert [entry.name for entry in catalog() if entry.present] == ["fox"]
        (nowhere / file).write_bytes(b"here")
    assert [entry.name for entry in catalog() if entry.present] == ["fox", "webkb"]


@needs_data
@pytest.mark.parametrize("name", SIZES)
def test_counts(name):
    bags, y = fetch(name)
    expected = DATASETS[name]
    assert bags.shape == (expected.n_bags, expected.n_features)
    assert bags.n_instances == expected.n_instances
    assert (int(y.sum()), bags.sizes.min(), bags.sizes.max()) == SIZES[name]
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
