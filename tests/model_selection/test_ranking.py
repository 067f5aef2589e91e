"""Ranks and their tests against cases computed by hand."""

from dataclasses import replace

import numpy as np
import pytest

from bagwise.model_selection import rank_methods
from bagwise.model_selection.ranking import holm, limits_of_best


def test_friedman_by_its_formula_without_ties():
    values = np.random.default_rng(1).random((6, 5))
    ranking = rank_methods(list("abcde"), values)
    squares = np.sum(np.square(ranking.ranks))
    assert ranking.statistic == pytest.approx(12 * 6 / 30 * (squares - 5 * 36 / 4))


@pytest.mark.parametrize(
    ("better", "expected"),
    [(1, {"a": 3.0, "b": 1.75, "c": 1.25}), (-1, {"a": 1.0, "b": 2.25, "c": 2.75})],
)
def test_ties_share_their_ranks_and_lower_can_be_better(better, expected):
    ranking = rank_methods(list("abc"), [[1.0, 2.0, 2.0], [1.0, 2.0, 3.0]], better=better)
    assert dict(zip(ranking.names, ranking.ranks, strict=True)) == expected
    assert list(ranking.ranks) == sorted(ranking.ranks), "the best is not first"


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_demsars_quantiles(k, q):
    values = np.random.default_rng(0).random((14, k))
    ranking = rank_methods([str(i) for i in range(k)], values)
    expected = q * np.sqrt(k * (k + 1) / (6 * 14))
    assert ranking.critical_difference == pytest.approx(expected, rel=1e-3)


def test_all_tied_is_no_difference():
    ranking = rank_methods(["a", "b", "c"], np.ones((4, 3)))
    assert (ranking.statistic, ranking.p_value, ranking.ranks) == (0.0, 1.0, (2.0, 2.0, 2.0))
    assert ranking.cliques() == [(0, 2)]


@pytest.mark.parametrize(
    ("ranks", "critical", "cliques"),
    [
        ([1.0, 2.0, 3.0], 0.5, []),
        ([1.0, 2.0, 3.0], 1.0, [(0, 1), (1, 2)]),
        ([1.0, 2.0, 3.0], 2.0, [(0, 2)]),
        ([1.0, 1.1, 1.2, 3.0], 1.9, [(0, 2), (1, 3)]),
    ],
)
def test_cliques_are_the_longest_runs(ranks, critical, cliques):
    ranking = rank_methods(list("abc"), [[3, 2, 1], [3, 2, 1]])
    ranking = replace(ranking, ranks=tuple(ranks), critical_difference=critical)
    assert ranking.cliques() == cliques


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2, 3]], "two data sets or more"),
        ([[1, 2], [2, 3]], "one column for each of the 3"),
        ([[1, 2, np.nan], [1, 2, 3]], "must be finite"),
    ],
)
def test_bad_values_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        rank_methods(["a", "b", "c"], values)


@pytest.mark.parametrize(("n_methods", "expected"), [(2, 1.645), (5, 2.16), (9, 2.38)])
def test_limits_are_dunnetts_for_independent_methods(n_methods, expected):
    """Dunnett's one-sided 5 % points for correlation 1/2 and infinite degrees of freedom."""
    draws = np.random.default_rng(0).normal(size=(200_000, n_methods))
    limits = limits_of_best(draws, 10**6)
    assert limits == pytest.approx(np.full(n_methods, expected), abs=0.02)


def test_equal_methods_have_no_error_between_them():
    draws = np.random.default_rng(0).normal(size=(1000, 1))
    assert limits_of_best(draws, 50) == pytest.approx([0.0])
    assert limits_of_best(np.hstack([draws, draws]), 50) == pytest.approx([0.0, 0.0])


def test_holm_by_hand_and_never_below_the_p_values():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    p = np.random.default_rng(0).random(30)
    assert (holm(p) >= p).all()
    assert (np.argsort(holm(p), kind="stable")[:1] == p.argmin()).all()
    assert holm(p).max() == 1.0
