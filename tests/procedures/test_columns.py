"""Growing the pool: the oracle against brute force, the end against the enumerated relaxation."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.losses import MarginBand
from bagwise.procedures import columns
from bagwise.procedures.columns import Choices, grow, margin_moments, search_violated
from bagwise.solvers.column_newton import column_newton
from bagwise.solvers.saddle import Saddle

SIZES = (2, 3, 1, 4)


def make_choices(sizes=SIZES, k=1, n_negatives=0):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Choices(np.arange(offsets[-1]), offsets, int(offsets[-1]) + n_negatives, k)


def every_assignment(choices):
    bags = zip(choices.offsets[:-1], choices.offsets[1:], choices.counts, strict=True)
    of_bags = [list(combinations(range(first, last), count)) for first, last, count in bags]
    return [np.concatenate(parts) for parts in product(*of_bags)]


def make_saddle(seed, choices, n_negatives=6, lam=5.0):
    rng = np.random.RandomState(seed)
    X = rng.randn(choices.n_units, 4)
    p = len(choices.counts)
    weight = np.concatenate([np.full(p, lam / p), np.full(n_negatives, lam / 3)])
    return Saddle(X @ X.T, np.arange(len(choices.rows), len(X)), weight, MarginBand(0.4, 0.5))


def grown(saddle, choices, seed=0, **options):
    settings = {"tol": 1e-9, "max_columns": 200, **options}
    rng = np.random.RandomState(seed)
    start = choices.random(rng, 1)[0]

    def master(saddle, last, tol):
        return column_newton(saddle, last, tol=tol)

    return grow(saddle, choices, start, master, random_state=rng, **settings)


# Choices -----------------------------------------------------------------------------------------


@given(k=st.integers(1, 5), seed=st.integers(0, 100))
def test_choices_take_k_distinct_instances_of_every_bag(k, seed):
    choices = make_choices(k=k)
    drawn = choices.random(np.random.RandomState(seed), 3)
    for chosen in drawn:
        assert len(set(chosen)) == len(chosen)
        bag = np.searchsorted(choices.offsets, chosen, side="right") - 1
        np.testing.assert_array_equal(np.bincount(bag), np.minimum(k, SIZES))
        weights = choices.weights(chosen)
        np.testing.assert_allclose(np.asarray(weights.sum(axis=1)).ravel(), 1)


def test_the_top_is_the_highest_scores():
    choices = make_choices(k=2)
    scores = np.array([3.0, 1, 0, 5, 4, 7, 2, 9, 8, 1])
    np.testing.assert_array_equal(choices.top(scores), [0, 1, 3, 4, 5, 7, 8])
    np.testing.assert_allclose(choices.means_of(scores, choices.top(scores)), [2, 4.5, 7, 8.5])


def test_means_are_means():
    choices = make_choices()
    values = np.arange(10.0)
    np.testing.assert_allclose(choices.means() @ values, [0.5, 3, 5, 7.5])


# The oracle --------------------------------------------------------------------------------------


def squared_norm(X, w, choices, beta, chosen):
    rows = choices.weights(chosen) @ X
    return float(np.sum((w + beta @ rows) ** 2) - w @ w)


@pytest.mark.parametrize("k", [1, 2])
@given(seed=st.integers(0, 200))
def test_the_oracle_finds_the_best_assignment_from_every_start(seed, k):
    rng = np.random.RandomState(seed)
    choices = make_choices(k=k)
    X = np.column_stack([rng.randn(10, 3), np.ones(10)])  # the constant feature
    w, beta = rng.randn(4), rng.randn(4)  # beta of both signs: above the band it is negative
    every = every_assignment(choices)
    kernel = X @ X.T
    found, ends = search_violated(kernel, X @ w, beta, choices, np.stack(every))
    values = [squared_norm(X, w, choices, beta, chosen) for chosen in every]
    assert ends[0] == pytest.approx(max(values), rel=1e-9, abs=1e-9)
    assert np.all(np.diff(ends) <= 0)
    assert len(np.unique(found, axis=0)) == len(found)
    for chosen, value in zip(found, ends, strict=True):
        own = squared_norm(X, w, choices, beta, chosen)
        assert own == pytest.approx(value, rel=1e-9, abs=1e-9)


@given(seed=st.integers(0, 200))
def test_one_ascent_ends_where_no_single_change_helps(seed):
    rng = np.random.RandomState(seed)
    choices = make_choices()
    X = np.column_stack([rng.randn(10, 3), np.ones(10)])
    w, beta = rng.randn(4), rng.randn(4)
    start = choices.random(rng, 1)
    kernel = X @ X.T
    (end,), (value,) = search_violated(kernel, X @ w, beta, choices, start)
    assert value >= squared_norm(X, w, choices, beta, start[0]) - 1e-9
    for bag in range(4):
        for j in range(choices.offsets[bag], choices.offsets[bag + 1]):
            changed = end.copy()
            changed[bag] = j
            assert squared_norm(X, w, choices, beta, changed) <= value + 1e-9


# Growth ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("seed", "k"), [(0, 1), (1, 1), (0, 2)])
def test_the_grown_pool_reaches_the_enumerated_relaxation(seed, k):
    choices = make_choices((2, 3, 3), k=k, n_negatives=6)
    saddle = make_saddle(seed, choices)
    growth = grown(saddle, choices)
    everything = saddle
    for chosen in every_assignment(choices):
        everything = everything.with_columns([choices.weights(chosen)])
    exact = column_newton(everything)
    assert growth.converged
    assert growth.solution.upper == pytest.approx(exact.upper, rel=1e-7)
    assert growth.solution.gap <= 1e-6
    assert growth.history[-1]["heuristic_gap"] <= 1e-8 * exact.upper
    assert len(growth.assignment.columns) < len(everything.columns)


def test_the_end_is_declared_after_a_hundred_random_starts(monkeypatch):
    drawn, draw = [], Choices.random
    monkeypatch.setattr(
        Choices, "random", lambda self, rng, n: drawn.append(n) or draw(self, rng, n)
    )
    choices = make_choices(n_negatives=6)
    growth = grown(make_saddle(0, choices), choices)
    assert drawn[-1] >= 100
    assert growth.history[-1]["n_searches"] >= drawn[-1]


def test_growth_lowers_the_value_and_the_heuristic_gap_is_no_smaller_than_the_certified_one():
    choices = make_choices(n_negatives=6)
    records = grown(make_saddle(1, choices), choices).history
    assert np.all(np.diff([record["objective"] for record in records]) <= 1e-7)
    assert all(record["heuristic_gap"] >= record["gap"] - 1e-9 for record in records)


def test_a_full_pool_stops_and_says_so():
    choices = make_choices(n_negatives=6)
    growth = grown(make_saddle(0, choices), choices, max_columns=2)
    assert not growth.converged
    assert len(growth.assignment.columns) == 2
    assert growth.history[-1]["heuristic_gap"] > 0


@pytest.mark.parametrize("seed", range(4))
def test_weightless_assignments_leave_and_the_end_is_the_same(seed, monkeypatch):
    """A pool that never drops anything ends at the same value; dropped ones may come back."""
    choices = make_choices(n_negatives=6)
    saddle = make_saddle(seed, choices)
    lean = grown(saddle, choices)
    monkeypatch.setattr(columns._Pool, "needed", lambda self, point: np.full(len(point.v), True))
    whole = grown(saddle, choices)
    assert len(lean.assignment.columns) <= len(whole.assignment.columns)
    assert lean.solution.upper == pytest.approx(whole.solution.upper, rel=1e-7)


def test_an_assignment_that_came_back_stays():
    choices = make_choices(n_negatives=6)
    pool = columns._Pool(make_saddle(0, choices), choices)
    first, second = choices.random(np.random.RandomState(0), 2)
    pool.add(first[None])
    pool.add(np.stack([first, second]))
    assert len(pool.members) == len(pool.saddle.columns) == 2
    point = column_newton(pool.saddle)
    without = pool.drop(replace(point, v=np.array([0.0, 1.0])))
    assert without.v.tolist() == [1.0]
    assert not pool.has(first)
    pool.add(first[None])
    assert pool.needed(replace(point, v=np.array([1.0, 0.0]))).tolist() == [True, True]


def test_growth_starts_from_what_a_center_violates():
    choices = make_choices(n_negatives=6)
    saddle = make_saddle(0, choices)
    means = saddle.only(choices.means())
    alone, helped = (
        grown(saddle, choices, center=c) for c in (None, (means, column_newton(means)))
    )
    assert alone.history[0]["n_columns"] == 1 < helped.history[0]["n_columns"]
    assert helped.solution.upper == pytest.approx(alone.solution.upper, rel=1e-7)


def test_margin_moments_are_weighted_as_the_objective():
    choices = make_choices((1, 1), n_negatives=2)
    saddle = make_saddle(0, choices, n_negatives=2)
    saddle = Saddle(saddle.K, saddle.negatives, np.array([1.0, 1.0, 2.0, 0.0]), saddle.loss)
    moments = margin_moments(saddle, np.array([1.0, 3.0, -2.0, 100.0]))
    assert moments == pytest.approx({"margin_mean": 2.0, "margin_variance": 0.5})
