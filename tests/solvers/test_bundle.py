"""Bundle methods: the bound against an independent solver, descent, planes that are dropped."""

import numpy as np
import pytest
import scipy.sparse as sp

import bagwise.solvers.bundle as bundle
from bagwise.solvers.bundle import Bundle, bmrm, nrbm
from reference.oracles import Hinges
from reference.program import minimize


class Ramps(Hinges):
    """sum_i min(2, max(0, 1 - y_i z_i)): not convex."""

    def evaluate(self, z):
        loss = np.maximum(0, 1 - self.y * z)
        return float(np.minimum(loss, 2).sum()), -self.y * ((loss > 0) & (loss < 2))


def reference(problem, lambda_):
    """Solve the hinge problem as a quadratic program with clarabel."""
    n, d = problem.X.shape
    P = sp.diags_array(np.append(np.full(d, lambda_), np.zeros(n)))
    signed = problem.y[:, None] * problem.X
    A = sp.block_array([[-signed, -sp.eye_array(n)], [None, -sp.eye_array(n)]])
    b, cost = np.append(-np.ones(n), np.zeros(n)), np.append(np.zeros(d), np.ones(n))
    return minimize(P, cost, A, b, tol=1e-8).obj_val


@pytest.mark.parametrize("lambda_", [0.1, 1.0, 10.0])
def test_bmrm_agrees_with_clarabel_and_its_bound_is_true(lambda_):
    problem = Hinges()
    exact = reference(problem, lambda_)
    found = bmrm(problem, lambda_, np.zeros(8), tol=1e-6, max_iter=500)
    assert found.converged
    assert found.objective == pytest.approx(exact, rel=1e-6)
    assert found.objective - found.gap <= exact * (1 + 1e-7)
    for record in found.history:
        assert record["lower"] <= exact * (1 + 1e-7) <= record["objective"] * (1 + 2e-7)


def test_bmrm_stopped_early_says_so_and_bounds_still():
    problem = Hinges()
    found = bmrm(problem, 0.1, np.zeros(8), tol=1e-9, max_iter=4)
    assert not found.converged
    assert found.n_iter == 4
    assert found.objective - found.gap <= reference(problem, 0.1) <= found.objective


def test_bmrm_survives_the_dropping_of_planes(monkeypatch):
    monkeypatch.setattr(bundle, "_MAX_PLANES", 12)
    problem = Hinges()
    found = bmrm(problem, 0.1, np.zeros(8), tol=1e-3, max_iter=2000)
    assert max(record["planes"] for record in found.history) <= 12
    assert found.converged
    assert found.objective == pytest.approx(reference(problem, 0.1), rel=2e-3)


def test_nrbm_on_a_convex_risk_finds_the_optimum():
    problem = Hinges()
    found = nrbm(problem, 1.0, np.zeros(8), tol=1e-5, max_iter=500)
    assert found.objective == pytest.approx(reference(problem, 1.0), rel=1e-4)
    assert found.gap == np.inf  # nothing is proven


@pytest.mark.parametrize("seed", range(3))
def test_nrbm_descends_a_non_convex_risk(seed):
    problem = Ramps(seed=seed)
    start = np.random.default_rng(seed).normal(size=8)
    found = nrbm(problem, 0.5, start)
    objectives = [record["objective"] for record in found.history]
    assert np.all(np.diff(objectives) <= 0)
    value = problem.evaluate(problem.forward(found.coef))[0] + 0.25 * found.coef @ found.coef
    assert found.objective == pytest.approx(value, rel=1e-12)
    assert found.objective < problem.evaluate(problem.forward(start))[0] + 0.25 * start @ start
    np.testing.assert_allclose(found.scores, problem.forward(found.coef), atol=1e-9)


def test_reconciled_planes_lie_below_the_best_point():
    problem, lambda_, rng = Ramps(), 0.5, np.random.default_rng(0)
    for _ in range(200):
        run = bundle._Run(problem, lambda_, 0.5 * rng.normal(size=8))
        w = 2 * rng.normal(size=8)
        place = run.place(w, problem.forward(w))
        if place.objective < run.best.objective:
            continue
        slope, height, shift = run.bundle.reconcile(run.best, place, run.plane(place)[0])
        assert slope @ run.best.w + height + shift <= run.best.risk + 1e-9


def test_bundle_keeps_the_products_of_its_planes():
    rng, planes = np.random.default_rng(0), Bundle(5, 2.0)
    for _ in range(130):  # more than it holds
        planes.add(rng.normal(size=5), float(rng.normal()))
        planes.solve()
    assert len(planes.heights) <= 100
    np.testing.assert_allclose(planes.gram, planes.slopes @ planes.slopes.T / 2.0, atol=1e-12)


@pytest.mark.parametrize("method", [bmrm, nrbm])
def test_a_gap_that_no_longer_falls_ends_it(method):
    """No gap of 0 can be reached in rounded arithmetic."""
    problem = Hinges()
    solution = method(problem, 1.0, np.zeros(problem.n_coef), tol=0.0, max_iter=10_000)
    assert not solution.converged
    assert solution.n_iter < 1000
    gaps = [record["objective"] - record["lower"] for record in solution.history]
    assert min(gaps[-100:]) >= 0.9 * min(gaps[:-100])
