"""Assignment steps: optimality conditions, two independent solvers, limits, ties, extremes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit, logit, xlogy

from bagwise.assumptions import AtLeastOne, ExactlyOne
from bagwise.assumptions._multipliers import find_multipliers
from bagwise.assumptions.rules import NO_FACTS, Facts
from bagwise.assumptions.soft import UNCHANGED, SoftLabels, SoftWitness
from bagwise.bags.segments import Segments
from reference.assignments import clarabel_value, newton_in_p

COSTS = st.lists(st.floats(-20, 20), min_size=1, max_size=9).map(np.array)
SEVERAL = st.lists(st.floats(-20, 20), min_size=2, max_size=9).map(np.array)
MODERATE = st.lists(st.floats(-12, 12), min_size=1, max_size=9).map(np.array)
TEMPERATURES = st.floats(-1, 2).map(lambda power: 10**power)
PENALTIES = st.sampled_from([0.0, 0.01, 1.0, 30.0])
FRACTIONS = st.floats(0, 1)
CONE_DIGITS = 1e-9  # clarabel's own feasibility; Newton in p is held to 1e-10


def one_bag(values):
    return Segments(np, np.array([len(values)]))


def label_step(cost, T, C_proportion=0.0, positive_fraction=0.5, variance=False):
    softening = SoftLabels(C_proportion, positive_fraction, variance)
    return softening.soften(one_bag(cost), np.zeros(len(cost)), np.asarray(cost), T)


def witness_step(cost, T, k=1):
    return SoftWitness(k).soften(one_bag(cost), np.zeros(len(cost)), np.asarray(cost), T)


def label_energy(p, cost, T, C_proportion, positive_fraction):
    entropy = -(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum()
    return p @ cost + C_proportion * (p.sum() - len(p) * positive_fraction) ** 2 - T * entropy


def test_the_printed_rule_is_not_the_minimizer():
    cost = np.array([0.1, 3.0])
    p = label_step(cost, 1.0)
    np.testing.assert_allclose(p, [0.8100, 0.1900], atol=5e-5)
    assert label_energy(p, cost, 1.0, 0.0, 0.0) == pytest.approx(-0.3214, abs=5e-5)
    printed = expit(-cost) / expit(-cost).sum()
    assert label_energy(printed, cost, 1.0, 0.0, 0.0) == pytest.approx(-0.2454, abs=5e-5)


@pytest.mark.parametrize("T", [1e-3, 0.3, 1.0, 30.0])
def test_compiled_multipliers_are_roots(T):
    rng, sizes = np.random.default_rng(0), np.array([1, 2, 5, 9, 40])
    bags, cost, targets = Segments(np, sizes), 3 * rng.normal(size=sizes.sum()), 0.4 * sizes
    cost[3] = np.inf  # a known negative
    for start in (np.zeros(5), 4 * (targets - 0.9 * sizes)):
        mu = find_multipliers(cost, bags.starts, sizes, targets, 4.0, T, start)
        p = expit((bags.expand(mu) - cost) / T)
        slope = 1 + 4 * bags.sum(p * (1 - p)) / T
        excess = mu + 4 * (bags.sum(p) - targets)
        np.testing.assert_allclose(excess / slope, 0, atol=1e-12 * (1 + abs(mu).max()))


def test_the_multiplier_of_a_penalized_bag_may_be_negative():
    p = label_step([-1.0, -1.0], 1.0, C_proportion=10.0, positive_fraction=0.1)
    np.testing.assert_allclose(p, [0.5, 0.5], atol=1e-14)


@given(COSTS, TEMPERATURES, PENALTIES, FRACTIONS)
def test_labels_have_one_multiplier_per_bag(cost, T, C_proportion, positive_fraction):
    p = label_step(cost, T, C_proportion, positive_fraction)
    if len(cost) == 1:
        assert p == [1.0]
        return
    middle = np.argmax(np.minimum(p, 1 - p))
    mu = cost[middle] + T * logit(p[middle])
    np.testing.assert_allclose(p, expit((mu - cost) / T), atol=1e-10)
    multiplier = mu + 2 * C_proportion * (p.sum() - len(cost) * positive_fraction)
    rounding = 1e-9 * (1 + abs(mu) + 2 * C_proportion * len(cost)) / (p[middle] * (1 - p[middle]))
    assert p.sum() >= 1 - 1e-12
    assert multiplier >= -rounding
    assert multiplier <= rounding or p.sum() <= 1 + 1e-9


@given(MODERATE, TEMPERATURES, st.sampled_from([0.0, 0.1, 1.0, 3.0]), FRACTIONS)
def test_labels_equal_newtons_method_in_p(logits, T, ratio, positive_fraction):
    cost, C_proportion = -T * logits, T * ratio
    expected = newton_in_p(cost, T, C_proportion, len(cost) * positive_fraction)
    np.testing.assert_allclose(
        label_step(cost, T, C_proportion, positive_fraction), expected, atol=1e-10
    )


@given(SEVERAL, TEMPERATURES, st.integers(1, 4))
def test_witnesses_reach_the_value_of_a_cone_program(cost, T, k):
    count = min(k, len(cost) - 1)
    p = witness_step(cost, T, count)
    value = p @ cost + T * xlogy(p, p).sum()
    best = clarabel_value(cost, T, witnesses=count)
    scale = np.abs(cost).sum() + T * len(cost)
    assert p.sum() == pytest.approx(count, abs=1e-12)
    assert value == pytest.approx(best, abs=CONE_DIGITS * scale)


@given(COSTS, st.floats(-6, 2).map(lambda power: 10**power), st.integers(1, 4))
def test_witness_weights_are_exponential_up_to_one(cost, T, k):
    p = witness_step(cost, T, k)
    full, order = p >= 1 - 1e-13, np.argsort(cost, kind="stable")
    assert np.all(np.diff(p[order]) <= 1e-13)  # the cheaper the heavier
    rest = ~full & (p > 1e-200)
    if np.any(rest):
        level = np.log(p[rest]) + cost[rest] / T
        np.testing.assert_allclose(level, level[0], atol=1e-9 * (1 + np.abs(cost[rest]).max() / T))
        assert np.all(-cost[full] / T + level[0] >= -1e-9 * (1 + np.abs(cost).max() / T))


@pytest.mark.parametrize("T", [1e-100, 1e-30, 1e-3])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_several_witnesses_survive_the_cold(T):
    cost = np.array([3.0, 0.0, 1.0, 1.0, 5.0])
    np.testing.assert_allclose(witness_step(cost, T, 2), [0, 1, 0.5, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(witness_step(cost, T, 3), [0, 1, 1, 1, 0], atol=1e-12)
    np.testing.assert_allclose(witness_step(cost, T, 5), np.ones(5))
    np.testing.assert_allclose(witness_step(cost, T, 9), np.ones(5))


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9, unique=True).map(np.array))
def test_cold_assignments_are_the_hard_ones(scores):
    scores = scores[np.abs(scores) > 1e-6]
    if len(scores) == 0 or np.min(np.diff(np.sort(scores)), initial=1.0) < 1e-6:
        return
    gain, loss = np.maximum(0, 1 + scores) ** 2, np.maximum(0, 1 - scores) ** 2
    bag = one_bag(scores)
    p = SoftLabels().soften(bag, gain, loss, 1e-12)
    np.testing.assert_allclose(p, AtLeastOne().assign(bag, scores), atol=1e-12)
    p = SoftWitness().soften(bag, gain, loss, 1e-12)
    np.testing.assert_allclose(p, ExactlyOne().assign(bag, scores), atol=1e-12)


def coldest_value(cost, C_proportion, target):
    """The best p.cost + C_proportion (sum p - target)^2, sum p >= 1: fill up the cheapest."""
    spent, best = 0.0, np.inf
    for filled, price in enumerate(np.sort(cost)):
        low = max(float(filled), 1.0)
        for total in (
            low,
            filled + 1.0,
            target - price / (2 * C_proportion) if C_proportion else low,
        ):
            total = min(max(total, low), filled + 1.0)
            best = min(
                best, spent + price * (total - filled) + C_proportion * (total - target) ** 2
            )
        spent += price
    return best


@given(
    st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0, 1e3]), min_size=1, max_size=9),
    st.sampled_from([1e-6, 1e-4, 1e-2]),
    PENALTIES,
    FRACTIONS,
)
def test_cold_labels_are_finite_feasible_and_best_even_at_ties(
    cost, T, C_proportion, positive_fraction
):
    cost = np.array(cost)
    p, target = label_step(cost, T, C_proportion, positive_fraction), len(cost) * positive_fraction
    assert np.all((p >= 0) & (p <= 1))
    assert p.sum() >= 1 - 1e-12
    assert np.isfinite(SoftLabels().compare(one_bag(cost), p, p)[0])
    value = p @ cost + C_proportion * (p.sum() - target) ** 2
    best = coldest_value(cost, C_proportion, target)
    scale = 1 + np.abs(cost).max() + C_proportion * len(cost) ** 2
    assert best - 1e-12 * scale <= value <= best + 1e-10 * scale + T * len(cost)


def test_cold_ties_share_what_the_penalty_asks_for():
    p = label_step(np.zeros(10), 1e-6, C_proportion=1.0, positive_fraction=0.3)
    np.testing.assert_allclose(p, 0.3, atol=1e-6)
    p = label_step(np.full(4, 7.0), 1e-100)
    np.testing.assert_allclose(p, 0.25, atol=1e-12)


def test_a_bag_of_one_is_its_own_witness():
    for T in (1e-100, 1.0, 1e100):
        assert label_step([5.0], T, C_proportion=3.0, positive_fraction=0.0) == [1.0]
        assert witness_step([5.0], T) == [1.0]


def test_start_has_the_highest_entropy_that_is_feasible():
    bags = Segments(np, np.array([1, 2, 4]))
    for softening, expected in (
        (SoftLabels(), [1, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]),
        (SoftWitness(), [1, 0.5, 0.5] + 4 * [0.25]),
        (SoftWitness(2), [1, 1, 1] + 4 * [0.5]),
    ):
        p = softening.start().assign(bags, np.zeros(7), 1.0, NO_FACTS)
        np.testing.assert_allclose(p, expected)


@given(MODERATE, TEMPERATURES, PENALTIES, FRACTIONS)
def test_the_variance_lowers_the_expected_square(cost, T, C_proportion, positive_fraction):
    softening, bag = SoftLabels(C_proportion, positive_fraction), one_bag(cost)

    def energy(p):
        entropy = -(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum()
        return p @ cost + softening.penalize(bag, p)[0] - T * entropy

    printed = label_step(cost, T, C_proportion, positive_fraction)
    exact = label_step(cost, T, C_proportion, positive_fraction, variance=True)
    assert energy(exact) <= energy(printed) + 1e-9 * (1 + abs(energy(printed)))


def test_the_variance_enters_by_its_tangent_where_it_comes_to_rest():
    cost = np.random.default_rng(0).normal(size=5)
    p = label_step(cost, 2.7, 2.0, 0.4, variance=True)
    tangent = 2.0 * (1 - 2 * p)  # of C p (1 - p)
    np.testing.assert_allclose(p, label_step(cost + tangent, 2.7, 2.0, 0.4), atol=UNCHANGED)


def test_bags_may_have_their_own_fractions():
    rng = np.random.default_rng(0)
    bags, cost = Segments(np, np.array([4, 6])), rng.normal(size=10)
    p = SoftLabels(3.0, 0.5).soften(bags, 0 * cost, cost, 0.7, Facts(np.array([0.3, 0.8])))
    np.testing.assert_allclose(p[:4], label_step(cost[:4], 0.7, 3.0, 0.3, variance=True))
    np.testing.assert_allclose(p[4:], label_step(cost[4:], 0.7, 3.0, 0.8, variance=True))


def test_the_penalty_is_the_expected_square():
    p = np.array([0.2, 0.7, 0.5])
    labels = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
    chance = np.prod(np.where(labels == 1, p, 1 - p), axis=1)
    expected = 2.0 * chance @ (labels.sum(axis=1) - 3 * 0.4) ** 2
    assert SoftLabels(2.0, 0.4).penalize(one_bag(p), p)[0] == pytest.approx(expected, rel=1e-12)
    printed = SoftLabels(2.0, 0.4, variance=False).penalize(one_bag(p), p)[0]
    assert printed == pytest.approx(2.0 * (1.4 - 1.2) ** 2)


def test_entropy_and_divergence_are_those_of_the_bags():
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 4, 9, 16])
    bags, cost, old = Segments.of_offsets(offsets), rng.normal(size=16), rng.uniform(0.2, 0.8, 16)
    labels, witness = SoftLabels(), SoftWitness()
    p_labels, p_witness = (rule.soften(bags, 0 * cost, cost, 0.7) for rule in (labels, witness))
    for i, (a, b) in enumerate(pairwise(offsets)):
        p, q = p_labels[a:b], old[a:b]
        np.testing.assert_allclose(p, label_step(cost[a:b], 0.7), rtol=0, atol=0)  # bags are apart
        entropy = -(xlogy(p, p) + xlogy(1 - p, 1 - p)).sum()
        assert labels.compare(bags, p_labels, old)[0][i] == pytest.approx(entropy, abs=1e-12)
        cross = -(xlogy(p, q) + xlogy(1 - p, 1 - q)).sum()
        divergence = labels.compare(bags, p_labels, old)[1][i]
        assert divergence == pytest.approx(cross - entropy, abs=1e-12)
        p = p_witness[a:b]
        entropy, divergence = (each[i] for each in witness.compare(bags, p_witness, old))
        assert entropy == pytest.approx(-xlogy(p, p).sum(), abs=1e-12)
        assert divergence == pytest.approx((xlogy(p, p) - xlogy(p, q)).sum(), abs=1e-12)


def test_gain_and_loss_enter_by_their_difference():
    rng = np.random.default_rng(1)
    gain, loss = rng.random(5), rng.random(5)
    both = SoftLabels().soften(one_bag(gain), gain, loss, 0.1)
    np.testing.assert_allclose(both, label_step(loss - gain, 0.1), atol=1e-14)


def test_witnesses_of_the_final_refit():
    p = np.array([0.9996, 0.0004, 0.5, 0.499, 0.001, 1e-4, 1e-5])
    kept = SoftWitness().harden(Segments(np, np.array([2, 3, 2])), p)
    np.testing.assert_array_equal(kept, [1, 0, 1, 1, 0, 1, 0])


def test_a_sum_of_one_is_found_in_few_steps(monkeypatch):
    """Where labels are all but decided, rounding keeps the steps of the multiplier large."""
    counted, add = [], Segments.sum
    monkeypatch.setattr(Segments, "sum", lambda self, x: counted.append(1) or add(self, x))
    bags, cost = Segments(np, np.full(2000, 6)), np.random.default_rng(0).uniform(0, 300, 12_000)
    p = SoftLabels().soften(bags, 0 * cost, cost, 1.0)
    np.testing.assert_allclose(add(bags, p), 1.0, atol=1e-13)
    assert len(counted) < 50
