"""The memory that there is."""

import numpy as np

from bagwise import WitnessSVC
from bagwise.rowstores import blocks
from bagwise.testing._problems import planted_bags


def test_a_container_has_the_memory_that_it_may_use(monkeypatch, tmp_path):
    (tmp_path / "max").write_text("max\n")
    (tmp_path / "limit").write_text("123456\n")
    files = str(tmp_path / "max"), str(tmp_path / "limit"), str(tmp_path / "none")
    monkeypatch.setattr(blocks, "_CGROUPS", files)
    assert blocks.memory_limit() == 123456
    monkeypatch.setattr(blocks, "_CGROUPS", files[:1])
    assert blocks.memory_limit() > 2**28


def test_a_system_that_does_not_tell_its_memory_is_trusted(monkeypatch):
    monkeypatch.delattr(blocks.os, "sysconf")
    assert blocks.memory_limit() == np.inf
    WitnessSVC().fit(*planted_bags())


def test_what_others_use_is_not_available(monkeypatch, tmp_path):
    monkeypatch.setattr(blocks, "memory_limit", lambda: 4.0e6)
    monkeypatch.setattr(blocks, "_MEMINFO", tmp_path / "meminfo")
    assert blocks.available_memory() == 2.0e6  # nobody tells
    (tmp_path / "meminfo").write_text("MemTotal:  9 kB\nMemAvailable:    1000 kB\n")
    assert blocks.available_memory() == 1024000
    (tmp_path / "meminfo").write_text("MemAvailable:    9000000 kB\n")
    assert blocks.available_memory() == 4.0e6
    monkeypatch.setattr(blocks.os, "cpu_count", lambda: 4)
    monkeypatch.setattr(blocks, "parent_process", object)
    assert blocks.available_memory() == 1.0e6  # one of several processes
