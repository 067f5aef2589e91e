"""Sums over labelings against all 2^m of them, and their derivatives against differences."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, logsumexp

from bagwise.assumptions import AtLeastPotential, BinnedPotential, CountPosterior, CountPotential
from reference.potentials import POTENTIALS, enumerate_labelings


def enumerated(scores, potential, weights):
    """Return log Z and P(y_i = 1) for either label of the bag, over all 2^m labelings."""
    labelings, energy = enumerate_labelings(scores, potential, weights)
    total = logsumexp(energy, axis=1)
    return total, np.exp(energy - total[:, None]) @ labelings


def check_bag(scores, potential, weights):
    posterior = CountPosterior(potential, np.array([0, len(scores)]))
    found = posterior.of(scores[None], weights[None])
    total, marginals = enumerated(scores, potential, weights)
    np.testing.assert_allclose(found.log_sum[0, :, 0], total, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.marginals[0], marginals, atol=1e-12)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
@pytest.mark.parametrize("size", [1, 2, 3, 6, 11])
def test_sums_equal_enumeration(potential, size):
    rng = np.random.default_rng(size)
    for scale in (0.0, 1.0, 30.0):
        check_bag(scale * rng.normal(size=size), potential, rng.normal(size=potential.n_weights))


@given(
    st.lists(st.floats(-700, 700), min_size=1, max_size=8),
    st.sampled_from(range(len(POTENTIALS))),
    st.integers(0, 2**32 - 1),
)
def test_sums_of_extreme_scores_equal_enumeration(scores, which, seed):
    potential = POTENTIALS[which]
    weights = np.random.default_rng(seed).normal(size=potential.n_weights)
    check_bag(np.array(scores), potential, weights)


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_slopes_are_those_of_the_sums(potential):
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 6, 9, 16])
    scores, weights = rng.normal(size=(3, 16)), rng.normal(size=(3, potential.n_weights))
    amount, posterior = rng.normal(size=(3, 2, 4)), CountPosterior(potential, offsets)
    found = posterior.of(scores, weights)

    def difference(up, down):
        sums = [posterior.of(*point, marginals=False).log_sum for point in (up, down)]
        return float((amount * (sums[0] - sums[1])).sum()) / 2e-6

    slopes = posterior.instance_slopes(found, amount)
    for model, i in ((0, 0), (1, 3), (2, 15)):
        step = np.zeros_like(scores)
        step[model, i] = 1e-6
        expected = difference((scores + step, weights), (scores - step, weights))
        assert slopes[model, i] == pytest.approx(expected, abs=1e-7)


def test_a_large_bag_agrees_with_the_product_of_its_instances():
    scores = np.random.default_rng(0).normal(size=100_000) - 9.0
    posterior = CountPosterior(AtLeastPotential(), np.array([0, len(scores)]))
    found = posterior.of(scores[None], np.zeros((1, 2)))
    none = np.exp(-np.logaddexp(0.0, scores).sum())  # P(no positives) if labels were free
    assert found.log_sum[0, 1, 0] == pytest.approx(np.log(1 / none - 1), rel=1e-12)
    expected = expit(scores) / (1 - none)
    np.testing.assert_allclose(found.marginals[0, 1], expected, rtol=1e-9)
    assert not found.marginals[0, 0].any()  # a negative bag has no positive


@pytest.mark.parametrize("potential", [AtLeastPotential(0.5), BinnedPotential(5)], ids=str)
def test_scores_far_out_of_range_stay_finite(potential):
    scores = np.array([[1e5, -1e5, 3e4, -1e3, 0.0]])
    found = CountPosterior(potential, np.array([0, 5])).of(scores, np.zeros((1, 10)))
    assert np.isfinite(found.log_sum).all()
    assert ((found.marginals >= 0) & (found.marginals <= 1)).all()


# Larger bags -------------------------------------------------------------------------------------


class Own(CountPotential):
    """A number for every count; the last one is worth more than all scores."""

    def __repr__(self):  # names the tests, which must be the same in every process
        return "Own()"

    def table(self, size):
        count = np.arange(size + 1)
        falling = -np.abs(count - [[0], [size / 2]])
        return np.where(count == size, [[2000.0], [-np.inf]], falling)


RULES = [AtLeastPotential(0.3), AtLeastPotential(1.0), BinnedPotential(1), BinnedPotential(5)]
RULES.append(Own())
SHAPES = [(0.0, 0.0), (1.0, 0.0), (1.0, -6.0), (5.0, 20.0), (60.0, 0.0)]  # spread and mean


def precise(scores, potential, weights):
    """Return log Z and P(y_i = 1) of either side by recursion over instances, in 60 digits."""
    size, digits = len(scores), [Decimal(float(score)) for score in scores]
    learned = np.append(weights, 0.0)
    prior = np.array(potential.table(size)) + learned[np.array(potential.bins(size))]

    def polynomial(factors):
        sums = [Decimal(1)]
        for factor in factors:
            sums = [a + b * factor for a, b in zip([*sums, 0], [0, *sums], strict=True)]
        return sums

    with localcontext(prec=60):
        factors = [digit.exp() for digit in digits]
        height = [[Decimal(v).exp() if v > -np.inf else Decimal(0) for v in row] for row in prior]
        sums = polynomial(factors)
        total = [sum(a * b for a, b in zip(row, sums, strict=True)) for row in height]
        chance = np.empty((2, size))
        for i, factor in enumerate(factors):
            others = polynomial(factors[:i] + factors[i + 1 :])
            for side, row in enumerate(height):
                own = factor * sum(a * b for a, b in zip(row[1:], others, strict=True))
                chance[side, i] = float(own / total[side])
        return np.array([float(value.ln()) for value in total]), chance


@pytest.mark.parametrize("potential", RULES, ids=str)
@pytest.mark.parametrize(("spread", "mean"), SHAPES)
def test_sums_equal_those_in_sixty_digits(potential, spread, mean):
    rng = np.random.default_rng(0)
    scores, weights = mean + spread * rng.normal(size=24), rng.normal(size=potential.n_weights)
    posterior = CountPosterior(potential, np.array([0, 24]))
    found = posterior.of(scores[None], weights[None])
    total, chance = precise(scores, potential, weights)
    np.testing.assert_allclose(found.log_sum[0, :, 0], total, rtol=1e-14, atol=1e-12)
    np.testing.assert_allclose(found.marginals[0], chance, rtol=2e-11, atol=1e-300)


@pytest.mark.parametrize("potential", RULES, ids=str)
@pytest.mark.parametrize(("spread", "mean"), SHAPES)
def test_sums_of_hundreds_equal_a_recursion_over_counts(potential, spread, mean):
    rng, offsets = np.random.default_rng(1), np.array([0, 3, 403, 473])
    scores = mean + spread * rng.normal(size=(2, 473))
    weights = 3 * rng.normal(size=(2, potential.n_weights))
    posterior = CountPosterior(potential, offsets)
    found = posterior.of(scores, weights)
    for model, bag in np.ndindex(2, 3):
        own = scores[model, offsets[bag] : offsets[bag + 1]]
        sums = np.zeros(1)
        for score in own:
            ends = [sums, [-np.inf]], [[-np.inf], sums + score]
            sums = np.logaddexp(*(np.concatenate(end) for end in ends))
        learned = np.append(weights[model], 0.0)[np.array(potential.bins(len(own)))]
        expected = logsumexp(potential.table(len(own)) + learned + sums, axis=1)
        np.testing.assert_allclose(found.log_sum[model, :, bag], expected, rtol=1e-13, atol=1e-10)
    assert ((found.marginals >= 0) & (found.marginals <= 1)).all()
    alone = posterior.of(scores, weights, marginals=False)
    np.testing.assert_array_equal(alone.log_sum, found.log_sum)


def test_known_counts_are_those_of_the_posteriors():
    rng, offsets, counts = np.random.default_rng(0), np.array([0, 300, 700]), np.array([3, 390])
    scores = rng.normal(size=(1, 700))
    posterior = CountPosterior.of_known_counts(counts, offsets)
    found = posterior.of(scores, np.empty((1, 0)))
    for bag, count in enumerate(counts):
        rows = slice(offsets[bag], offsets[bag + 1])
        assert found.marginals[0, 1, rows].sum() == pytest.approx(count, rel=1e-12)
        np.testing.assert_allclose(found.marginals[0, 0, rows], expit(scores[0, rows]), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e20, -1e20, 1.47592690e129])
def test_known_counts_of_equal_scores_share_them_however_large(scale):
    counts = np.array([1, 2999])
    posterior = CountPosterior.of_known_counts(counts, np.array([0, 3000, 6000]))
    found = posterior.of(np.full((1, 6000), scale), np.empty((1, 0)))
    shares = np.repeat(counts / 3000, 3000)
    np.testing.assert_allclose(found.marginals[0, 1], shares, rtol=1e-9)
    np.testing.assert_allclose(found.log_sum[0, 1], counts * scale, rtol=1e-15)


@pytest.mark.parametrize("count", range(4))
def test_known_counts_of_scores_far_apart_are_those_of_the_largest(count):
    scores = np.array([[3.40944200e81, 3.37460165e81, -3.61416940e80]])
    posterior = CountPosterior.of_known_counts(np.array([count]), np.array([0, 3]))
    found = posterior.of(scores, np.empty((1, 0)))
    np.testing.assert_array_equal(found.marginals[0, 1], np.arange(3) < count)
    np.testing.assert_allclose(found.log_sum[0, 1], scores[0, :count].sum(), rtol=1e-15)
