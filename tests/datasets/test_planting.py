"""What the generators share: sizes, labels, counts and places."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.bags.segments import offsets_of, segment_sum
from bagwise.datasets._planting import draw_sizes, plant

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("bag_size", "expected"),
    [
        (3, [3, 3, 3, 3]),
        ([1, 2, 3, 4], [1, 2, 3, 4]),
        (lambda rng, n: np.arange(n) + 1, [1, 2, 3, 4]),
        ((5, 5), [5, 5, 5, 5]),
    ],
)
def test_sizes_of_every_form(bag_size, expected):
    sizes = draw_sizes(bag_size, 4, RNG(0))
    np.testing.assert_array_equal(sizes, expected)
    assert sizes.dtype == np.int64


@pytest.mark.parametrize(
    ("bag_size", "n_bags", "message"),
    [
        ((0, 3), 4, "range of at least 1"),
        ((3, 2), 4, "range of at least 1"),
        ([1, 2, 3], 4, "one size per bag"),
        (1.5, 4, "4 integers of at least 1"),
        (0, 4, "4 integers of at least 1"),
        (3, 0, "n_bags must be at least 1"),
    ],
)
def test_bad_sizes_are_refused(bag_size, n_bags, message):
    with pytest.raises(ValueError, match=message):
        draw_sizes(bag_size, n_bags, RNG(0))


@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_as_many_instances_are_marked_as_asked_for(sizes, seed):
    counts = np.array([seed % (size + 1) for size in sizes])
    marked = plant(offsets_of(sizes), counts, RNG(seed))
    np.testing.assert_array_equal(segment_sum(marked.astype(int), offsets_of(sizes)), counts)
