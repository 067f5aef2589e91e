"""Generators keep the rules they state."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from bagwise.datasets import (
    load_digits_bags,
    make_gaussian_bags,
    make_graph_bags,
    make_toy2d,
)
from bagwise.segments import segment_max, segment_sum

SETTINGS = settings(max_examples=25, deadline=None)
SEEDS = st.integers(0, 2**31)
SIZES = st.tuples(st.integers(1, 6), st.integers(0, 9)).map(lambda p: (p[0], p[0] + p[1]))


def _counts(bags):
    return segment_sum(bags.instance_labels, bags.offsets)


@SETTINGS
@given(seed=SEEDS, digit=st.integers(0, 9), sizes=SIZES, ratio=st.sampled_from([0.1, 0.3, 0.7, 1]))
@pytest.mark.parametrize("rule", ["any", "majority", "ratio"])
def test_digit_bags_follow_their_rule(rule, seed, digit, sizes, ratio):
    bags, y = load_digits_bags(
        digit, rule, n_bags=30, bag_size=sizes, ratio=ratio, random_state=seed
    )
    count, size = _counts(bags), bags.sizes
    is_positive = {
        "any": count >= 1,
        "majority": 2 * count > size,
        "ratio": (count >= ratio * size - 1e-9) & (count >= 1),
    }[rule]
    np.testing.assert_array_equal(y, is_positive)
    assert y.sum() == 15
    assert sizes[0] <= size.min() <= size.max() <= sizes[1]


def test_digit_instances_are_the_images_they_name():
    from sklearn.datasets import load_digits

    bags, _ = load_digits_bags(digit=3, n_bags=40)
    data = load_digits()
    np.testing.assert_array_equal(bags.X * 16, data.data[bags.instance_ids])
    np.testing.assert_array_equal(bags.instance_labels, data.target[bags.instance_ids] == 3)


@SETTINGS
@given(one=SEEDS, other=SEEDS)
def test_train_and_test_digits_are_disjoint(one, other):
    train, _ = load_digits_bags(subset="train", random_state=one)
    test, _ = load_digits_bags(subset="test", random_state=other)
    assert not np.intersect1d(train.instance_ids, test.instance_ids).size


def test_digit_noise():
    clean, y = load_digits_bags(n_bags=50, random_state=1)
    noisy, z = load_digits_bags(n_bags=50, random_state=1, noise=0.25, label_noise=0.2)
    assert (noisy.X - clean.X).std() == pytest.approx(0.25, rel=0.05)
    assert (y != z).sum() == 10


def test_digit_witness_rate_and_size_distribution():
    bags, y = load_digits_bags(
        n_bags=2000, witness_rate=0.4, bag_size=lambda rng, n: 1 + rng.poisson(19, n)
    )
    assert bags.sizes.mean() == pytest.approx(20, rel=0.03)
    rate = (_counts(bags) / bags.sizes)[y == 1].mean()
    assert rate == pytest.approx(0.4, rel=0.05)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rule": "most"}, "rule must be one of"),
        ({"digit": 10}, "digit must be one of"),
        ({"subset": "valid"}, "subset must be one of"),
        ({"witness_rate": 0}, r"witness_rate must lie in \(0, 1\]"),
        ({"label_noise": 2}, r"label_noise must lie in \[0, 1\]"),
        ({"bag_size": (0, 3)}, "range of at least 1"),
        ({"bag_size": [1, 2, 3]}, "one size a bag"),
        ({"n_bags": 0}, "n_bags must be at least 1"),
    ],
)
def test_wrong_options_are_named(options, says):
    with pytest.raises(ValueError, match=says):
        load_digits_bags(**options)


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


def test_gaussian_blocks_change_nothing(monkeypatch):
    from bagwise.datasets import generators

    whole, _ = make_gaussian_bags(n_bags=50, n_features=7)
    monkeypatch.setattr(generators, "_BLOCK_VALUES", 100)
    blocked, _ = make_gaussian_bags(n_bags=50, n_features=7)
    np.testing.assert_array_equal(whole.X, blocked.X)


def _text_alone(data):
    """Accuracy on the unlabelled half of a linear SVM on the bags' largest word weights."""
    words = segment_max(data.bags.X.toarray(), data.bags.offsets)
    model = LinearSVC().fit(words[data.labelled], data.y[data.labelled])
    assert model.score(words[data.labelled], data.y[data.labelled]) == 1.0
    return model.score(words[~data.labelled], data.y[~data.labelled])


def _graph_alone(data):
    """Accuracy on the unlabelled half of the labelled neighbours' majority."""
    votes = np.zeros(len(data.y))
    sign = np.where(data.labelled, 2 * data.y - 1, 0)
    for here, there in (data.edges.T, data.edges.T[::-1]):
        np.add.at(votes, here, sign[there])
    return ((votes > 0) == data.y)[~data.labelled].mean()


@pytest.mark.parametrize("seed", range(3))
def test_graph_bags_are_learned_by_the_graph_and_not_by_the_text(seed):
    data = make_graph_bags(homophily=1.0, random_state=seed)
    assert _text_alone(data) <= 0.8
    assert _graph_alone(data) >= 0.98
    assert _graph_alone(make_graph_bags(homophily=0.5, random_state=seed)) <= 0.65


@SETTINGS
@given(seed=SEEDS, homophily=st.sampled_from([0.0, 0.3, 0.9, 1.0]))
def test_planted_graph(seed, homophily):
    data = make_graph_bags(n_bags=200, homophily=homophily, degree=4, random_state=seed)
    source, target = data.edges.T
    assert np.all(np.bincount(source) == 4)
    assert len(np.unique(data.edges, axis=0)) == len(data.edges)
    assert np.all(source != target)
    assert (data.y[source] == data.y[target]).mean() == pytest.approx(homophily, abs=0.08)
    assert data.bags.has_ids
    assert data.bags.X.indices.dtype == np.int32
    np.testing.assert_array_equal(_counts(data.bags), data.y)


def test_graph_halves_share_only_common_words():
    data = make_graph_bags(n_marking_words=10, n_common_words=50)
    used = [np.unique(data.bags[half].X.indices) for half in (data.labelled, ~data.labelled)]
    assert np.intersect1d(*used).min() >= 40
    with pytest.raises(ValueError, match="degree 60 is too large"):
        make_graph_bags(n_bags=100, degree=60)


@pytest.mark.parametrize(
    "make", [load_digits_bags, make_toy2d, make_gaussian_bags, make_graph_bags]
)
def test_same_seed_same_bits(make):
    one, other, third = (make(n_bags=20, random_state=s) for s in (3, 3, 4))
    values = [
        b[0].X.data.tobytes() if make is make_graph_bags else b[0].X.tobytes()
        for b in (one, other, third)
    ]
    assert values[0] == values[1] != values[2]
    np.testing.assert_array_equal(one[1], other[1])
