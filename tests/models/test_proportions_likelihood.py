"""Learning from shares: the likelihood by enumeration, limits, and what users may get wrong."""

import itertools

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from bagwise import Bags, LabelProportionLogistic
from bagwise.assumptions import CountPosterior
from bagwise.designs import matrix_design
from bagwise.models.markov.risk import InstanceOperator
from bagwise.models.proportions_likelihood import CountLikelihood


def drawn(n_bags=60, size=6, seed=0):
    """Draw instances with known labels, and the shares of their bags."""
    rng = np.random.default_rng(seed)
    chance = np.repeat(rng.uniform(size=n_bags), size)
    truth = (rng.uniform(size=n_bags * size) < chance).astype(int)
    X = rng.normal(size=(n_bags * size, 3)) + 1.5 * truth[:, None] * [1, 0, -1]
    shares = truth.reshape(n_bags, size).mean(axis=1)
    return Bags(X, np.arange(n_bags + 1) * size), shares, truth


def labelings(scores, count):
    """Return all labelings with a count, and their probabilities if labels are independent."""
    found = [c for c in itertools.product([0, 1], repeat=len(scores)) if sum(c) == count]
    found = np.array(found)
    return found, np.prod(np.where(found == 1, expit(scores), expit(-scores)), axis=1)


def test_likelihood_and_gradient_equal_enumeration():
    rng = np.random.default_rng(0)
    offsets = np.array([0, 1, 4, 9, 16])
    counts, weight = np.array([1, 0, 3, 5]), rng.uniform(0.5, 2, 4)
    X = rng.normal(size=(16, 3))
    likelihood = CountLikelihood(
        InstanceOperator(matrix_design(X), 0.7, True),
        CountPosterior.of_known_counts(counts, offsets),
        weight,
    )
    w = rng.normal(size=4)
    z = likelihood.forward(w)
    parts = [labelings(z[a:b], k) for a, b, k in zip(offsets, offsets[1:], counts, strict=False)]
    expected = -sum(c * np.log(p.sum()) for c, (_, p) in zip(weight, parts, strict=True))
    value, r = likelihood.evaluate(z)
    assert value == pytest.approx(expected, rel=1e-12)
    assert likelihood.value(z) == value
    gradient = likelihood.backward(r)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-6
        up, down = (likelihood.value(likelihood.forward(w + s)) for s in (step, -step))
        assert gradient[j] == pytest.approx((up - down) / 2e-6, abs=1e-6)


@pytest.mark.parametrize("size", [1, 4])
def test_shares_of_zero_and_one_are_logistic_regression(size):
    rng = np.random.default_rng(1)
    y = np.arange(40) % 2
    X = rng.normal(size=(40 * size, 3)) + np.repeat(y, size)[:, None]
    bags = Bags(X, np.arange(41) * size)
    model = LabelProportionLogistic(alpha=0.5, unit_norm=False, tol=1e-12).fit(bags, y)
    rows = np.column_stack([X, np.ones(len(X))])  # the intercept is penalized like a weight
    plain = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-12, max_iter=10000)
    plain.fit(rows, np.repeat(y, size))
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), plain.coef_[0], atol=1e-6)


def test_posteriors_given_the_shares_equal_enumeration():
    bags, shares, _ = drawn(n_bags=8)
    model = LabelProportionLogistic(alpha=0.1).fit(bags, shares)
    found = model.predict_instances_proba(bags, shares)[:, 1]
    scores = model.instance_decision_function(bags)
    for i in range(8):
        rows = slice(bags.offsets[i], bags.offsets[i + 1])
        labels, chance = labelings(scores[rows], round(shares[i] * 6))
        np.testing.assert_allclose(found[rows], chance @ labels / chance.sum(), atol=1e-10)
    sums = np.add.reduceat(found, bags.offsets[:-1])
    np.testing.assert_allclose(sums, shares * 6, atol=1e-9)


def test_instances_are_learned_from_shares_alone():
    bags, shares, truth = drawn(n_bags=200)
    fresh, new, labels = drawn(n_bags=100, seed=1)
    model = LabelProportionLogistic(alpha=0.1).fit(bags, shares)
    full = LogisticRegression().fit(bags.X, truth)
    accuracy = np.mean(model.predict_instances(fresh) == labels)
    assert accuracy > np.mean(full.predict(fresh.X) == labels) - 0.02
    assert model.score(fresh, new) > 0.5
    known = model.predict_instances_proba(fresh, new)[:, 1] > 0.5
    assert np.mean(known == labels) > accuracy
    assert model.gap_ <= 1e-6 * model.objective_


def test_priors_of_the_bags_are_shares_and_weights_are_repetitions():
    bags, shares, _ = drawn(n_bags=20)
    given = LabelProportionLogistic(unit_norm=False).fit(bags, shares)
    own = LabelProportionLogistic(unit_norm=False).fit(bags.replace(priors=shares))
    assert np.array_equal(given.coef_, own.coef_)
    twice = Bags.concat([bags, bags[:10]])
    repeated = LabelProportionLogistic(unit_norm=False, tol=1e-12).fit(
        twice, np.concatenate([shares, shares[:10]])
    )
    weight = np.repeat([2.0, 1.0], 10)
    weighted = LabelProportionLogistic(unit_norm=False, tol=1e-12).fit(bags, shares, weight)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)


def test_an_early_stop_warns():
    bags, shares, _ = drawn()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        LabelProportionLogistic(max_iter=1, alpha=1e-8, tol=1e-12).fit(bags, shares)
