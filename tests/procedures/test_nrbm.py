"""Rounds of NRBM and a convex step on ramps: brute force, bounds, and what is reported."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.optimize import minimize

from bagwise.procedures import nrbm as module
from bagwise.procedures.nrbm import restart_nrbm
from bagwise.solvers.bundle import bmrm, nrbm
from reference.oracles import Hinges


class Ramps(Hinges):
    """sum_i min(2, max(0, 1 - y_i z_i)): a difference of hinges."""

    def __init__(self, n=40, d=4, seed=0, flipped=8):
        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n, d))
        self.y = np.where(self.X[:, 0] > 0, 1.0, -1.0)
        self.y[:flipped] *= -1.0  # what a hinge cares for and a ramp gives up
        self.n_coef = d

    def evaluate(self, z):
        loss = np.maximum(0, 1 - self.y * z)
        return float(np.minimum(loss, 2).sum()), -self.y * ((loss > 0) & (loss < 2))

    def freeze(self, z):
        return Frozen(self, self.y * z < -1)


class Frozen(Ramps):
    """The convex majorizer: hinges, minus the tangents of the subtracted ones."""

    def __init__(self, ramps, given_up):
        self.X, self.y, self.n_coef = ramps.X, ramps.y, ramps.n_coef
        self.given_up = given_up

    def evaluate(self, z):
        loss = np.maximum(0, 1 - self.y * z)
        slope = -self.y * (loss > 0)
        tangent = -1 - self.y * z[...]  # of max(0, -1 - y z) where it is positive
        value = loss.sum() - tangent[self.given_up].sum()
        return float(value), slope + self.y * self.given_up


def objective(risk, alpha, w):
    return risk.value(risk.forward(w)) + alpha / 2 * w @ w


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.1, 1.0])
def test_ends_no_higher_than_nrbm_alone_and_no_direction_leads_down(seed, alpha):
    risk = Ramps(seed=seed)
    run = restart_nrbm(risk, alpha, np.zeros(4), tol=1e-4, max_iter=50)
    alone = nrbm(risk, alpha, np.zeros(4), tol=1e-4)
    assert run.converged
    assert run.solution.objective <= alone.objective * (1 + 1e-12)
    w = run.solution.coef
    assert run.solution.objective == pytest.approx(objective(risk, alpha, w), rel=1e-12)
    near = minimize(lambda v: objective(risk, alpha, v), w, method="Nelder-Mead")
    assert near.fun >= run.solution.objective * (1 - 2e-3)


def test_no_split_into_given_up_and_fitted_rows_is_far_better():
    """Brute force over which of the flipped rows are given up, each a convex problem."""
    risk, alpha = Ramps(n=12, d=2, flipped=3, seed=1), 0.5
    best = np.inf
    for pattern in product([False, True], repeat=12):
        if sum(pattern) > 3:
            continue
        given_up = np.array(pattern)

        def hinges(w, kept=~given_up):
            loss = np.maximum(0, 1 - risk.y * (risk.X @ w))
            return 2 * np.sum(~kept) + loss[kept].sum() + alpha / 2 * w @ w

        found = minimize(hinges, np.zeros(2), method="Nelder-Mead", options={"xatol": 1e-6})
        best = min(best, found.fun)
    run = restart_nrbm(risk, alpha, np.zeros(2), tol=1e-6, max_iter=50)
    assert run.solution.objective >= best - 1e-4  # the least of all ramps' minima
    assert run.solution.objective <= 1.2 * best


def test_the_gap_bounds_what_a_convex_step_can_gain():
    risk, alpha = Ramps(seed=2), 0.3
    run = restart_nrbm(risk, alpha, np.zeros(4), tol=1e-5, max_iter=50)
    w = run.solution.coef
    majorizer = risk.freeze(risk.forward(w))
    least = bmrm(majorizer, alpha, w, tol=1e-8).objective
    assert run.solution.objective - least <= run.solution.gap + 1e-4 * run.solution.objective
    assert run.solution.gap >= 0


def test_rounds_are_recorded_as_they_are_told():
    risk, seen = Ramps(seed=1), []
    run = restart_nrbm(risk, 0.1, np.zeros(4), tol=1e-5, max_iter=50, callback=seen.append)
    assert seen == run.history
    assert all(b["objective"] <= a["objective"] for a, b in pairwise(seen))
    assert seen[-1]["objective"] == run.solution.objective
    assert all(record["solver_steps"] >= 2 for record in seen)
    assert run.assignment is None
    assert run.solution.history == []


def test_the_convex_step_counts_where_nrbm_does_nothing(monkeypatch):
    def stays(risk, alpha, start, *, tol, max_iter, stop):
        there = {"coef": start, "scores": risk.forward(start)}
        value = objective(risk, alpha, start)
        return replace(nrbm(risk, alpha, start, max_iter=1), objective=value, **there)

    monkeypatch.setattr(module, "nrbm", stays)
    risk = Ramps(seed=1)
    run = restart_nrbm(risk, 0.1, np.zeros(4), tol=1e-5, max_iter=50)
    assert run.converged
    assert run.solution.objective < 0.9 * objective(risk, 0.1, np.zeros(4))
    assert run.solution.objective == pytest.approx(objective(risk, 0.1, run.solution.coef))


def test_max_iter_ends_it_and_is_told():
    risk = Ramps(seed=1)
    run = restart_nrbm(risk, 0.1, np.full(4, 2.0), tol=1e-8, max_iter=1)
    assert len(run.history) == 1
    assert not run.converged


def test_a_bundle_that_was_stopped_is_no_convergence(monkeypatch):
    monkeypatch.setattr(module, "MAX_STEPS", 1)
    run = restart_nrbm(Ramps(seed=1), 0.1, np.zeros(4), tol=1e-8, max_iter=30)
    assert not run.converged
    assert run.solution.gap > 0


def test_a_round_that_does_not_move_is_not_repeated():
    flat = Ramps(seed=0)
    flat.X[:] = 0.0
    run = restart_nrbm(flat, 1.0, np.zeros(4), tol=1e-6, max_iter=50)
    assert len(run.history) == 1
    assert run.converged


def test_no_round_begins_after_max_steps():
    risk = Ramps(seed=1)
    free = restart_nrbm(risk, 0.1, np.full(4, 2.0), tol=1e-8, max_iter=50)
    cut = restart_nrbm(risk, 0.1, np.full(4, 2.0), tol=1e-8, max_iter=50, max_steps=1)
    assert len(free.history) > len(cut.history) == 1
    assert not cut.converged
