"""Newton's method on softened networks: certificate, objective, starts."""

import numpy as np
import pytest

from bagwise.assumptions import CountInference
from bagwise.designs import matrix_design
from bagwise.models.markov.risk import InstanceOperator, MarkovRisk
from bagwise.procedures.nrbm import restart_nrbm
from reference.soft_networks import RULES, Network, bags_of

OPTIONS = {"max_iter": 30, "max_passes": 400}


def risk_of(rule, **options):
    X, offsets, labels = bags_of(rule, **options)
    operator = InstanceOperator(matrix_design(X), 0.7, fit_intercept=True)
    inference = CountInference(rule, offsets)
    codes = labels.positive.astype(int)
    return MarkovRisk(operator, inference, labels.columns, codes, 2, labels.weight)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_gap_is_proven_and_the_objective_that_of_the_risk(rule, tol):
    network, risk = Network(rule, n_bags=40), risk_of(rule, n_bags=40)
    start = network.begin(tol=tol, max_passes=30)
    found = network.descend(start.coef, tol=tol, **OPTIONS)
    assert found.converged
    assert found.gap <= tol * found.objective * 1.0001
    w = found.coef
    assert found.objective == pytest.approx(risk.value(risk.forward(w)) + 0.15 * w @ w, rel=1e-9)
    assert found.objective < start.objective


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_bundle_method_gains_nothing_from_its_end(rule, seed):
    network, risk = Network(rule, n_bags=40, seed=seed), risk_of(rule, n_bags=40, seed=seed)
    start = network.begin(tol=1e-3, max_passes=30).coef
    found = network.descend(start, tol=1e-3, **OPTIONS)
    frozen = risk.freeze(risk.forward(found.coef))
    from bagwise.solvers.bundle import bmrm

    step = bmrm(frozen, 0.3, found.coef, tol=1e-4, max_iter=500)
    assert step.objective >= found.objective * (1 - 2e-3)
    rough = restart_nrbm(risk, 0.3, start, tol=1e-2, max_iter=20)
    assert found.objective <= 1.1 * rough.solution.objective  # other minima, no worse as a rule


@pytest.mark.parametrize(("rule", "seed", "tol"), [(0, 3, 1e-2), (1, 3, 1e-4), (2, 5, 1e-3)])
def test_descents_that_new_centers_do_not_help_converge_too(rule, seed, tol):
    network = Network(RULES[rule], n_bags=40, seed=seed)
    start = network.begin(tol=tol, max_passes=30).coef
    found = network.descend(start, tol=tol, **OPTIONS)
    assert found.converged
    assert found.n_iter <= 150


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_far_start_without_curvature_is_left(rule):
    network = Network(rule, n_bags=40)
    far = 300 * np.random.default_rng(0).normal(size=len(network.units))
    found = network.descend(far, tol=1e-2, **OPTIONS)
    zero = network.descend(0 * far, tol=1e-2, max_iter=0, max_passes=5).objective
    assert found.converged
    assert found.objective < 0.8 * zero


def test_few_passes_say_so():
    network, told = Network(RULES[0], n_bags=40), []
    start = np.zeros(len(network.units))
    found = network.descend(
        start, tol=1e-6, max_iter=30, max_passes=5, report=lambda *each: told.append(each)
    )
    assert not found.converged
    assert found.n_iter <= 6
    assert network.rows.passes == found.n_iter
    assert told[-1][0] == found.objective


def test_a_descent_that_takes_too_long_leaves_passes_for_a_bound():
    network = Network(RULES[2], n_bags=40)
    found = network.descend(
        0.1 + np.zeros(len(network.units)), tol=1e-9, max_iter=30, max_passes=25
    )
    assert not found.converged
    assert found.gap < found.objective


@pytest.mark.parametrize(("rule", "seed", "most"), [(0, 0, 32), (0, 1, 62), (0, 1, 65), (2, 1, 70)])
def test_a_descent_that_no_pass_could_prove_is_not_begun(rule, seed, most):
    network = Network(RULES[rule], n_bags=40, seed=seed)
    start, trained = 0.1 + np.zeros(len(network.units)), rule == 2
    found = network.descend(start, tol=1e-7, max_iter=30, max_passes=most, trained=trained)
    assert np.isfinite(found.gap)


def test_no_constant_feature_keeps_its_weight_at_zero():
    network = Network(RULES[0])
    network.units[3] = 0.0
    found = network.descend(np.zeros(len(network.units)), tol=1e-2, **OPTIONS)
    assert found.coef[3] == 0.0
