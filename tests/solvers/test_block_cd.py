"""Block descent on bags against a general QP solver."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, strategies as st

from bagwise.designs import matrix_design
from bagwise.solvers.block_cd import block_descent
from reference.structured import by_clarabel, draw


def point(solution):
    return np.append(solution.coef, solution.intercept)


@given(st.integers(0, 10**6), st.floats(-1, 3), st.sampled_from(["bags", "instances", "witnesses"]))
def test_block_descent_equals_clarabel(seed, log_C, negatives):
    case = draw(seed)
    terms = case.terms(10**log_C, 0, 0, negatives=negatives)
    solution = block_descent(matrix_design(case.X), terms[0], case.witnesses)
    w, objective = by_clarabel(case, terms)
    scale = max(1.0, 10**log_C)
    assert abs(solution.objective - objective) <= 1e-8 * scale
    assert np.abs(point(solution) - w).max() <= 1e-6 * scale
    assert solution.gap <= 2e-10 * scale
    lower = np.array([record["dual"] for record in solution.history])
    assert np.all(np.diff(lower) >= -1e-9 * scale)


def test_block_descent_from_a_start_and_without_an_intercept():
    case = draw(2, n_bags=80, d=10)
    loss = case.terms(50.0, 0, 0)[0]
    design = matrix_design(sp.csr_array(case.X))
    cold = block_descent(design, loss, case.witnesses, fit_intercept=False)
    warm = block_descent(design, loss, case.witnesses, fit_intercept=False, start=cold.dual)
    assert cold.intercept == warm.intercept == 0
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.coef, cold.coef, atol=1e-5)
    stopped = block_descent(design, loss, case.witnesses, max_passes=1)
    assert not stopped.converged
