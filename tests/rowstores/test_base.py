"""The memory that there is."""

import threading

import numpy as np
import pytest

from bagwise import WitnessSVC
from bagwise.rowstores import base
from bagwise.rowstores.base import map_ranges, read_ahead
from bagwise.testing._problems import planted_bags


def test_a_container_has_the_memory_that_it_may_use(monkeypatch, tmp_path):
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("123456\n")
    files = str(tmp_path / "max"), str(tmp_path / "limit"), str(tmp_path / "none")
    monkeypatch.setattr(base, "_CGROUPS", files)
    assert base.memory_limit() == 123456
    monkeypatch.setattr(base, "_CGROUPS", files[:1])
    assert base.memory_limit() > 2**28


def test_a_system_that_does_not_tell_its_memory_is_trusted(monkeypatch):
    monkeypatch.delattr(base.os, "sysconf")
    assert base.memory_limit() == np.inf
    WitnessSVC().fit(*planted_bags())


def test_what_others_use_is_not_available(monkeypatch, tmp_path):
    monkeypatch.setattr(base, "memory_limit", lambda: 4.0e6)
    monkeypatch.setattr(base, "_MEMINFO", tmp_path / "meminfo")
    assert base.available_memory() == 2.0e6  # nobody tells
    (tmp_path / "meminfo").write_text("MemTotal:  9 kB\nMemAvailable:    1000 kB\n")
    assert base.available_memory() == 1024000
    (tmp_path / "meminfo").write_text("MemAvailable:    9000000 kB\n")
    assert base.available_memory() == 4.0e6
    monkeypatch.setattr(base.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(base, "parent_process", object)
    assert base.available_memory() == 1.0e6  # one of several processes


@pytest.fixture
def mapped(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "LARGE_SELECTION", 1 << 14)
    monkeypatch.setattr(base, "BLOCK_BYTES", 1 << 13)
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(6000, 8)))
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def ranges(X):
    return (slice(i, i + 100) for i in range(0, len(X), 100))


def test_it_does_not_change_a_bit(mapped):
    found = map_ranges(mapped, ranges(mapped), lambda rows: mapped[rows].sum())
    assert found == [mapped[rows].sum() for rows in ranges(mapped)]


def test_it_stays_a_little_ahead(mapped, monkeypatch):
    """It waits for the reader, and touches every page once the reader comes near."""
    touched = []

    class Watched(np.ndarray):
        def __getitem__(self, key):
            touched.append(key.start)
            return np.asarray(self)[key]

    plain = base._pages_of
    monkeypatch.setattr(base, "_pages_of", lambda X: plain(X).view(Watched))
    with read_ahead(mapped) as advance:
        for row in range(0, 6001, 50):
            advance(row)
            assert all(start < row * 64 + base.LARGE_SELECTION for start in list(touched))
    assert touched == sorted(touched)


def test_the_thread_ends_with_the_pass(mapped):
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        map_ranges(mapped, ranges(mapped), lambda rows: 1 // rows.start)
    assert threading.active_count() == before
