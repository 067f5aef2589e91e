"""Posteriors of a trained network against enumeration, and networks of the highest likelihood."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bagwise import MarkovNetworkClassifier
from bagwise.datasets import load_digits_bags
from bagwise.persistence import load, save
from bagwise.testing import check_bag_estimator
from reference.networks import planted

CARDINALITIES = ["any", "ratio", "learned"]


def enumerated(model, bags):
    """Return log-odds (n_bags, n_models) and P(y_i = 1 | side) (2, n_instances, n_models)."""
    scores = model._instance_scores(bags)
    odds, marginals = np.empty((len(bags), scores.shape[1])), np.empty((2, *scores.shape))
    for bag in range(len(bags)):
        rows = slice(bags.offsets[bag], bags.offsets[bag + 1])
        size = bags.sizes[bag]
        labelings = np.array(list(itertools.product([0, 1], repeat=size)))
        for k in range(scores.shape[1]):
            weights = np.append(model.cardinality_weights_[k], 0.0)
            of_count = model.potential_.table(size) + weights[model.potential_.bins(size)]
            energy = labelings @ scores[rows, k] + of_count[:, labelings.sum(axis=1)]
            total = logsumexp(energy, axis=1)
            odds[bag, k] = total[1] - total[0]
            marginals[:, rows, k] = np.exp(energy - total[:, None]) @ labelings
    return odds, marginals


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_posteriors_equal_enumeration(cardinality, n_classes, loss):
    bags, y = planted(n_classes, n_bags=18)
    model = MarkovNetworkClassifier(cardinality=cardinality, loss=loss, alpha=0.1).fit(bags, y)
    odds, marginals = enumerated(model, bags)
    of_bags = expit(odds) if n_classes == 2 else softmax(odds, axis=1)
    of_rows = np.repeat(of_bags, bags.sizes, axis=0)
    expected = (1 - of_rows) * marginals[0] + of_rows * marginals[1]
    found = model.predict_instances_proba(bags)
    np.testing.assert_allclose(found[:, 1:] if n_classes == 2 else found, expected, atol=1e-10)
    if loss == "log_loss":
        both = np.hstack([1 - of_bags, of_bags]) if n_classes == 2 else of_bags
        np.testing.assert_allclose(model.predict_proba(bags), both, atol=1e-10)
        shown = model.decision_function(bags).reshape(len(bags), -1)
        np.testing.assert_allclose(shown, odds, atol=1e-9)
    else:
        assert not hasattr(model, "predict_proba")


def test_the_positive_class_may_be_the_first_one():
    bags, y = planted(n_bags=18)
    plain = MarkovNetworkClassifier(loss="log_loss", alpha=0.1).fit(bags, y)
    turned = clone(plain).set_params(pos_label=0).fit(bags, 1 - y)
    for method in ("predict_proba", "predict_instances_proba"):
        one, other = getattr(plain, method)(bags), getattr(turned, method)(bags)
        np.testing.assert_allclose(one, other[:, ::-1], atol=1e-6)


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_the_objective_is_the_penalized_likelihood(cardinality, multi_class):
    bags, y = planted(3, n_bags=21)
    model = MarkovNetworkClassifier(
        cardinality=cardinality, loss="log_loss", alpha=0.2, multi_class=multi_class
    ).fit(bags, y)
    odds = enumerated(model, bags)[0]
    of_models = [
        0.1 * sum(float(np.sum(part[k] ** 2)) for part in (net.instance, net.potential, net.bag))
        for net in model.networks_
        for k in range(3)
    ]
    if multi_class == "native":
        lost = np.sum(logsumexp(odds, axis=1) - odds[np.arange(len(y)), y])
        assert model.objective_[0] == pytest.approx(lost + sum(of_models), rel=1e-8)
    else:
        signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
        lost = np.logaddexp(0.0, -signs * odds).sum(axis=0)
        np.testing.assert_allclose(model.objective_, lost + of_models, rtol=1e-8)
    assert (model.gap_ <= 1e-6 * model.objective_).all()
    assert model.score(bags, y) > 0.9


def test_no_start_ends_below_the_one_that_is_kept():
    bags, y = planted(n_bags=24)
    starts = ["zero", "instances", "mean", "random"]
    model = MarkovNetworkClassifier(loss="log_loss", alpha=0.1, init=starts).fit(bags, y)
    assert [record["init"] for record in model.starts_] == starts
    assert model.objective_[0] == min(record["objective"] for record in model.starts_)


def test_own_probabilities_agree_with_thresholds_and_give_way_to_sigmoids():
    bags, y = load_digits_bags(n_bags=40, subset="train")
    model = MarkovNetworkClassifier(loss="log_loss", fit_intercept=True, threshold=0.7)
    chance = model.fit(bags, y).predict_proba(bags)[:, 1]
    np.testing.assert_allclose(chance, expit(model.decision_function(bags)))
    assert np.array_equal(chance > 0.5, model.predict(bags) == 1)
    model.set_params(probability="sigmoid", threshold=None).fit(bags, y)
    sigmoid = model.predict_proba(bags)
    assert not np.allclose(sigmoid[:, 1], chance)
    # Instances follow the probabilities of their bags: MIMN's negative bags have no positive.
    of_instances = model.predict_instances_proba(bags)[:, 1]
    assert (of_instances <= np.repeat(sigmoid[:, 1], bags.sizes) + 1e-12).all()


def test_log_odds_of_several_alphas_are_averaged():
    bags, y = planted(n_bags=20)
    model = MarkovNetworkClassifier(loss="log_loss", alphas=(0.1, 1.0), cv=3).fit(bags, y)
    assert model.shares_.tolist() == [0.5, 0.5]
    of_path = model.path_decision_function(bags)
    np.testing.assert_allclose(model.decision_function(bags), of_path.mean(axis=0))


def test_a_stopped_ascent_warns():
    bags, y = load_digits_bags(n_bags=30, subset="train")
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        MarkovNetworkClassifier(loss="log_loss", max_iter=1, alpha=1e-6, tol=1e-8).fit(bags, y)


def test_a_network_of_highest_likelihood_can_be_saved(tmp_path):
    bags, y = planted(n_bags=12)
    model = MarkovNetworkClassifier(loss="log_loss", alpha=0.5).fit(bags, y)
    save(model, tmp_path / "network.bagwise")
    again = load(tmp_path / "network.bagwise")
    assert np.array_equal(again.predict_instances_proba(bags), model.predict_instances_proba(bags))


def test_a_network_of_highest_likelihood_keeps_the_contract():
    own = {"check_probabilities": "predict_proba exists without calibration"}
    model = MarkovNetworkClassifier(loss="log_loss", alpha=0.5)
    check_bag_estimator(model, expected_failed_checks=own)
