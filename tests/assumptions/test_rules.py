"""Assumptions, and rules that know instances, against all labelings or an independent solver."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.special import expit, logit

from bagwise.assumptions import AtLeastFraction, AtLeastOne, ExactCounts, ExactlyOne, TopMean
from bagwise.assumptions.rules import Everything, Facts
from bagwise.assumptions.soft import Evenly, SoftLabels, SoftWitness
from bagwise.bags.segments import Segments
from bagwise.losses import Hinge, SquaredHinge
from reference.assignments import newton_in_p

SCORES = st.sampled_from([-2.0, -1.0, -0.4, 0.0, 0.3, 0.7, 1.0, 1.5])
INSTANCES = st.lists(
    st.tuples(SCORES | st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 0.0, 1.0])),
    min_size=1,
    max_size=6,
).map(lambda pairs: np.array(pairs).T)


def cost(loss, scores, labels, counted=True):
    return (counted * loss.value(np.where(labels, scores, -scores))).sum()


def allowed(known, possible):
    """All labelings that agree with what is known and are possible."""
    for labels in product([0, 1], repeat=len(known)):
        y = np.array(labels)
        if np.all((known == 0) | (y == (known > 0))) and possible(y):
            yield y


LABELINGS = [
    (AtLeastOne(), lambda y: y.sum() >= 1),
    (AtLeastFraction(0.3), lambda y: y.sum() >= max(1, np.ceil(0.3 * len(y) - 1e-9))),
    (AtLeastFraction(0.5), lambda y: y.sum() >= max(1, np.ceil(len(y) / 2))),
    (AtLeastFraction(1.0), lambda y: y.all()),
    (ExactCounts(np.array([2])), lambda y: y.sum() == 2),
]


@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge()], ids=repr)
@pytest.mark.parametrize(("rule", "possible"), LABELINGS, ids=["one", "few", "half", "all", "two"])
@given(bag=INSTANCES)
def test_labels_cost_least_of_those_that_agree_with_what_is_known(rule, possible, loss, bag):
    scores, known = bag
    others = [cost(loss, scores, y) for y in allowed(known, possible)]
    assume(others)
    chosen = rule.map(scores, np.array([0, len(scores)]), Facts(known=known))
    assert any(np.array_equal(chosen, y) for y in allowed(known, possible))
    assert cost(loss, scores, chosen) == pytest.approx(min(others), abs=1e-12)


@given(bag=INSTANCES)
def test_witnesses_are_all_known_positives_or_the_best_that_may_be(bag):
    scores, known = bag
    assume(known.max() >= 0)
    facts = Facts(known=known)
    chosen = ExactlyOne().map(scores, np.array([0, len(scores)]), facts)
    if known.max() > 0:
        np.testing.assert_array_equal(chosen, known > 0)
    else:
        assert chosen.argmax() == np.where(known < 0, -np.inf, scores).argmax()
        assert chosen.sum() == 1
    # What is known to be negative counts as such, though the others are ignored.
    np.testing.assert_array_equal(facts.rest(False), known < 0)
    np.testing.assert_array_equal(facts.rest(True), np.ones(len(known)))


@given(INSTANCES, st.floats(-1, 1).map(lambda power: 10**power), st.sampled_from([0.0, 0.3, 2.0]))
def test_soft_labels_are_optimal_beside_the_known_ones(bag, T, C_proportion):
    costs, known = bag
    assume(known.max() >= 0)
    rule, target = SoftLabels(C_proportion, 0.4, variance=False), 0.4 * len(costs)
    p = rule.soften(Segments(np, np.array([len(costs)])), -costs, 0 * costs, T, Facts(known=known))
    free = known == 0
    np.testing.assert_array_equal(p[~free], known[~free] > 0)
    if known.max() == 0:
        expected = newton_in_p(costs[free], T, C_proportion, target)
    else:  # the bag is positive without the others: nothing but the penalty holds them together
        pull = -2 * C_proportion * (p.sum() - target)
        expected = expit((pull - costs[free]) / T)
        assert np.all(np.isfinite(logit(p[free])))
    np.testing.assert_allclose(p[free], expected, atol=1e-9)


@given(INSTANCES, st.floats(-1, 1).map(lambda power: 10**power), st.integers(1, 3))
def test_soft_witnesses_are_sought_where_known_ones_are_too_few(bag, T, n_witnesses):
    costs, known = bag
    assume(known.max() >= 0)
    one, free = Segments(np, np.array([len(costs)])), known == 0
    rule, left = SoftWitness(n_witnesses), n_witnesses - int((known > 0).sum())
    p = rule.soften(one, 0 * costs, costs, T, Facts(known=known))
    np.testing.assert_array_equal(p[~free], known[~free] > 0)
    if left <= 0 or not free.any():
        np.testing.assert_array_equal(p[free], 0.0)
    else:
        some = Segments(np, np.array([free.sum()]))
        expected = SoftWitness(left).soften(some, 0 * costs[free], costs[free], T)
        np.testing.assert_allclose(p[free], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (Everything(), [1, 0, 1, 1, 0]),
        (Evenly(SoftLabels(3.0)), [1, 0, 0.5, 1, 0]),
        (Evenly(SoftWitness()), [1, 0, 0, 1, 0]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_starts_agree_with_what_is_known(rule, expected):
    known, bags = np.array([1.0, -1.0, 0.0, 0.0, -1.0]), Segments(np, np.array([3, 2]))
    p = rule.assign(bags, np.zeros(5), 0.0, Facts(known=known))
    np.testing.assert_allclose(p, expected, atol=1e-15)


LABELING = [
    AtLeastOne(),
    AtLeastFraction(positive_fraction=0.3),
    AtLeastFraction(positive_fraction=0.5),
    AtLeastFraction(positive_fraction=1.0),
]
bags_of_scores = st.lists(st.lists(SCORES, min_size=1, max_size=6), min_size=1, max_size=3)


def flat(bags):
    return np.concatenate(bags), np.concatenate([[0], np.cumsum([len(bag) for bag in bags])])


def least(assumption, size):
    if isinstance(assumption, AtLeastFraction):
        return max(1, int(np.ceil(round(assumption.positive_fraction * size, 9))))
    return 1


@given(bags=bags_of_scores)
def test_the_witness_is_the_first_of_the_highest(bags):
    scores, offsets = flat(bags)
    chosen = np.split(ExactlyOne().map(scores, offsets), offsets[1:-1])
    for bag, weights in zip(bags, chosen, strict=True):
        assert weights.tolist() == [float(i == np.argmax(bag)) for i in range(len(bag))]


@pytest.mark.parametrize("assumption", [*LABELING, ExactlyOne()], ids=repr)
@given(bags=bags_of_scores)
def test_bag_score_is_positive_exactly_when_the_rule_holds(assumption, bags):
    scores, offsets = flat(bags)
    bag_scores = assumption.bag_score(scores, offsets)
    for bag, score in zip(bags, bag_scores, strict=True):
        assert (score > 0) == (sum(s > 0 for s in bag) >= least(assumption, len(bag)))
        assert score in bag
    both = assumption.bag_score(np.stack([scores, -scores], axis=1), offsets)
    assert np.array_equal(both[:, 0], bag_scores)


@pytest.mark.parametrize(("fraction", "size", "needed"), [(0.1, 30, 3), (0.3, 10, 3), (0.7, 10, 7)])
def test_fractions_are_not_rounded_up_by_their_last_digit(fraction, size, needed):
    assert AtLeastFraction(positive_fraction=fraction).least(np.array([0, size])) == [needed]


def test_ties_go_to_the_lowest_index():
    scores, offsets = np.array([-1.0, -1.0, -1.0, -1.0]), np.array([0, 4])
    assert AtLeastOne().map(scores, offsets).tolist() == [1, 0, 0, 0]
    assert ExactlyOne().map(scores, offsets).tolist() == [1, 0, 0, 0]
    assert AtLeastFraction(positive_fraction=0.5).map(scores, offsets).tolist() == [1, 1, 0, 0]


def test_scores_of_zero_count_as_negative():
    scores, offsets = np.array([0.0, 0.5, 0.0]), np.array([0, 3])
    assert AtLeastOne().map(scores, offsets).tolist() == [0, 1, 0]


@pytest.mark.parametrize("n_witnesses", [1, 2, 4])
@given(bags=bags_of_scores)
def test_the_mean_of_the_best_is_that_of_sorted_scores(n_witnesses, bags):
    scores, offsets = flat(bags)
    expected = [np.mean(sorted(bag)[-n_witnesses:]) for bag in bags]
    found = TopMean(n_witnesses).bag_score(scores, offsets)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    both = TopMean(n_witnesses).bag_score(np.stack([scores, -scores], axis=1), offsets)
    np.testing.assert_allclose(both[:, 0], expected, atol=1e-12)
    against = TopMean(n_witnesses).bag_score(-scores, offsets)
    np.testing.assert_allclose(both[:, 1], against, atol=1e-12)


@given(st.integers(0, 10**6))
def test_exact_counts_choose_the_highest_and_score_the_cut(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 5)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    counts = rng.integers(0, sizes + 1)
    scores = rng.normal(size=offsets[-1])
    rule = ExactCounts(counts)
    p = rule.map(scores, offsets)
    for i, (a, b) in enumerate(pairwise(offsets)):
        inside = p[a:b] > 0
        assert inside.sum() == counts[i]
        assert np.max(scores[a:b][~inside], initial=-np.inf) <= np.min(
            scores[a:b][inside], initial=np.inf
        )
        holds = np.sum(scores[a:b] > 0) == counts[i]
        assert (rule.bag_score(scores, offsets)[i] > 0) == holds
