"""The likelihood of a Markov network against enumeration, and its gradient against differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from bagwise.oracles.likelihood import MarkovLikelihood
from reference.labelings import energies
from reference.networks import random_risk
from reference.potentials import POTENTIALS


def log_sums(risk, z, bag, model):
    """Return log Z of either side of one bag under one model, over all labelings."""
    part, given = risk.parts(z), risk.inference
    rows = slice(given.offsets[bag], given.offsets[bag + 1])
    scores = part.instances[model, rows]
    energy = energies(scores, given.potential, part.potential[model])
    return logsumexp(energy, axis=1) + [0.0, part.bags[model, bag]]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_likelihood_equals_enumeration(potential, n_classes):
    risk = random_risk(potential, n_classes, fit_intercept=True)
    likelihood = MarkovLikelihood(risk)
    z = risk.forward(np.random.default_rng(1).normal(size=risk.n_coef))
    expected = 0.0
    for bag, (code, weight) in enumerate(zip(risk.codes, risk.weight, strict=True)):
        if n_classes == 2:
            total = log_sums(risk, z, bag, 0)
        else:  # T_l = log Z_l(+1) + the others' log Z(-1)
            sides = np.array([log_sums(risk, z, bag, model) for model in range(n_classes)])
            total = sides[:, 1] + sides[:, 0].sum() - sides[:, 0]
        expected += weight * (logsumexp(total) - total[code])
    assert likelihood.value(z) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("potential", POTENTIALS, ids=str)
def test_gradient_equals_differences(potential, n_classes):
    likelihood = MarkovLikelihood(random_risk(potential, n_classes, fit_intercept=True))
    w = np.random.default_rng(2).normal(size=likelihood.n_coef)
    value, r = likelihood.evaluate(likelihood.forward(w))
    gradient = likelihood.backward(r)
    assert value == likelihood.value(likelihood.forward(w))
    for j in range(len(w)):
        step = np.zeros(len(w))
        step[j] = 1e-6
        up, down = (likelihood.value(likelihood.forward(w + s)) for s in (step, -step))
        assert gradient[j] == pytest.approx((up - down) / 2e-6, abs=1e-6)
