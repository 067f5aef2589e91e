"""Statistics of bags; their values against NumPy's are tested with `BagStatistics`."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise import Bags
from bagwise.bags.statistics import check_statistics, statistics, statistics_without_each
from bagwise.rowstores import base


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 6, 40))])
    bags = Bags(rng.normal(size=(offsets[-1], 3)), offsets)
    expected = statistics(bags, check_statistics("quantiles"))
    monkeypatch.setattr(base, "BLOCK_BYTES", 8 * 7)
    np.testing.assert_array_equal(statistics(bags, check_statistics("quantiles")), expected)


NAMES = ("mean", "std", "min", "max", "q10", "q50", "q97.5", "size")


def by_hand(bags):
    """Compute the statistics of every bag without each of its instances anew."""
    rows = []
    for bag in bags:
        bag = bag.toarray() if sp.issparse(bag) else bag
        for i in range(len(bag)):
            left = np.delete(bag, i, axis=0) if len(bag) > 1 else bag
            rows.append((statistics(Bags.from_list([left]), NAMES)[0], np.abs(left).max()))
    return (np.array(part) for part in zip(*rows, strict=True))


def values(rng, shape, kind):
    return {
        "normal": rng.normal(size=shape),
        "ties": rng.integers(0, 3, shape).astype(float),
        "outliers": rng.normal(size=shape) + 1e7 * (rng.random(shape) < 0.2),
        "offset": 1e6 + rng.normal(size=shape),
        "equal": np.full(shape, 0.1),
    }[kind]


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    kind=st.sampled_from(["normal", "ties", "outliers", "offset", "equal"]),
    sparse=st.booleans(),
    block=st.sampled_from([1, 40, 10**6]),
    seed=st.integers(0, 10**6),
)
def test_statistics_are_updated_as_if_computed_anew(sizes, kind, sparse, block, seed):
    X = values(np.random.default_rng(seed), (sum(sizes), 2), kind)
    bags = Bags(sp.csr_array(X) if sparse else X, np.cumsum([0, *sizes]))
    found = np.full((len(X), 2 * (len(NAMES) - 1) + 1), np.nan)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "BLOCK_BYTES", 8 * block)
        for rows, part in statistics_without_each(bags, NAMES):
            assert sp.issparse(part) == sparse
            found[rows] = part.toarray() if sparse else part
    expected, scale = by_hand(bags)
    assert np.all(np.abs(found - expected) <= 1e-13 * np.maximum(1e-3, scale)[:, None])


def test_many_rows_and_names_twice():
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(103, 3)), [0, 100, 103])
    names = ("q50", "min", "q50", "size", "q10")
    ((_, found),) = statistics_without_each(bags, names)
    for k in (0, 57, 99, 101):
        start, stop = (0, 100) if k < 100 else (100, 103)
        left = Bags.from_list([np.delete(bags.X[start:stop], k - start, axis=0)])
        np.testing.assert_allclose(found[k], statistics(left, names)[0], rtol=1e-14)
