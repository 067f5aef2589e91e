"""Rows that are touched ahead of a pass."""

import threading

import numpy as np
import pytest

from bagwise.rowstores import blocks
from bagwise.rowstores.ahead import Ahead, map_ranges


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LARGE_SELECTION", 1 << 14)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 13)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(6000, 8)))
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def ranges(X):
    return (slice(i, i + 100) for i in range(0, len(X), 100))


def test_it_does_not_change_a_bit(mapped):
    found = map_ranges(mapped, ranges(mapped), lambda rows: mapped[rows].sum())
    assert found == [mapped[rows].sum() for rows in ranges(mapped)]


def test_it_stays_a_little_ahead(mapped):
    """It waits for the reader, and touches every page once the reader comes near."""
    touched = []

    class Watched(np.ndarray):
        def __getitem__(self, key):
            touched.append(key.start)
            return np.asarray(self)[key]

    pages = Ahead(mapped)
    pages.pages = pages.pages.view(Watched)
    with pages:
        for row in range(0, 6001, 50):
            pages.advance(row)
            assert all(start < row * 64 + blocks.LARGE_SELECTION for start in list(touched))
    assert touched == sorted(touched)


def test_the_thread_ends_with_the_pass(mapped):
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        map_ranges(mapped, ranges(mapped), lambda rows: 1 // rows.start)
    assert threading.active_count() == before
