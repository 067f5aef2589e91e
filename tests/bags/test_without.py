"""Bags without each of their instances: reductions that are updated against ones computed anew."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise import Bags
from bagwise.bags.without import (
    max_without_each,
    reduce_without_each,
    score_without_each,
    sum_without_each,
)
from bagwise.rowstores import base

SIZES = st.lists(st.integers(1, 6), min_size=1, max_size=6)


def by_hand(reduce, values, sizes):
    rows = []
    for part in np.split(values, np.cumsum(sizes)[:-1]):
        for i in range(len(part)):
            rows.append(reduce(np.delete(part, i, axis=0) if len(part) > 1 else part, axis=0))
    return np.array(rows)


@given(
    sizes=SIZES,
    block=st.sampled_from([1, 7, 10**6]),
    columns=st.integers(1, 3),
    ties=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_sums_and_maxima_of_the_others(sizes, block, columns, ties, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(sum(sizes), columns)) + 1e9 * (rng.random((sum(sizes), 1)) < 0.1)
    values = np.round(values) if ties else values
    offsets = np.cumsum([0, *sizes])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base, "BLOCK_BYTES", 8 * block)
        largest, sums = max_without_each(values, offsets), sum_without_each(values, offsets)
        again = reduce_without_each(
            lambda part, cuts: np.maximum.reduceat(part, cuts[:-1]), values, offsets
        )
    expected = by_hand(np.max, values, sizes)
    np.testing.assert_array_equal(largest, expected)
    np.testing.assert_array_equal(again, expected)
    # A large value that is left out leaves no rounding behind.
    scale = by_hand(lambda part, axis: np.abs(part).max(axis), values, sizes)
    assert np.all(np.abs(sums - by_hand(np.sum, values, sizes)) <= 1e-14 * np.maximum(1, scale))


@pytest.mark.parametrize("block", [1, 10, 10**6])
def test_bags_keep_their_attributes_without_an_instance(block, monkeypatch):
    monkeypatch.setattr(base, "BLOCK_BYTES", 8 * block)
    bags = Bags(
        np.arange(6.0)[:, None],
        [0, 3, 4, 6],
        ids=["a", "b", "c"],
        instance_ids=list("uvwxyz"),
        groups=[1, 2, 3],
        bag_features=[[1.0], [2.0], [3.0]],
        priors=[0.1, 0.2, 0.3],
        feature_names=["f"],
    )
    seen = []

    def score(some):
        seen.extend(
            (str(i), float(p), "".join(some.instance_ids[a:b]), part.ravel().tolist())
            for i, p, a, b, part in zip(
                some.ids, some.priors, some.offsets[:-1], some.offsets[1:], some, strict=True
            )
        )
        assert list(some.feature_names) == ["f"]
        return some.bag_features[:, 0] + some.priors

    scores = score_without_each(score, bags)
    assert seen == [
        ("a", 0.1, "vw", [1.0, 2.0]),
        ("a", 0.1, "uw", [0.0, 2.0]),
        ("a", 0.1, "uv", [0.0, 1.0]),
        ("c", 0.3, "z", [5.0]),
        ("c", 0.3, "y", [4.0]),
    ]
    np.testing.assert_allclose(scores[[0, 1, 2, 4, 5]], [1.1, 1.1, 1.1, 3.3, 3.3])


def test_bags_of_one_are_scored_as_they_are():
    bags = Bags(np.arange(3.0)[:, None], [0, 1, 2, 3])
    np.testing.assert_array_equal(score_without_each(lambda b: b.X[:, 0], bags), [0, 1, 2])
