"""Small quadratic programs: the master problem's bound is true and tight."""

import numpy as np
from hypothesis import given, strategies as st

from bagwise.solvers.qp import plane_shares, quadratic_program, simplex_qp


@given(st.integers(0, 10**6), st.integers(1, 12))
def test_simplex_qp_value_bounds_the_master_problem_tightly(seed, k):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(k, 5)) * rng.exponential(3.0, size=(k, 1))
    b, lambda_ = rng.normal(size=k), 2.0
    alpha, value = simplex_qp(A @ A.T / lambda_, b)
    assert np.all(alpha >= 0)
    assert alpha.sum() <= 1 + 1e-12
    w = -A.T @ alpha / lambda_
    primal = lambda_ / 2 * w @ w + max(0.0, float(np.max(A @ w + b)))
    assert value <= primal + 1e-12
    assert primal - value <= 1e-5 * max(1.0, float(np.max(A * A)))


def test_memory_that_the_solver_never_wrote_is_not_returned():
    """A first factorization that fails leaves piqp's result as it was allocated."""
    n = 18
    steep = np.where(np.arange(n) % 2 == 0, 1e111, 0.0)[None, :]
    between = (np.vstack([steep, steep[:, ::-1]]), -np.ones(2), np.ones(2))
    program = quadratic_program(np.eye(n), -np.ones(n), np.zeros(n), between=between)
    assert program.status == "Status.PIQP_NUMERICS"
    assert all(np.all(np.isnan(part)) for part in program[:4])


def test_sums_that_cannot_bind_are_left_out(capfd):
    """Piqp says on stderr what it takes for infinity, which no user can mend."""
    shares, _ = plane_shares(
        1e300 * np.eye(2), np.ones(2), np.zeros(2, dtype=int), np.ones(1), ".", eps_abs=1e-10
    )
    assert np.all(np.isfinite(shares))
    assert capfd.readouterr() == ("", "")


def test_planes_through_the_origin_gain_nothing():
    """Heights of 0 give no scale to measure by: piqp was asked to divide by it."""
    alpha, value = simplex_qp(np.array([[263.0]]), np.zeros(1))
    assert alpha.tolist() == [0.0]
    assert value == 0.0
