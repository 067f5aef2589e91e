"""Inference over counts against all 2^m labelings, and its derivatives against differences."""

import numpy as np
import pytest

from bagwise.assumptions import AtLeastPotential, CountInference
from reference.potentials import POTENTIALS, enumerate_labelings


def check_bag(scores, potential, weights):
    inference = CountInference(potential, np.array([0, len(scores)]))
    best = inference.best(scores[None], weights[None])
    expected = enumerate_labelings(scores, potential, weights)[1].max(axis=1)
    np.testing.assert_allclose(best.value[0, :, 0], expected, rtol=0, atol=1e-12)
    for side in range(2):  # the labeling told by cut and quota has that value
        amount = np.zeros((1, 2, 1))
        amount[0, side] = 1.0
        labels = inference.positives(scores[None], best, amount)[0]
        assert set(labels) <= {0.0, 1.0}
        count = int(labels.sum())
        assert count == best.count[0, side, 0]
        of_bins = inference.bin_sums(best, amount)[0] @ weights
        value = labels @ scores + potential.table(len(scores))[side][count] + of_bins
        assert value == pytest.approx(expected[side], abs=1e-12)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 6, 11])
def test_inference_with_and_without_ties_equals_enumeration(potential, size):
    rng = np.random.default_rng(size)
    check_bag(rng.normal(size=size), potential, rng.normal(size=potential.n_weights))
    for lowest, highest in ((-1, 1), (0, 1), (-1, 0), (-2, 2)):
        scores = rng.integers(lowest, highest + 1, size).astype(float)
        for weights in (np.zeros(potential.n_weights), rng.integers(-2, 3, potential.n_weights)):
            check_bag(scores, potential, weights.astype(float))  # counts tie as well


@pytest.mark.parametrize(
    ("size", "needed"), [(size, k) for size in (1, 2, 5, 11) for k in range(1, size + 1)]
)
def test_a_fraction_of_whole_counts_asks_for_that_count(size, needed):
    scores = np.random.default_rng(size).integers(-1, 2, size).astype(float)
    potential = AtLeastPotential(needed / size)
    assert potential.least(np.array([0, size]))[0] == needed
    check_bag(scores, potential, np.array([0.5, -0.5]))


def test_at_least_one_needs_no_table():
    offsets = np.append(0, np.cumsum([1, *np.random.default_rng(1).integers(1, 80, 50), 641]))
    scores = np.random.default_rng(2).normal(size=(2, offsets[-1])).round(1)
    scores[1] = -np.abs(scores[1])  # nothing positive: the highest ones
    weights, plain = np.random.default_rng(3).normal(size=(2, 2)), np.diff(offsets)
    kinds = np.stack([plain, 0 * plain, plain], axis=1)[None]  # of bags of which nothing is known
    one = CountInference(AtLeastPotential(), offsets).best(scores, weights)
    table = CountInference(AtLeastPotential(), offsets, kinds).best(scores, weights)
    np.testing.assert_allclose(one.value, table.value, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(one.count, table.count)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_an_earlier_answer_is_overwritten(potential):
    rng, offsets = np.random.default_rng(0), np.array([0, 5, 60])
    weights = rng.normal(size=(2, potential.n_weights))
    inference = CountInference(potential, offsets)
    old = inference.best(rng.normal(size=(2, 60)), weights)
    scores = rng.normal(size=(2, 60))
    again, fresh = inference.best(scores, weights, out=old), inference.best(scores, weights)
    assert again is old
    for name in ("value", "count", "cut", "quota"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fresh, name))


def test_scores_are_left_alone():
    scores = np.random.default_rng(0).normal(size=(1, 60))
    before = scores.copy()
    CountInference(AtLeastPotential(0.5), np.array([0, 5, 60])).best(scores, np.zeros((1, 2)))
    np.testing.assert_array_equal(scores, before)


def test_values_of_other_numbers_of_models_do_not_share_memory():
    rng, inference = (
        np.random.default_rng(0),
        CountInference(AtLeastPotential(0.5), np.array([0, 3, 7])),
    )
    for n_models in (1, 5, 2):
        scores, weights = rng.normal(size=(n_models, 7)), rng.normal(size=(n_models, 2))
        expected = CountInference(inference.potential, inference.offsets).best(scores, weights)
        np.testing.assert_array_equal(inference.values(scores, weights), expected.value)
