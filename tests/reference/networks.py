"""Bags and risks to try Markov networks on."""

import itertools

import numpy as np
import scipy.sparse as sp

from bagwise.assumptions import AtLeastPotential, CountInference
from bagwise.bags import Bags
from bagwise.designs import matrix_design
from bagwise.models.markov.risk import InstanceOperator, MarkovRisk, join_scores
from reference.program import minimize


def planted(n_classes=2, n_bags=30, fraction=0.5, seed=0):
    """Draw bags in which a fraction of the instances points in the direction of the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_bags) % n_classes)
    sizes = rng.integers(3, 7, n_bags)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(scale=0.5, size=(offsets[-1], 5))
    for bag in range(n_bags):
        marked = offsets[bag] + np.arange(max(1, round(fraction * sizes[bag])))
        X[marked, y[bag]] += 2.0
    return Bags(X, offsets), y


def random_risk(potential, n_classes, *, fit_intercept=False, sparse=False, seed=0, n_bags=9):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n_bags))])
    X = rng.normal(size=(offsets[-1], 4))
    operator = InstanceOperator(matrix_design(sp.csr_array(X) if sparse else X), 0.7, fit_intercept)
    return MarkovRisk(
        operator,
        CountInference(potential, offsets),
        rng.normal(size=(n_bags, 2)),
        rng.permutation(np.arange(n_bags) % n_classes),
        n_classes,
        rng.uniform(0.5, 2.0, n_bags),
    )


def risk_of_bags(bags, y, n_classes=2, potential=None):
    """Return the risk of bags without features of their own, all of weight one."""
    inference = CountInference(potential or AtLeastPotential(), bags.offsets)
    operator = InstanceOperator(matrix_design(bags.X))
    columns = np.empty((len(bags), 0))
    return MarkovRisk(operator, inference, columns, y, n_classes, np.ones(len(y)))


def noise(n_bags, n_classes, seed, n_features=4, sizes=(2, 6)):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(*sizes, n_bags))])
    y = rng.permutation(np.arange(n_bags) % n_classes)
    return Bags(rng.normal(size=(offsets[-1], n_features)), offsets), y


def by_clarabel(risk, frozen, alpha):
    """Minimize alpha/2 |w|^2 plus the majorizer of two classes: a constraint per labeling."""
    Z = np.stack([risk.forward(unit) for unit in np.eye(risk.n_coef)], axis=1)
    offsets, potential, n_bags = risk.inference.offsets, risk.inference.potential, len(risk.codes)
    rows, constants, bags = [], [], []
    for bag in range(n_bags):
        size = offsets[bag + 1] - offsets[bag]
        table, bins = potential.table(size), potential.bins(size)
        for labels, side in itertools.product(itertools.product([0, 1], repeat=size), range(2)):
            count, part = sum(labels), risk.parts(np.zeros(len(Z)))
            if np.isfinite(table[side, count]):
                part.instances[0, offsets[bag] : offsets[bag + 1]] = labels
                part.potential[0, bins[side, count]] += 1.0
                part.bags[0, bag] = side
                rows.append(join_scores(part.instances, part.potential, part.bags) @ Z)
                constants.append((side != risk.codes[bag]) + table[side, count])
                bags.append(bag)
    slacks = sp.csr_array((np.ones(len(bags)), (np.arange(len(bags)), bags)))
    A = sp.hstack([sp.csr_array(np.array(rows)), -slacks])
    P = sp.diags(np.repeat([alpha, 0.0], [risk.n_coef, n_bags]))
    q = np.concatenate([-Z.T @ frozen.slope, risk.weight])
    found = minimize(P, q, A, -np.array(constants), tol=1e-8)
    assert str(found.status) == "Solved"
    return found.obj_val - frozen.height
