"""The graph's terms against loops over bags and edges; their planes are cuts for any witnesses."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.solvers.cutting_plane import BagScores
from reference.structured import draw

NEGATIVES = ["bags", "instances", "witnesses"]
seeds = st.integers(0, 10**6)


def scores_of(case, seed, witnesses=True):
    f = np.random.default_rng(seed).normal(size=len(case.X)) * 2
    return BagScores.of(f, case.offsets, case.witnesses if witnesses else None)


def tops(case, f):
    return np.array([part.max() for part in np.split(f, case.offsets[1:-1])])


def hinge_by_hand(case, f, negatives):
    total = 0.0
    for i, share in enumerate(case.share):
        inside = f[case.offsets[i] : case.offsets[i + 1]]
        fixed = f[case.witnesses[i]]
        if case.positive[i]:
            total += share * max(0, 1 - fixed)
        elif negatives == "instances":
            total += sum(share * max(0, 1 + value) for value in inside)
        else:
            total += share * max(0, 1 + (inside.max() if negatives == "bags" else fixed))
    return total


def edges_by_hand(case, f, scale):
    edges, top, total = case.bag_edges, tops(case, f), 0.0
    fixed = f[case.witnesses]
    for p, q, w in zip(edges.source, edges.target, edges.weight, strict=True):
        one = top[p] * scale[p] - fixed[q] * scale[q]
        other = top[q] * scale[q] - fixed[p] * scale[p]
        total += w * max(one, other)
    return total / len(edges)


def assert_is(term, scores, expected):
    assert term.value(scores) == pytest.approx(expected, abs=1e-12)
    assert term.evaluate(scores).value == pytest.approx(expected, abs=1e-12)


@given(seeds, st.sampled_from(NEGATIVES))
def test_the_loss_is_its_definition(seed, negatives):
    case = draw(seed % 50)
    term = case.terms(1.0, 0, 0, negatives=negatives)[0]
    scores = scores_of(case, seed)
    assert_is(term, scores, hinge_by_hand(case, scores.rows, negatives))


@given(seeds)
def test_edges_between_bags_are_their_definition(seed):
    case = draw(seed % 50)
    _, term = case.terms(1.0, 1.0, 0)
    scores = scores_of(case, seed)
    assert_is(term, scores, edges_by_hand(case, scores.rows, term.scale))


@given(seeds)
def test_edges_between_instances_are_their_definition(seed):
    case = draw(seed % 50)
    _, term = case.terms(1.0, 0, 1.0)
    f = scores_of(case, seed).rows
    edges, total = case.row_edges, 0.0
    for p, q, w in zip(edges.source, edges.target, edges.weight, strict=True):
        total += w * abs(f[p] * term.scale[p] - f[q] * term.scale[q])
    assert term.value(scores_of(case, seed)) == pytest.approx(total / len(edges), abs=1e-12)


def every_term(case, negatives="bags"):
    return [*case.terms(1.0, 1.0, 0, negatives=negatives), *case.terms(1.0, 0, 1.0)[1:]]


@given(seeds, st.sampled_from(NEGATIVES))
def test_planes_touch_where_they_were_made(seed, negatives):
    case = draw(seed % 50)
    scores = scores_of(case, seed)
    for term in every_term(case, negatives):
        plane = term.evaluate(scores)
        reached = plane.height + plane.rows @ scores.rows + plane.witnesses @ scores.fixed
        assert reached == pytest.approx(plane.value, abs=1e-10)
        weights = plane.on_rows(case.witnesses)
        assert plane.height + weights @ scores.rows == pytest.approx(plane.value, abs=1e-10)


@given(seeds, st.sampled_from(NEGATIVES))
def test_planes_lie_below_for_other_scores_and_other_witnesses(seed, negatives):
    case, rng = draw(seed % 50), np.random.default_rng(seed)
    here = scores_of(case, seed)
    sizes = np.diff(case.offsets)
    others = case.offsets[:-1] + rng.integers(0, sizes)
    there = BagScores.of(rng.normal(size=len(case.X)) * 2, case.offsets, others)
    for term in every_term(case, negatives):
        plane = term.evaluate(here)
        bound = plane.height + plane.rows @ there.rows + plane.witnesses @ there.fixed
        assert bound <= term.value(there) + 1e-10


@given(seeds)
def test_every_bound_but_the_printed_one_is_an_upper_bound_that_touches_at_the_tops(seed):
    case = draw(seed % 50)
    fixed, free = scores_of(case, seed), scores_of(case, seed, witnesses=False)
    for term in every_term(case, "bags"):
        assert term.value(fixed) >= term.value(free) - 1e-12
    at_top = BagScores.of(free.rows, case.offsets, free.top_rows)
    for term in every_term(case, "bags"):
        assert term.value(at_top) == pytest.approx(term.value(free), abs=1e-12)


def test_the_printed_loss_of_negative_bags_is_no_upper_bound():
    case = draw(0)
    printed = case.terms(1.0, 0, 0, negatives="witnesses")[0]
    pairs = [(scores_of(case, seed), scores_of(case, seed, False)) for seed in range(20)]
    # Below the true loss: a step that goes down here can climb there.
    assert min(printed.value(fixed) - printed.value(free) for fixed, free in pairs) < 0


def test_unlabeled_bags_cost_nothing_and_are_in_no_plane():
    case = draw(1)
    term = case.terms(1.0, 0, 0)[0]
    plane = term.evaluate(scores_of(case, 1))
    unlabeled = np.flatnonzero(case.share == 0)
    assert len(unlabeled)
    for i in unlabeled:
        assert plane.witnesses[i] == 0
        assert not plane.rows[case.offsets[i] : case.offsets[i + 1]].any()
