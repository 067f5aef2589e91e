"""Slides keep the rules they state: sizes, rates, places on a grid, connected tumors."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.ndimage import label

from bagwise.bags.segments import segment_sum
from bagwise.datasets import make_slide_bags


def n_parts(coords):
    """Count the connected parts of places on a grid (neighbors share an edge)."""
    places = coords // 256
    image = np.zeros(places.max(axis=0) + 1, dtype=int)
    image[tuple(places.T)] = 1
    assert image.sum() == len(coords)  # no two patches in one place
    return label(image)[1]


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), rate=st.sampled_from([0.01, 0.1, 1.0]))
def test_tissue_and_tumor_are_connected_and_of_the_size_asked_for(seed, rate):
    bags, y = make_slide_bags(6, 3, bag_size=(1, 60), witness_rate=rate, random_state=seed)
    expected = np.maximum(1, np.rint(rate * bags.sizes)) * y
    np.testing.assert_array_equal(segment_sum(bags.instance_labels, bags.offsets), expected)
    for i in range(len(bags)):
        bag = bags[i : i + 1]
        assert n_parts(bag.coords) == 1
        assert n_parts(bag.coords[bag.instance_labels == 1]) == 1 if y[i] else True


def test_the_tumor_is_shifted_by_what_was_asked_for():
    bags, _ = make_slide_bags(
        40, 8, bag_size=200, witness_rate=0.5, shift=5, stain=0, dtype="float64"
    )
    tumor = bags.instance_labels == 1
    distance = np.linalg.norm(bags.X[tumor].mean(axis=0) - bags.X[~tumor].mean(axis=0))
    assert distance == pytest.approx(5, abs=0.7)  # the mix of tissues differs a little


def test_slides_are_ragged_and_half_precision():
    bags, y = make_slide_bags(12, positive_fraction=0.25, random_state=3)
    assert (bags.dtype, int(y.sum())) == (np.float16, 3)
    assert len(set(bags.sizes.tolist())) > 6
    assert bags[3:5].ids.tolist() == ["slide-003", "slide-004"]
