"""The Markov network's risk against enumeration, its subgradient, and its convex majorizer."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise.assumptions import AtLeastPotential, BinnedPotential
from bagwise.designs import matrix_design
from bagwise.models.markov.risk import InstanceOperator
from bagwise.solvers.bundle import bmrm
from reference.networks import by_clarabel, random_risk

POTENTIALS = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]


def enumerated_risk(risk, w):
    """Evaluate Eq. 22 by trying every label of the bag and of its instances, class by class."""
    rows = risk.instances.combine(sp.eye_array(risk.instances.n_rows, format="csr"))
    offsets, potential, value = risk.inference.offsets, risk.inference.potential, 0.0
    for bag, truth in enumerate(risk.codes):
        X = rows[offsets[bag] : offsets[bag + 1]]
        best = []  # of each model and side
        for instance, weights, of_bag in zip(*risk.split(w), strict=True):
            table, bins = potential.table(len(X)), potential.bins(len(X))
            sides = np.full(2, -np.inf)
            for labels in itertools.product([0, 1], repeat=len(X)):
                count, score = sum(labels), np.dot(labels, X @ instance)
                sides = np.maximum(sides, score + table[:, count] + weights[bins[:, count]])
            best.append(sides + [0.0, risk.bag_features[bag] @ of_bag])
        if risk.n_models == 1:
            total = np.array(best[0])
        else:
            side = np.eye(risk.n_classes, dtype=int)
            total = np.array([sum(best[j][row[j]] for j in range(len(row))) for row in side])
        augmented = total + (np.arange(risk.n_classes) != truth)
        value += risk.weight[bag] * (augmented.max() - total[truth])
    return value


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_risk_equals_enumeration(potential, n_classes):
    risk = random_risk(potential, n_classes, fit_intercept=True)
    for seed in range(5):
        w = np.random.default_rng(seed).normal(size=risk.n_coef)
        value, _ = risk.evaluate(risk.forward(w))
        assert value == pytest.approx(enumerated_risk(risk, w), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_gradient_equals_differences(potential, n_classes, sparse):
    risk = random_risk(potential, n_classes, fit_intercept=True, sparse=sparse)
    w = np.random.default_rng(1).normal(size=risk.n_coef)
    frozen = risk.freeze(risk.forward(np.random.default_rng(2).normal(size=risk.n_coef)))
    for oracle in (risk, frozen):
        gradient = oracle.backward(oracle.evaluate(oracle.forward(w))[1])

        def value(w, oracle=oracle):
            return oracle.value(oracle.forward(w))

        assert value(w) == oracle.evaluate(oracle.forward(w))[0]
        for i, step in enumerate(1e-6 * np.eye(risk.n_coef)):
            difference = (value(w + step) - value(w - step)) / 2e-6
            assert gradient[i] == pytest.approx(difference, abs=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_majorizer_touches_lies_above_and_is_convex(potential, n_classes):
    risk, rng = random_risk(potential, n_classes), np.random.default_rng(3)
    for _ in range(10):
        z, other = (risk.forward(rng.normal(size=risk.n_coef)) for _ in range(2))
        frozen = risk.freeze(z)
        here, slope = frozen.evaluate(z)
        there, _ = frozen.evaluate(other)
        middle, _ = frozen.evaluate((z + other) / 2)
        assert here == pytest.approx(risk.evaluate(z)[0], abs=1e-10)
        assert there >= risk.evaluate(other)[0] - 1e-10
        assert middle <= (here + there) / 2 + 1e-10
        assert there >= here + slope @ (other - z) - 1e-10  # a subgradient


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_convex_steps_end_at_the_optimum_of_all_labelings(potential):
    risk = random_risk(potential, 2)
    frozen, alpha = risk.freeze(risk.whole_bags()), 0.2
    found = bmrm(frozen, alpha, np.zeros(risk.n_coef), tol=1e-6, max_iter=2000)
    least = by_clarabel(risk, frozen, alpha)
    assert found.objective - found.gap - 1e-7 <= least <= found.objective + 1e-7
    assert found.objective == pytest.approx(least, rel=1e-5)


def test_two_classes_are_the_hinge_of_the_margin():
    risk, rng = random_risk(AtLeastPotential(0.5), 2), np.random.default_rng(4)
    z = risk.forward(rng.normal(size=risk.n_coef))
    _, (negative, positive) = risk.labelings(z)
    margin = np.where(risk.codes == 1, 1, -1) * (positive - negative)
    expected = risk.weight @ np.maximum(0, 1 - margin)
    assert risk.evaluate(z)[0] == pytest.approx(expected, rel=1e-12)


def test_operator_scales_and_appends_without_copying():
    X = np.random.default_rng(0).normal(size=(5, 3))
    operator = InstanceOperator(matrix_design(X), 2.0, fit_intercept=True)
    full = np.hstack([2.0 * X, np.ones((5, 1))])
    w, r = np.arange(4.0), np.arange(5.0)
    np.testing.assert_allclose(operator @ w, full @ w)
    np.testing.assert_allclose(operator.adjoint(r), full.T @ r)
    np.testing.assert_allclose(operator.combine(sp.eye_array(5, format="csr")), full)
    assert np.shares_memory(operator.design.X, X)
