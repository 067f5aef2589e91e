"""Reductions within bags against plain loops over the bags."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import logsumexp, softmax

from bagwise.bags.segments import (
    bag_index,
    bag_of_row,
    expand,
    offsets_of,
    segment_argmax,
    segment_logsumexp,
    segment_max,
    segment_mean,
    segment_rank,
    segment_softmax,
    segment_sum,
)

ORDINARY = st.floats(-50, 50) | st.sampled_from([0.0, -0.0, 1.0])
COLUMNS = st.sampled_from([None, 1, 3])
EXTREME = ORDINARY | st.sampled_from([1e300, -1e300, 1.7e308, -1.7e308, 1e-300, -np.inf])


@st.composite
def ragged(draw, elements=ORDINARY, columns=COLUMNS):
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=7))
    offsets = offsets_of(sizes)
    width = draw(columns)
    shape = (sum(sizes),) if width is None else (sum(sizes), width)
    return draw(hnp.arrays(np.float64, shape, elements=elements)), offsets


def bag_by_bag(function, values, offsets):
    """Apply a function of one bag's column to every bag and column."""
    flat = values.reshape(len(values), -1)
    bags = [flat[a:b] for a, b in pairwise(offsets)]
    rows = [np.stack([function(column) for column in bag.T], axis=-1) for bag in bags]
    joined = np.concatenate([np.atleast_2d(r) for r in rows])
    return joined[:, 0] if values.ndim == 1 else joined


REDUCTIONS = [
    (segment_max, np.max),
    (segment_sum, np.sum),
    (segment_mean, np.mean),
    (segment_argmax, np.argmax),
    (segment_logsumexp, logsumexp),
]
RANK = lambda column: np.argsort(np.argsort(-column, kind="stable"))  # noqa: E731
WITHIN = [(segment_softmax, softmax), (segment_rank, RANK)]


@pytest.mark.parametrize(("segment", "naive"), REDUCTIONS + WITHIN, ids=lambda f: f.__name__)
@given(data=ragged())
def test_agrees_with_a_loop_over_the_bags(segment, naive, data):
    values, offsets = data
    np.testing.assert_allclose(
        segment(values, offsets), bag_by_bag(naive, values, offsets), rtol=1e-12, atol=1e-12
    )


@given(data=ragged(EXTREME))
def test_ranks_follow_the_stable_decreasing_sort_of_every_bag(data):
    np.testing.assert_array_equal(segment_rank(*data), bag_by_bag(RANK, *data))


@pytest.mark.filterwarnings("error")
@given(data=ragged(EXTREME))
def test_softmax_of_extreme_values_is_a_distribution_on_the_largest(data):
    values, offsets = data
    weights = segment_softmax(values, offsets)
    np.testing.assert_allclose(segment_sum(weights, offsets), 1.0, rtol=1e-12)
    assert np.all(weights >= 0)
    is_top = values == expand(segment_max(values, offsets), offsets)
    heaviest = expand(segment_max(weights, offsets), offsets)
    np.testing.assert_array_equal(weights[is_top], heaviest[is_top])


@pytest.mark.filterwarnings("error")
@given(data=ragged(EXTREME))
def test_logsumexp_of_extreme_values_lies_between_its_bounds(data):
    values, offsets = data
    top, total = segment_max(values, offsets), segment_logsumexp(values, offsets)
    count = np.log(np.diff(offsets)).reshape((-1,) + (1,) * (values.ndim - 1))
    assert np.all(total >= top)
    assert np.all(total <= top + count + 1e-12 * np.abs(np.where(np.isfinite(top), top, 0)) + 1e-12)


@pytest.mark.filterwarnings("error")
def test_infinities_in_softmax_and_logsumexp():
    values = np.array([-np.inf, -np.inf, 3.0, -np.inf, np.inf, 1.0, np.inf, -np.inf])
    offsets = np.array([0, 2, 4, 7, 8])
    np.testing.assert_array_equal(
        segment_softmax(values, offsets), [0.5, 0.5, 1.0, 0.0, 0.5, 0.0, 0.5, 1.0]
    )
    np.testing.assert_array_equal(
        segment_logsumexp(values, offsets), [-np.inf, 3.0, np.inf, -np.inf]
    )


def test_nan_stays_in_its_bag():
    values, offsets = np.array([np.nan, 1.0, 2.0, 2.0]), np.array([0, 2, 4])
    np.testing.assert_array_equal(segment_softmax(values, offsets), [np.nan, np.nan, 0.5, 0.5])
    np.testing.assert_allclose(segment_logsumexp(values, offsets), [np.nan, 2 + np.log(2)])
    np.testing.assert_array_equal(segment_argmax(values[::-1], offsets), [0, 1])


@pytest.mark.parametrize(("segment", "naive"), REDUCTIONS + WITHIN, ids=lambda f: f.__name__)
def test_no_bags_give_an_empty_answer(segment, naive):
    assert segment(np.empty((0, 2)), np.array([0])).shape == (0, 2)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64])
def test_labels_can_be_counted_and_sorted(dtype):
    labels, offsets = np.array([0, 1, 1, 1, 0], dtype=dtype), np.array([0, 3, 5])
    np.testing.assert_array_equal(segment_sum(labels, offsets), [2, 1])
    np.testing.assert_array_equal(segment_rank(labels, offsets), [2, 0, 1, 0, 1])


def test_float32_scores_stay_float32():
    values, offsets = np.array([1, 2, 3], dtype=np.float32), np.array([0, 2, 3])
    for function in (segment_max, segment_softmax, segment_logsumexp):
        assert function(values, offsets).dtype == np.float32


@given(data=ragged(columns=st.just(None)))
def test_expand_and_bag_index(data):
    values, offsets = data
    bags = np.arange(len(offsets) - 1)
    np.testing.assert_array_equal(bag_index(offsets), expand(bags, offsets))
    np.testing.assert_array_equal(np.bincount(bag_index(offsets)), np.diff(offsets))
    assert expand(np.stack([bags, bags], axis=1), offsets).shape == (len(values), 2)


@given(sizes=st.lists(st.integers(1, 6), max_size=7))
def test_offsets_and_the_bag_of_a_row(sizes):
    offsets = offsets_of(sizes)
    assert (offsets[0], offsets[-1], offsets.dtype) == (0, sum(sizes), np.int64)
    np.testing.assert_array_equal(np.diff(offsets), sizes)
    found = [bag_of_row(row, offsets) for row in range(sum(sizes))]
    np.testing.assert_array_equal(found, bag_index(offsets))
