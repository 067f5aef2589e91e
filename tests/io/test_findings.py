"""What is said about bags before a model sees them, on data with known defects."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import Bags
from bagwise.io import _limits
from bagwise.io.findings import look_at


def flawed(store=np.asarray):
    X = np.random.default_rng(0).normal(size=(12, 4))
    X[:, 1] = 7.0
    X[:, 2] *= 1e5
    X[8] = X[1]  # in bags 0 and 2, of the same group
    X[11] = X[5]  # in bags 1 and 3, of two groups
    return Bags(store(X), [0, 3, 6, 9, 12], groups=["p", "p", "p", "q"], feature_names=list("abcd"))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_defects_are_found(store, block, monkeypatch):
    monkeypatch.setattr(_limits, "BLOCK_BYTES", block)
    found = look_at(flawed(store), ["x", "y", "x", "x"])
    assert (found.n_bags, found.n_instances, found.n_features) == (4, 12, 4)
    assert found.sizes == (3, 3, 3)
    assert found.labels == {"x": 3, "y": 1}
    assert found.n_groups == 2
    assert (found.missing, found.constant) == ({}, ["b"])
    assert found.far is not None
    assert found.far[1] == "c"
    assert (found.shared, found.shared_across_groups) == (4, 2)


def test_missing_values_are_counted_by_feature():
    bags = flawed()
    X = np.array(bags.X)
    X[:5, 0] = np.nan
    X[:, 3] = np.nan
    found = look_at(bags.replace(X=X))
    assert found.missing == {"a": 5, "d": 12}
    assert found.constant == ["b", "d"]
    assert found.labels == {}


def test_good_data_have_no_findings():
    found = look_at(Bags(np.random.default_rng(0).normal(size=(6, 2)), [0, 3, 6]))
    assert (found.missing, found.constant, found.far, found.shared) == ({}, [], None, 0)
    assert found.n_groups == 0


def test_a_feature_that_numbers_the_rows_of_bags_is_a_counter():
    number = np.array([1, 2, 3, 2, 1, 1, 2, 3, 4])
    almost = np.array([1, 2, 3, 2, 1, 1, 2, 4, 4])
    X = np.column_stack([number, almost, number * 1.5, np.zeros(9), number - 1])
    assert look_at(Bags(X.astype(float), [0, 3, 5, 9])).counters == ["f1", "f5"]
    assert look_at(Bags(X.astype(float), [0, 4, 5, 9])).counters == []
    assert look_at(Bags(X[:3].astype(float), [0, 1, 2, 3])).counters == []
