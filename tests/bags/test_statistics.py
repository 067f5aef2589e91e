"""Statistics of bags; their values against NumPy's are tested with `BagStatistics`."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import Bags
from bagwise.bags import statistics as module
from bagwise.bags.statistics import check_statistics, column_names, statistics


def test_names_are_checked_and_presets_spelled_out():
    assert check_statistics("four") == ("mean", "std", "min", "max")
    assert check_statistics(["q2.5", "size"]) == ("q2.5", "size")
    with pytest.raises(ValueError, match="must be 'four' or 'quantiles', or a list"):
        check_statistics("five")
    with pytest.raises(ValueError, match="'mode'"):
        check_statistics(["mean", "mode"])


def test_columns_have_names():
    assert list(column_names(["max", "size"], ["a", "b"])) == ["max_a", "max_b", "size"]


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, 40))])
    bags = Bags(rng.normal(size=(offsets[-1], 3)), offsets)
    expected = statistics(bags, check_statistics("quantiles"))
    monkeypatch.setattr(module, "_BLOCK", 7)
    np.testing.assert_array_equal(statistics(bags, check_statistics("quantiles")), expected)
