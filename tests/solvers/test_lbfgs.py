"""L-BFGS against scikit-learn's logistic regression, and its certificate."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from bagwise.assumptions import CountPosterior
from bagwise.designs import matrix_design
from bagwise.models.markov.risk import InstanceOperator
from bagwise.models.proportions_likelihood import CountLikelihood
from bagwise.solvers.lbfgs import lbfgs


@pytest.fixture
def single_instances():
    """Bags of one instance: their likelihood is that of logistic regression, which is convex."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    posterior = CountPosterior.of_known_counts(y, np.arange(81))
    return CountLikelihood(InstanceOperator(matrix_design(X)), posterior, np.ones(80)), X, y


@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_bags_of_one_instance_are_logistic_regression(single_instances, alpha):
    likelihood, X, y = single_instances
    found = lbfgs(likelihood, alpha, np.zeros(likelihood.n_coef), tol=1e-12)
    plain = LogisticRegression(C=1 / alpha, fit_intercept=False, tol=1e-12, max_iter=10000)
    np.testing.assert_allclose(found.coef, plain.fit(X, y).coef_[0], atol=1e-6)
    assert found.converged


def test_the_gap_bounds_the_distance_from_the_minimum(single_instances):
    likelihood, alpha = single_instances[0], 0.5
    best = lbfgs(likelihood, alpha, np.zeros(likelihood.n_coef), tol=1e-14).objective
    for tol in (1e-1, 1e-3, 1e-6):
        found = lbfgs(likelihood, alpha, np.full(likelihood.n_coef, 2.0), tol=tol)
        assert 0 <= found.objective - best <= found.gap + 1e-12
        assert found.gap <= tol * found.objective


def test_too_few_iterations_are_said(single_instances):
    likelihood = single_instances[0]
    found = lbfgs(likelihood, 1e-3, np.full(likelihood.n_coef, 2.0), tol=1e-12, max_iter=1)
    assert not found.converged
    assert found.gap > 1e-12 * found.objective
