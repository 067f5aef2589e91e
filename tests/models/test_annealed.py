"""Annealed models: limits that are other models, priors, precision, storage, real data."""

import numpy as np
import pytest

from bagwise import (
    AnnealedLabelSVC,
    AnnealedProportionSVC,
    AnnealedWitnessSVC,
    Annealing,
    Bags,
    LabelSVC,
    WitnessSVC,
)
from bagwise.bags.segments import segment_sum
from bagwise.datasets import load_digits_bags, make_gaussian_bags


@pytest.fixture(scope="module")
def gaussian():
    return make_gaussian_bags(n_bags=30, shift=1.5, random_state=0)


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(n_bags=40, random_state=0)


def positives(bags, y):
    return np.repeat(y == 1, bags.sizes)


def assert_same_model(one, other, bags, rtol=1e-8):
    np.testing.assert_allclose(one.objective_, other.objective_, rtol=rtol)
    mine, theirs = one.decision_function(bags), other.decision_function(bags)
    np.testing.assert_allclose(mine, theirs, atol=1e3 * rtol)


# Limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_without_a_penalty_proportions_do_not_matter(gaussian, kernel):
    plain = AnnealedLabelSVC(kernel=kernel).fit(*gaussian)
    free = AnnealedProportionSVC(positive_fraction=0.9, C_proportion=0.0, kernel=kernel).fit(
        *gaussian
    )
    np.testing.assert_array_equal(plain.instance_weights_, free.instance_weights_)
    np.testing.assert_array_equal(plain.objective_, free.objective_)
    np.testing.assert_array_equal(plain.intercept_, free.intercept_)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("data", ["gaussian", "digits"])
def test_cold_from_the_bag_labels_it_is_label_svc(data, C, request):
    bags, y = request.getfixturevalue(data)
    cold = AnnealedLabelSVC(C=C, init="instances", annealing=Annealing(T0=1e-8)).fit(bags, y)
    plain = LabelSVC(C=C).fit(bags, y)
    np.testing.assert_allclose(cold.instance_weights_, plain.instance_weights_, atol=1e-9)
    assert_same_model(cold, plain, bags)


@pytest.mark.parametrize("C", [0.1, 1.0])
@pytest.mark.parametrize("data", ["gaussian", "digits"])
def test_cold_from_the_means_it_is_witness_svc(data, C, request):
    bags, y = request.getfixturevalue(data)
    cold = AnnealedWitnessSVC(C=C, init="mean", annealing=Annealing(T0=1e-8)).fit(bags, y)
    plain = WitnessSVC(C=C).fit(bags, y)
    beyond = plain.instance_decision_function(bags) >= 1
    assert segment_sum(1.0 * beyond, bags.offsets)[y == 1].max() <= 1  # no ties at zero loss
    np.testing.assert_array_equal(cold.instance_weights_, plain.instance_weights_)
    assert_same_model(cold, plain, bags)


def test_instances_beyond_the_margin_share_the_bag(gaussian):
    bags, y = gaussian
    model = AnnealedWitnessSVC(C=10, kernel="linear").fit(bags, y)
    scores, p = model.instance_decision_function(bags), model.instance_weights_
    several = segment_sum(p, bags.offsets)[y == 1]
    assert several.max() > 1  # what the last refit keeps (Algorithm 2, line 11)
    shared = np.repeat(segment_sum(p, bags.offsets) > 1, bags.sizes) & (p == 1)
    assert np.mean(scores[shared]) > 0.9


@pytest.mark.parametrize("kind", [AnnealedLabelSVC, AnnealedWitnessSVC])
def test_a_start_hotter_than_needed_changes_little(gaussian, kind):
    """Heat that moves nothing must not be taken for the end."""
    bags, y = gaussian
    hot, warm = (
        kind(annealing=Annealing(T0=1e6)).fit(bags, y),
        kind(annealing=Annealing(T0=100.0)).fit(bags, y),
    )
    assert hot.objective_[0] == pytest.approx(warm.objective_[0], rel=0.1)
    p = hot.instance_weights_
    assert np.max(np.minimum(p, 1 - p)) < 0.05


# Assignments -----------------------------------------------------------------------------------


def test_the_objective_is_that_of_equation_13(digits):
    bags, y = digits
    model = AnnealedProportionSVC(
        positive_fraction=0.3, C_proportion=2.0, C=0.5, kernel="linear"
    ).fit(bags, y)
    f, p = model.instance_decision_function(bags), model.instance_weights_
    loss = np.where(
        positives(bags, y),
        p * np.maximum(0, 1 - f) ** 2 + (1 - p) * np.maximum(0, 1 + f) ** 2,
        np.maximum(0, 1 + f) ** 2,
    )
    deviation = segment_sum(p, bags.offsets) - 0.3 * bags.sizes
    variance = segment_sum(p * (1 - p), bags.offsets)
    penalty = 2.0 * np.sum((deviation**2 + variance)[y == 1])
    expected = 0.5 * np.sum(model.coef_**2) + 0.5 * loss.sum() + penalty
    assert model.objective_[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("positive_fraction", [0.2, 0.5, 0.8])
def test_a_strong_prior_is_obeyed(gaussian, positive_fraction):
    bags, y = gaussian
    model = AnnealedProportionSVC(positive_fraction=positive_fraction, C_proportion=100.0).fit(
        bags, y
    )
    counts = segment_sum(model.instance_weights_, bags.offsets)[y == 1]
    wanted = np.maximum(1, positive_fraction * bags.sizes[y == 1])
    assert np.max(np.abs(counts - wanted)) <= 0.5 + 0.05


def test_priors_travel_with_the_bags(gaussian):
    bags, y = gaussian
    same = Bags(bags.X, bags.offsets, priors=np.full(len(bags), 0.4))
    one = AnnealedProportionSVC(positive_fraction=0.4, C_proportion=5.0).fit(bags, y)
    other = AnnealedProportionSVC(positive_fraction="bags", C_proportion=5.0).fit(same, y)
    np.testing.assert_array_equal(one.instance_weights_, other.instance_weights_)

    priors = np.where(np.arange(len(bags)) % 2, 0.9, 0.1)
    mixed = Bags(bags.X, bags.offsets, priors=priors)
    order = np.random.default_rng(0).permutation(len(bags))
    model = AnnealedProportionSVC(positive_fraction="bags", C_proportion=100.0).fit(
        mixed[order], y[order]
    )
    counts = segment_sum(model.instance_weights_, mixed[order].offsets)[y[order] == 1]
    wanted = np.maximum(1, (priors * bags.sizes)[order][y[order] == 1])
    assert np.max(np.abs(counts - wanted)) <= 0.55


def test_missing_priors_are_named(gaussian):
    with pytest.raises(ValueError, match="priors"):
        AnnealedProportionSVC(positive_fraction="bags").fit(*gaussian)


def test_the_variance_makes_labels_decide(gaussian):
    options = {"positive_fraction": 0.45, "C_proportion": 20.0, "kernel": "linear"}
    whole = AnnealedProportionSVC(**options).fit(*gaussian)
    printed = AnnealedProportionSVC(annealing=Annealing(variance=False), **options).fit(*gaussian)
    undecided = [
        np.mean((model.instance_weights_ > 0.05) & (model.instance_weights_ < 0.95))
        for model in (whole, printed)
    ]
    assert undecided[0] < 0.01 < undecided[1]


@pytest.mark.parametrize("k", [2, 3])
def test_several_witnesses_per_bag(gaussian, k):
    bags, y = gaussian
    model = AnnealedWitnessSVC(n_witnesses=k, C=1.0).fit(bags, y)
    counts = segment_sum(model.instance_weights_, bags.offsets)[y == 1]
    np.testing.assert_array_equal(counts, np.minimum(k, bags.sizes[y == 1]))
    scores = np.split(model.instance_decision_function(bags), bags.offsets[1:-1])
    weights = np.split(model.instance_weights_, bags.offsets[1:-1])
    for f, p in zip(scores, weights, strict=True):
        if 0 < p.sum() < len(p):
            assert f[p == 1].min() >= f[p == 0].max() - 1e-6  # the k best


# Precision, storage, loss ------------------------------------------------------------------------


WARM = {"init": "instances", "annealing": Annealing(T0=1.0)}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (AnnealedLabelSVC, WARM),
        (AnnealedProportionSVC, {**WARM, "positive_fraction": 0.1, "C_proportion": 1.0}),
        (AnnealedWitnessSVC, {}),
    ],
)
def test_hinge_is_certified_and_finds_the_witnesses(kind, options):
    bags, y = make_gaussian_bags(n_bags=30, shift=5.0, random_state=0)
    model = kind(C=10, loss="hinge", **options).fit(bags, y)
    assert model.gap_[0] <= 1e-4 * model.objective_[0]
    assert model.score(bags, y) == 1.0
    keys = bags[y == 1].flat(model.key_instances(bags[y == 1]))
    assert bags[y == 1].instance_labels[keys].mean() > 0.9


def test_hinge_says_when_a_hot_start_left_nothing(gaussian):
    """At p = 1/2 the expected hinge is flat between the margins: w = 0, f = -1 is optimal."""
    with pytest.warns(UserWarning, match="all instances alike"):
        model = AnnealedLabelSVC(loss="hinge").fit(*gaussian)
    np.testing.assert_allclose(model.instance_decision_function(gaussian[0]), -1, atol=1e-3)
