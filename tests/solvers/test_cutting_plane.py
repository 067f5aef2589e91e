"""Cutting planes against a general QP solver, and the rules of the method."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.designs import Gram, matrix_design
from bagwise.solvers.block_cd import block_descent
from bagwise.solvers.cutting_plane import BagScores, cutting_plane
from reference.structured import by_clarabel, draw

STRENGTHS = {"none": (0, 0), "bags": (3.0, 0), "instances": (0, 2.0), "both": (3.0, 2.0)}


def run(case, terms, **options):
    return cutting_plane(matrix_design(case.X), case.offsets, terms, case.witnesses, **options)


def point(solution):
    return np.append(solution.coef, solution.intercept)


@pytest.mark.parametrize("strengths", STRENGTHS.values(), ids=STRENGTHS)
@pytest.mark.parametrize("negatives", ["bags", "instances", "witnesses"])
@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_equals_clarabel_on_problem_2(strengths, negatives, signed, weighted):
    case = draw(7, signed=signed, weighted=weighted)
    for C in (0.5, 50.0):
        terms = case.terms(C, *strengths, negatives=negatives)
        solution, (w, objective) = run(case, terms), by_clarabel(case, terms)
        assert np.abs(point(solution) - w).max() <= 1e-6
        assert abs(solution.objective - objective) <= 1e-8 * max(1, C)
        assert solution.converged


@given(
    st.integers(0, 10**6),
    st.floats(-1, 3),
    st.floats(-2, 2),
    st.sampled_from(sorted(STRENGTHS)),
    st.booleans(),
)
def test_the_rules_of_the_method(seed, log_C, log_mu, which, signed):
    case = draw(seed, signed=signed)
    strengths = np.array(STRENGTHS[which]) * 10**log_mu
    eps = 1e-5
    terms = case.terms(10**log_C, *strengths, eps=eps)
    solution = run(case, terms)
    dual = np.array([record["dual"] for record in solution.history])
    scale = sum(term.weight for term in terms)
    assert np.all(np.diff(dual) >= -1e-9 * scale), "the restricted dual fell"
    n_cuts = [record["cuts"] for record in solution.history]
    for before, after in zip([0, *n_cuts], n_cuts, strict=False):
        assert after - before <= len(terms), "more than one cut a term"
    last = solution.history[-1]
    assert all(last[term.name] <= term.eps for term in terms)
    assert solution.gap <= sum(term.weight * term.eps for term in terms) + 1e-9 * scale
    exact = by_clarabel(case, terms)[1]
    assert exact - 1e-8 * scale <= solution.objective <= exact + solution.gap + 1e-8 * scale


def test_a_term_gets_a_cut_exactly_while_it_is_violated_by_more_than_eps():
    case = draw(3)
    terms = case.terms(20.0, 5.0, 2.0)
    loose = [type(t)(**{**vars(t), "eps": 1e-1 if t.name == "loss" else 1e-7}) for t in terms]
    solution = run(case, loose)
    cuts = 0
    for record in solution.history:
        violated = [record[t.name] > t.eps for t in loose]
        cuts += sum(violated)
        assert record["cuts"] == cuts  # so few iterations that none is dropped
    assert sum(r["loss"] > 1e-1 for r in solution.history) < sum(
        r["bag_edges"] > 1e-7 for r in solution.history
    )


@pytest.mark.parametrize("intercept", [True, False])
def test_kernel_and_sparse_rows_give_the_same(intercept):
    case = draw(5)
    terms = case.terms(20.0, 2.0, 1.0)
    args = case.offsets, terms, case.witnesses
    dense = cutting_plane(matrix_design(case.X), *args, fit_intercept=intercept)
    sparse = cutting_plane(matrix_design(sp.csr_array(case.X)), *args, fit_intercept=intercept)
    kernel = cutting_plane(Gram(case.X @ case.X.T), *args, fit_intercept=intercept)
    np.testing.assert_allclose(sparse.coef, dense.coef, atol=1e-8)
    np.testing.assert_allclose(kernel.scores, dense.scores, atol=1e-6)
    np.testing.assert_allclose(case.X.T @ kernel.coef, dense.coef, atol=1e-6)
    assert (dense.intercept == 0) == (not intercept)
    assert dense.residual <= 1e-10


def test_cuts_of_other_witnesses_stay_valid_and_help():
    case = draw(11, n_bags=60, d=8)
    terms = case.terms(50.0, 5.0, 0)
    first = run(case, terms)
    moved = BagScores.of(first.scores, case.offsets).top_rows
    args = matrix_design(case.X), case.offsets, terms, moved
    cold, warm = cutting_plane(*args), cutting_plane(*args, cuts=first.cuts)
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-6)
    assert warm.n_iter < cold.n_iter


def test_stopping_early_is_told():
    case = draw(1)
    solution = run(case, case.terms(50.0, 5.0, 0), max_iter=2)
    assert not solution.converged
    assert solution.gap > 1e-3


def test_known_cuts_found_again_and_again_end_it(monkeypatch):
    """Scores and cuts that differ by rounding leave one violated for ever."""
    case = draw(3)
    terms = case.terms(10.0, 0, 0)
    exact = type(terms[0]).evaluate

    def rounded(term, scores):
        plane = exact(term, scores)
        return replace(plane, value=plane.value + 1e-3)

    monkeypatch.setattr(type(terms[0]), "evaluate", rounded)
    solution = run(case, terms, max_iter=300)
    assert not solution.converged
    assert solution.n_iter < 100


def test_single_precision_ends_at_its_own():
    case = draw(4, n_bags=60, d=8)
    terms = case.terms(50.0, 5.0, 0, eps=1e-12)
    args = case.offsets, terms, case.witnesses
    single = cutting_plane(matrix_design(case.X.astype(np.float32)), *args, max_iter=500)
    double = cutting_plane(matrix_design(case.X.astype(np.float32).astype(float)), *args)
    assert single.converged
    np.testing.assert_allclose(single.coef, double.coef, atol=1e-3)
    loss, witnesses = terms[0], case.witnesses
    assert block_descent(matrix_design(case.X.astype(np.float32)), loss, witnesses).converged
