"""Known instances: every rule against all labelings, or an independent solver, of the others."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.special import expit, logit

from bagwise.assumptions import AtLeastFraction, AtLeastOne, ExactCounts, ExactlyOne
from bagwise.assumptions.rules import Everything, Facts
from bagwise.assumptions.segments import Segments
from bagwise.assumptions.soft import Evenly, SoftLabels, SoftWitness
from bagwise.losses import Hinge, SquaredHinge
from reference.assignments import newton_in_p

INSTANCES = st.lists(
    st.tuples(st.floats(-3, 3), st.sampled_from([-1.0, 0.0, 0.0, 1.0])), min_size=1, max_size=6
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
    (AtLeastFraction(0.5), lambda y: y.sum() >= max(1, np.ceil(len(y) / 2))),
    (ExactCounts(np.array([2])), lambda y: y.sum() == 2),
]


@pytest.mark.parametrize("loss", [SquaredHinge(), Hinge()], ids=repr)
@pytest.mark.parametrize(("rule", "possible"), LABELINGS, ids=["one", "fraction", "count"])
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
