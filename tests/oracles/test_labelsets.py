"""The joint risk of several labels against enumeration, its subgradient, and its limit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bagwise.assumptions import AtLeastPotential, BinnedPotential
from bagwise.assumptions.tree import count_inference
from bagwise.designs import matrix_design
from bagwise.oracles.labelsets import LabelSetRisk
from bagwise.oracles.markov import InstanceOperator, MarkovRisk

POTENTIALS = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]


def random_joint(potential, n_labels, cost=0.0):
    rng, n_bags = np.random.default_rng(0), 8
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 5, n_bags))])
    operator = InstanceOperator(matrix_design(rng.normal(size=(offsets[-1], 3))), 0.7, True)
    data = (operator, count_inference(potential, offsets, cost), rng.normal(size=(n_bags, 2)))
    labels = rng.integers(0, 2, (n_bags, n_labels))
    return data, labels, rng.uniform(0.5, 2.0, n_bags)


def enumerated(data, labels, weight, rows):
    """Evaluate the risk by trying every set of labels, and all labels of instances for each."""
    operator, inference, columns = data
    offsets, potential, value = inference.offsets, inference.potential, 0.0
    n_coef, n_weights, n_labels = operator.n_coef, potential.n_weights, labels.shape[1]
    cuts = np.cumsum([n_coef, n_weights, n_labels])
    scores = np.stack([operator @ row[:n_coef] for row in rows])
    for bag, truth in enumerate(labels):
        part = scores[:, offsets[bag] : offsets[bag + 1]]
        size = part.shape[1]
        table, bins = potential.table(size), potential.bins(size)
        best = np.full((n_labels, 2), -np.inf)
        for label, row in enumerate(rows):
            learned = row[cuts[0] : cuts[1]]
            for y in itertools.product([0, 1], repeat=size):
                score = np.dot(y, part[label]) - inference.cost * np.abs(np.diff(y)).sum()
                of_side = table[:, sum(y)] + learned[bins[:, sum(y)]]
                best[label] = np.maximum(best[label], score + of_side)
            best[label, 1] += columns[bag] @ row[cuts[2] :]

        def total(chosen, best=best):
            pairs = itertools.combinations(np.flatnonzero(chosen), 2)
            tied = sum(rows[one][cuts[1] + other] for one, other in pairs)
            return sum(best[label, side] for label, side in enumerate(chosen)) + tied

        sets = itertools.product([0, 1], repeat=n_labels)
        worst = max(total(chosen) + np.sum(truth != chosen) for chosen in sets)
        value += weight[bag] * (worst - total(truth))
    return value


@pytest.mark.parametrize("cost", [0.0, 0.4])
@pytest.mark.parametrize("n_labels", [1, 2, 4])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_risk_equals_enumeration(potential, n_labels, cost):
    data, labels, weight = random_joint(potential, n_labels, cost)
    risk = LabelSetRisk(*data, labels, weight)
    for seed in range(3):
        w = np.random.default_rng(seed).normal(size=risk.n_coef)
        expected = enumerated(data, labels, weight, w.reshape(n_labels, -1))
        value, _ = risk.evaluate(risk.forward(w))
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert risk.value(risk.forward(w)) == value


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_gradient_equals_differences(potential):
    data, labels, weight = random_joint(potential, 3)
    risk = LabelSetRisk(*data, labels, weight)
    w = np.random.default_rng(1).normal(size=risk.n_coef)
    frozen = risk.frozen(risk.forward(np.random.default_rng(2).normal(size=risk.n_coef)))
    for oracle in (risk, frozen):
        gradient = oracle.backward(oracle.evaluate(oracle.forward(w))[1])
        for i in range(risk.n_coef):
            step = np.zeros(risk.n_coef)
            step[i] = 1e-6
            up, down = (oracle.value(oracle.forward(w + s)) for s in (step, -step))
            assert gradient[i] == pytest.approx((up - down) / 2e-6, abs=1e-6)


def test_the_majorizer_touches_and_lies_above():
    data, labels, weight = random_joint(BinnedPotential(3), 3)
    risk, rng = LabelSetRisk(*data, labels, weight), np.random.default_rng(0)
    w = rng.normal(size=risk.n_coef)
    frozen = risk.frozen(risk.forward(w))
    assert frozen.value(risk.forward(w)) == pytest.approx(risk.value(risk.forward(w)))
    for _ in range(20):
        z = risk.forward(w + rng.normal(size=risk.n_coef))
        assert frozen.value(z) >= risk.value(z) - 1e-10


@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_without_pairs_it_is_the_sum_of_one_against_the_rest(potential):
    data, labels, weight = random_joint(potential, 3)
    risk = LabelSetRisk(*data, labels, weight)
    w = np.random.default_rng(0).normal(size=risk.n_coef)
    instance, potential_weights, bag = risk.split(w)
    potential_weights[:, -3:] = 0.0  # a view
    separate = 0.0
    for label in range(3):
        alone = MarkovRisk(*data, labels[:, label], 2, weight)
        own = (instance[label], potential_weights[label, :-3], bag[label])
        separate += alone.value(alone.forward(np.concatenate(own)))
    assert risk.value(risk.forward(w)) == pytest.approx(separate, rel=1e-12)
