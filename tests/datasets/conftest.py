"""Folders for the tests of data sets."""

import pytest


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Return a folder on a computer without data sets, whose cache is empty."""
    monkeypatch.delenv("BAGWISE_DATA", raising=False)
    monkeypatch.setenv("BAGWISE_CACHE", str(tmp_path / "cache"))
    return tmp_path
