"""`fetch` and `catalog`: names, options, and which data sets are present."""

import pytest

from bagwise.datasets import catalog, fetch
from bagwise.datasets.registry import DATASETS


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
