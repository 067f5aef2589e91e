"""Points in the plane, shifted Gaussians and molecules keep the rules they state."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from bagwise.bags.segments import segment_sum
from bagwise.datasets import (
    load_digits_bags,
    load_webkb,
    make_gaussian_bags,
    make_graph_bags,
    make_molecule_bags,
    make_slide_bags,
    make_toy2d,
)
from bagwise.io import _files

SETTINGS = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**31)


def _counts(bags):
    return segment_sum(bags.instance_labels, bags.offsets)


@SETTINGS
@given(seed=SEEDS, tenths=st.integers(1, 10))
@pytest.mark.parametrize("region", ["disc", "band", "quadrants"])
def test_toy2d_fraction_is_rounded_up(region, seed, tenths):
    bags, y = make_toy2d(n_bags=40, fraction=tenths / 10, region=region, random_state=seed)
    expected = np.where(y == 1, -(-tenths * bags.sizes // 10), 0)
    np.testing.assert_array_equal(_counts(bags), expected)
    assert bags.sizes.max() <= 10
    assert np.abs(bags.X).max() <= 3


def test_toy2d_regions_hold_their_points():
    bags, _ = make_toy2d(n_bags=200, region=lambda p: p[:, 0] > 2)
    np.testing.assert_array_equal(bags.instance_labels == 1, bags.X[:, 0] > 2)
    with pytest.raises(ValueError, match="positive region is"):
        make_toy2d(region=lambda p: np.zeros(len(p), bool))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_gaussian_bags(dtype):
    bags, y = make_gaussian_bags(
        n_bags=2000, n_features=3, shift=4, direction=[0, 1, 0], positive_fraction=0.1, dtype=dtype
    )
    assert bags.dtype == dtype
    assert y.sum() == 200
    witnesses = np.asarray(bags.X, np.float64)[bags.instance_labels == 1]
    background = np.asarray(bags.X, np.float64)[bags.instance_labels == 0]
    np.testing.assert_allclose(witnesses.mean(axis=0), [0, 4, 0], atol=0.2)
    np.testing.assert_allclose(background.mean(axis=0), 0, atol=0.05)
    expected = np.maximum(1, np.rint(0.2 * bags.sizes)) * y
    np.testing.assert_array_equal(_counts(bags), expected)


def test_one_conformation_of_an_active_molecule_fits():
    bags, y = make_molecule_bags(50, 12, n_binding=4, positive_fraction=0.4, random_state=1)
    np.testing.assert_array_equal(segment_sum(bags.instance_labels, bags.offsets), y)
    assert int(y.sum()) == 20
    fitting = bags.X[bags.instance_labels == 1, :4]
    assert np.abs(fitting).mean() == pytest.approx(2.0, abs=0.1)
    assert fitting.std(axis=0).max() < 0.6


def test_gaussian_blocks_change_nothing(monkeypatch):
    whole, _ = make_gaussian_bags(n_bags=50, n_features=7)
    monkeypatch.setattr(_files, "BLOCK_BYTES", 800)
    blocked, _ = make_gaussian_bags(n_bags=50, n_features=7)
    np.testing.assert_array_equal(whole.X, blocked.X)


@pytest.mark.parametrize(
    "make",
    [
        *(load_digits_bags, make_toy2d, make_gaussian_bags),
        *(make_graph_bags, make_molecule_bags, make_slide_bags),
    ],
)
def test_same_seed_same_bits(make):
    one, other, third = (make(n_bags=20, random_state=s) for s in (3, 3, 4))
    values = [np.asarray(b[0].X.data).tobytes() for b in (one, other, third)]
    assert values[0] == values[1] != values[2]
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (make_toy2d, {"region": "star"}, r"region must be one of \['disc', 'band', 'quadrants'\]"),
        (make_toy2d, {"fraction": 0}, r"fraction must be in \(0, 1\]"),
        (make_gaussian_bags, {"direction": [0, 0], "n_features": 2}, "2 numbers, not all zero"),
        (make_gaussian_bags, {"witness_rate": 1.5}, r"witness_rate must be in \(0, 1\]"),
        (make_slide_bags, {"witness_rate": 0.0}, r"witness_rate must be in \(0, 1\], got 0"),
        (make_molecule_bags, {"n_features": 5, "n_binding": 6}, "between 1 and 5, got 6"),
        (make_graph_bags, {"n_bags": 100, "degree": 60}, "degree 60 is too large"),
        (load_digits_bags, {"rule": "most"}, "rule must be one of"),
        (load_digits_bags, {"digit": 10}, "digit must be one of"),
        (load_digits_bags, {"subset": "valid"}, "subset must be one of"),
        (load_digits_bags, {"witness_rate": 0}, r"witness_rate must be in \(0, 1\]"),
        (load_digits_bags, {"label_noise": 2}, r"label_noise must be in \[0, 1\]"),
        (load_webkb, {"task": "staff"}, "task must be one of"),
        (load_webkb, {"window": 0}, "at least 1 token"),
    ],
)
def test_wrong_options_are_named(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_options_of_an_earlier_version_are_named():
    with pytest.raises(TypeError, match=r"'context' since version 0\.3\. Title, address"):
        load_webkb(context="none")
    with pytest.raises(TypeError, match="load_webkb has no parameter 'windows'"):
        load_webkb(windows=3)
