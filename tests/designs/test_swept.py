"""Sums of a pass against brute force, and the row state that passes leave behind."""

from dataclasses import replace

import numpy as np
import pytest

from bagwise.assumptions import AtLeastOne, ExactlyOne
from bagwise.assumptions.rules import UNCHANGED, Choose, Soften
from bagwise.assumptions.soft import SoftLabels, SoftWitness
from bagwise.bags.segments import expand
from bagwise.designs import Dense, swept
from bagwise.designs.swept import Labels
from bagwise.losses import SquaredHinge
from bagwise.problems import Problem
from bagwise.rowstores import blocks


def ragged(seed=0, n_bags=12, n_features=3, C=0.7):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, n_bags))])
    X = rng.normal(size=(offsets[-1], n_features))
    positive = rng.random(n_bags) < 0.5
    positive[:2] = True, False
    weight = C * rng.uniform(0.5, 2, n_bags)
    return X, Labels(offsets, positive, weight, C, rest_is_negative=True), rng


def problem_of(X, labels, p):
    inside = expand(labels.positive, labels.offsets)
    weight, spread = expand(labels.weight, labels.offsets), np.zeros(len(X))
    spread[inside] = p
    rest = 1 - spread if labels.rest_is_negative else 0.0
    negative = np.where(inside, rest, 1.0)
    return Problem(Dense(X), weight * spread, weight * negative, SquaredHinge())


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "CACHE_BYTES", 8 * 3 * 10)  # ten rows of three features
    monkeypatch.setattr(swept, "_FEWEST_ROWS", 6)


@pytest.mark.parametrize("rest_is_negative", [True, False])
def test_sums_are_those_of_the_problem(small_blocks, rest_is_negative):
    X, labels, rng = ragged()
    labels = replace(labels, rest_is_negative=rest_is_negative)
    rows = Dense(X).label(labels)
    assert len(rows.shards) > 1
    p = rng.random(len(rows.assignment))
    rows.assignment = p
    coef, intercept = rng.normal(size=3), 0.3
    sums = rows.sweep(coef, intercept)
    problem, z = problem_of(X, labels, p), X @ coef + intercept
    curvature, _ = problem.quadratic(z)
    up, down = problem.duals(z)
    np.testing.assert_allclose(sums.hessian, X.T @ (curvature[:, None] * X), rtol=1e-6)
    np.testing.assert_allclose(sums.mean_sum, curvature @ X, rtol=1e-6)
    np.testing.assert_allclose(sums.rise - sums.fall, (up - down) @ X, rtol=1e-12)
    assert sums.mass == pytest.approx(curvature.sum(), rel=1e-6)
    assert sums.risk == pytest.approx(problem.risk(z), rel=1e-12)
    assert sums.dual_objective(1.0) == pytest.approx(problem.dual_objective(up, down), rel=1e-10)


@pytest.mark.parametrize("assumption", [AtLeastOne(), ExactlyOne()])
def test_a_hard_rule_assigns_as_the_assumption_does(small_blocks, assumption):
    X, labels, rng = ragged(seed=2)
    rows, coef = Dense(X).label(labels), rng.normal(size=3)
    sums = rows.sweep(coef, -0.1, Choose(assumption, enters=True))
    inside = expand(labels.positive, labels.offsets)
    offsets = np.concatenate([[0], np.cumsum(np.diff(labels.offsets)[labels.positive])])
    expected = assumption.map((X @ coef - 0.1)[inside], offsets)
    np.testing.assert_array_equal(rows.assignment, expected)
    assert sums.tally.changed == np.count_nonzero(expected)  # everything was 0
    rows.revert()
    assert not rows.assignment.any()


@pytest.mark.parametrize("softening", [SoftLabels(), SoftLabels(0.3, 0.4), SoftWitness(2)])
def test_a_soft_rule_softens_as_the_assumption_does(small_blocks, softening):
    X, labels, rng = ragged(seed=3)
    rows, coef = Dense(X).label(labels), rng.normal(size=3)
    offsets = np.concatenate([[0], np.cumsum(np.diff(labels.offsets)[labels.positive])])
    start = softening.start(offsets)
    rows.assignment = start
    rule = Soften(softening, SquaredHinge(), labels.C, 0.5, 1e-6, enters=True)
    tally = rows.sweep(coef, 0.0, rule).tally
    z = (X @ coef)[expand(labels.positive, labels.offsets)]
    loss = SquaredHinge()
    costs = labels.C * loss.value(-z), labels.C * loss.value(z)
    expected = softening.step(*costs, offsets, 0.5, start)
    weight = labels.weight[labels.positive] / labels.C
    np.testing.assert_allclose(rows.assignment, expected.p, rtol=1e-12)
    assert tally.entropy == pytest.approx(weight @ expected.entropy)
    assert tally.divergence == pytest.approx(weight @ expected.divergence)
    assert tally.penalty == pytest.approx(weight @ softening.penalty(expected.p, offsets))
    assert tally.moved == pytest.approx(np.abs(expected.p - start).max(), rel=1e-5)
    assert tally.undecided == np.inf  # what moved is not asked about the coldest temperature
    rows.assignment = rest = _fixed_point(softening, costs, offsets, start)
    tally = rows.sweep(coef, 0.0, rule).tally
    assert tally.moved <= UNCHANGED
    cold = softening.step(*costs, offsets, 1e-6, rest)
    assert tally.undecided == pytest.approx(np.abs(cold.p - rest).max(), rel=1e-4)


def _fixed_point(softening, costs, offsets, p):
    for _ in range(100):
        p = softening.step(*costs, offsets, 0.5, p).p
    return p


def test_the_hessian_is_kept_within_a_tenth_and_exact_once_sharpened():
    X, labels, rng = ragged(seed=5, n_bags=80)
    labels = replace(labels, rest_is_negative=False)
    rows = Dense(X).label(labels)
    p = np.full(len(rows.assignment), 0.5)
    rows.assignment = p
    coef = 0.3 * rng.normal(size=3)
    rows.sweep(coef, 0.0)
    rows.assignment = p = p * rng.uniform(0.95, 1.0, len(p))
    exact = problem_of(X, labels, p)
    curvature = exact.quadratic(X @ coef)[0]
    lazy = rows.sweep(coef, 0.0).hessian
    wanted = X.T @ (curvature[:, None] * X)
    assert 1e-6 < np.linalg.norm(lazy - wanted) / np.linalg.norm(wanted) < 0.1
    rows.sharpen()
    sharp = rows.sweep(coef, 0.0).hessian
    np.testing.assert_allclose(sharp, wanted, rtol=1e-6, atol=1e-6 * wanted.max())


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_refined_sums_are_those_of_float64(dtype):
    X, labels, rng = ragged(seed=5, n_bags=80)
    X, coef = X.astype(dtype), rng.normal(size=3)
    coarse, exact = Dense(X).label(labels), Dense(X.astype(float)).label(labels)
    coarse.assignment = exact.assignment = rng.random(len(exact.assignment))
    wanted = exact.sweep(coef, 0.3)
    assert not np.allclose(coarse.sweep(coef, 0.3).rise, wanted.rise, rtol=1e-9, atol=0)
    assert [coarse.refine(), coarse.refine(), exact.refine()] == [True, False, False]
    found = coarse.sweep(coef, 0.3)
    for name in ("rise", "fall", "hessian", "risk_up", "falls"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12)


def test_a_hessian_that_lost_its_digits_is_made_anew():
    X, labels, rng = ragged(seed=6, n_bags=40)
    X[:, 0] *= np.where(rng.random(len(X)) < 0.1, 1e8, 1e-3)
    rows = Dense(X).label(labels)
    rows.assignment = np.ones(len(rows.assignment))
    rows.sweep(np.zeros(3), 0.0)
    rows.sweep(np.array([1.0, 0, 0]), 0.0)  # the large rows leave: only their rounding is left
    sums = rows.sweep(np.array([1.0, 0, 0]), 0.0)
    problem = problem_of(X, labels, np.ones(len(rows.assignment)))
    curvature = problem.quadratic(X[:, 0])[0]
    wanted = X.T @ (curvature[:, None] * X)
    np.testing.assert_allclose(sums.hessian, wanted, rtol=1e-5, atol=1e-8 * wanted.max())
