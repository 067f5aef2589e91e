"""Rows that are touched ahead of a pass."""

import threading

import numpy as np
import pytest

from bagwise.designs.dense import Dense
from bagwise.designs.swept import Labels, Swept
from bagwise.rowstores import blocks
from bagwise.rowstores.ahead import Ahead


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "LARGE_SELECTION", 1 << 14)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 13)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(6000, 8)))
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def labeled(X):
    positive = np.arange(60) % 2 == 0
    offsets = np.arange(0, 6001, 100)
    rows = Swept(Dense(X), Labels(offsets, positive, np.ones(60), 1.0, rest_is_negative=True))
    rows.assignment = np.full(3000, 0.5)
    return rows


def test_it_does_not_change_a_bit(mapped):
    coef = np.linspace(-1, 1, 8)
    ahead_of, plain = (labeled(X).sweep(coef, 0.1) for X in (mapped, np.array(mapped)))
    assert ahead_of.risk == plain.risk
    np.testing.assert_array_equal(ahead_of.hessian, plain.hessian)
    np.testing.assert_array_equal(ahead_of.rise, plain.rise)


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
    rows = labeled(mapped)
    with pytest.raises(ValueError, match="matmul"):
        rows.sweep(np.zeros(3), 0.0)
    assert threading.active_count() == before
