"""Sums of a pass against plain loops over the rows, on NumPy and PyTorch alike."""

from dataclasses import replace

import numpy as np
import pytest

from bagwise.assumptions import AtLeastOne, ExactlyOne, SoftLabels, SoftWitness
from bagwise.assumptions.rules import NO_FACTS, Everything, Given, Means
from bagwise.assumptions.soft import Hardened
from bagwise.bags.segments import Segments
from bagwise.rows import Assignment, Place, Rows, host
from bagwise.rows._fused import scout, weigh as weigh_compiled
from bagwise.rows.host import HostBlock
from bagwise.rows.margins import HALVINGS, Margins, Scout, Seen, named, scout_rows, weigh_rows
from bagwise.tolerances import DECIDED
from rows.planted import label, plant

RULES = [
    *(Everything(), Means(), ExactlyOne(), AtLeastOne()),
    *(SoftLabels(), SoftLabels().start(), SoftLabels(0.3, 0.4), SoftLabels(0.3, variance=False)),
    *(SoftWitness(), SoftWitness(3), Hardened(SoftWitness()), Given(AtLeastOne())),
]
T = 0.7


def weigh(rule, z, bags, labels):
    """Return the weights of all rows as positives and negatives, bag by bag."""
    up, down = np.zeros(len(z)), np.repeat(labels.weight, bags.sizes)
    for i, (a, b) in enumerate(zip(bags.offsets, bags.offsets[1:], strict=False)):
        if labels.positive[i] and labels.weight[i] > 0:
            facts = NO_FACTS._replace(given=None if labels.given is None else labels.given[a:b])
            p = rule.assign(Segments(np, np.array([b - a])), z[a:b], T, facts)
            p = np.where(p < DECIDED, 0.0, np.where(p > 1 - DECIDED, 1.0, p))
            up[a:b] = labels.weight[i] * p
            down[a:b] = labels.weight[i] * (1 - p) * rule.rest_is_negative
    return up, down


def expect(X, z, up, down):
    """Return the sums of the module's docstring."""
    rise, fall = 2 * up * np.maximum(0, 1 - z), 2 * down * np.maximum(0, 1 + z)
    s = 2 * (up * (z < 1) + down * (z > -1))
    numbers = rise.sum(), fall.sum(), rise @ np.maximum(0, 1 - z) / 2, fall @ (1 + z) / 2, s.sum()
    return numbers, np.stack([rise @ X, fall @ X, s @ X]), (X * s[:, None]).T @ X


def draw(labels, bags, seed=2):
    rng = np.random.default_rng(seed)
    given = 1.0 * (rng.random(bags.n_instances) < 0.5)
    here, there = (Place(rng.normal(size=bags.n_features), rng.normal()) for _ in range(2))
    return replace(labels, given=given), here, there


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sums_are_those_of_a_plain_loop(rule):
    bags, positive = plant()
    labels, here, anchor = draw(label(positive), bags)
    look = Margins(here, Assignment(rule, anchor, T), labels, exact=True)
    (found,) = Rows(bags.X, bags.offsets).run_pass([look])
    X, z = bags.X, bags.X @ here.coef + here.intercept
    up, down = weigh(rule, X @ anchor.coef + anchor.intercept, bags, labels)
    if rule.merges:
        keep = ~np.repeat(positive, bags.sizes)
        starts = bags.offsets[:-1][positive]
        means = np.stack([X[a:b].mean(0) for a, b in zip(starts, bags.offsets[1:][positive],
                                                         strict=True)])  # fmt: skip
        X = np.concatenate([means, X[keep]])
        up = np.r_[labels.weight[positive], 0 * up[keep]]
        down = np.r_[0 * labels.weight[positive], np.repeat(labels.weight, bags.sizes)[keep]]
        z = X @ here.coef + here.intercept
    numbers, vectors, matrix = expect(X, z, up, down)
    np.testing.assert_allclose(found.numbers[:5], numbers, rtol=1e-11)
    np.testing.assert_allclose(found.vectors, vectors, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.matrix, matrix, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("since", [False, True])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_compiled_loops_are_those_of_the_reference(rule, since):
    bags, positive = plant()
    labels, here, there = draw(label(positive), bags)
    if since:
        known = np.random.default_rng(3).choice([-1, 0, 0, 0, 0, 1], bags.n_instances)
        labels = replace(labels, known=known)
    block, known = HostBlock(bags.X, bags.sizes), labels.know(np, bags.sizes, np.asarray)
    p, q = Assignment(rule, there, T), Assignment(rule, here, 2 * T)
    look = Margins(here, p, labels, (there, q) if since and not rule.merges else None)
    seen = Seen(block, known, look)
    for ours, theirs in zip(weigh_compiled(seen, look), weigh_rows(seen, look), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)
    ahead = Scout(here, there, p, labels)
    risks = scout(seen, ahead)
    np.testing.assert_allclose(risks, scout_rows(seen, ahead), rtol=1e-12)
    for k in (0, 1, HALVINGS):
        coef = here.coef + 0.5**k * (there.coef - here.coef)
        place = Place(coef, here.intercept + 0.5**k * (there.intercept - here.intercept))
        _, numbers = weigh_rows(seen, replace(look, at=place))
        assert risks[k] == pytest.approx(numbers[2] + numbers[3], rel=1e-10)


@pytest.mark.parametrize("rule", RULES[2:], ids=str)
def test_the_change_of_the_hessian_is_the_difference_of_two(rule):
    bags, positive = plant()
    labels, here, there = draw(label(positive), bags)
    rows, p, q = Rows(bags.X, bags.offsets), Assignment(rule, here, T), Assignment(rule, there, T)
    old, new = rows.run_pass([Margins(here, p, labels), Margins(there, q, labels)])
    (change,) = rows.run_pass([Margins(there, q, labels, since=(here, p))])
    np.testing.assert_allclose(change.matrix, new.matrix - old.matrix, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(change.vectors[2], new.vectors[2] - old.vectors[2], atol=1e-9)
    np.testing.assert_array_equal(change.vectors[:2], new.vectors[:2])


def test_soft_curvatures_enter_on_a_grid():
    bags, positive = plant()
    labels, here, _ = draw(label(positive), bags)
    look = Margins(here, Assignment(SoftLabels(), here, T), labels)
    rows = Rows(bags.X, bags.offsets)
    coarse, exact = rows.run_pass([look, replace(look, exact=True)])
    assert 0 < np.linalg.norm(coarse.matrix - exact.matrix) < 0.1 * np.linalg.norm(exact.matrix)
    np.testing.assert_array_equal(coarse.numbers[:4], exact.numbers[:4])


def test_comparisons_of_assignments():
    bags, positive = plant()
    labels, here, there = draw(label(positive), bags)
    soft, rows = SoftLabels(0.3, 0.4), Rows(bags.X, bags.offsets)
    p, q = Assignment(soft, here, T), Assignment(soft, there, T)
    look = Margins(here, p, labels, before=q, coldest=1e-3)
    (found,) = rows.run_pass([look])
    seen = named(found.numbers, found.maxima)
    counted = positive & (labels.weight > 0)
    inside, segments = np.repeat(counted, bags.sizes), Segments(np, bags.sizes[counted])
    values = [
        soft.assign(segments, (bags.X @ at.coef + at.intercept)[inside], T, NO_FACTS)
        for at in (here, there)
    ]
    share = labels.weight[counted] / labels.C
    expected = {
        "divergence": share @ soft.compare(segments, *values)[1],
        "entropy": share @ soft.compare(segments, *values)[0],
        "penalty": share @ soft.penalize(segments, values[0]),
        "positives": share @ segments.sum(values[0]),
        "moved": abs(values[0] - values[1]).max(),
    }
    for name, value in expected.items():
        assert seen[name] == pytest.approx(value, rel=1e-10), name
    (same,) = rows.run_pass([replace(look, before=p)])
    cold = soft.assign(segments, (bags.X @ here.coef + here.intercept)[inside], 1e-3, NO_FACTS)
    assert named(same.numbers, same.maxima)["moved"] == 0
    assert named(same.numbers, same.maxima)["undecided"] == pytest.approx(
        abs(values[0] - cold).max()
    )


@pytest.mark.torch
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_tensors_have_the_sums_of_arrays(rule, offset):
    from bagwise.rows import make_rows

    bags, positive = plant(offset=offset)
    labels, here, there = draw(label(positive), bags)
    p, q = Assignment(rule, here, T), Assignment(rule, there, T)
    since = None if rule.merges else (there, q)
    look = Margins(here, p, labels, since, before=q, coldest=1e-3, answers=not rule.merges)
    looks = [look, Scout(here, there, p, labels)]
    on_host, ahead = make_rows(bags.X, bags.offsets).run_pass(looks)
    on_device, found = make_rows(bags.to("cpu").X, bags.offsets).run_pass(looks)
    np.testing.assert_allclose(found.numbers, ahead.numbers, rtol=1e-11)
    for name in ("numbers", "maxima", "vectors"):
        ours, theirs = getattr(on_host, name), getattr(on_device, name)
        np.testing.assert_allclose(theirs, ours, rtol=1e-11, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(on_device.matrix.numpy(), on_host.matrix, rtol=1e-9, atol=1e-9)
    if look.answers:
        ours, theirs = (np.concatenate(sums.answers) for sums in (on_host, on_device))
        np.testing.assert_allclose(theirs, ours, atol=1e-12)


def test_a_look_does_not_depend_on_its_company(monkeypatch):
    monkeypatch.setattr(host, "BLOCK_BYTES", 512)
    bags, positive = plant(dtype=np.float32)
    labels, here, there = draw(label(positive), bags)
    looks = [Margins(here, Assignment(rule, there, T), labels) for rule in RULES]
    rows = Rows(bags.X, bags.offsets)
    for look, sums in zip(looks, rows.run_pass(looks), strict=True):
        (alone,) = rows.run_pass([look])
        np.testing.assert_array_equal(alone.matrix, sums.matrix)
        np.testing.assert_array_equal(alone.numbers, sums.numbers)


def test_a_kept_block_does_not_mix_up_labels():
    bags, positive = plant()
    labels, here, there = draw(label(positive), bags)
    rows, p = Rows(bags.X, bags.offsets), Assignment(SoftWitness(), there, T)
    looks = [Margins(here, p, each) for each in (labels, replace(labels, positive=~positive))]
    together = rows.run_pass(looks)
    for look, sums in zip(looks, together, strict=True):
        (alone,) = Rows(bags.X, bags.offsets).run_pass([look])
        np.testing.assert_array_equal(alone.matrix, sums.matrix)
        (again,) = rows.run_pass([look])
        np.testing.assert_array_equal(again.vectors, sums.vectors)
