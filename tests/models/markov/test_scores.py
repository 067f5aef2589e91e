"""Posteriors of a trained network against enumeration."""

import itertools

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax
from sklearn.base import clone

from bagwise import MarkovNetworkClassifier
from bagwise.datasets import load_digits_bags
from reference.networks import planted


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


@pytest.mark.parametrize(
    ("cardinality", "n_classes", "multi_class"),
    [("any", 2, "native"), ("learned", 2, "native"), ("ratio", 3, "native"), ("learned", 3, "ovr")],
)
def test_posteriors_equal_enumeration(cardinality, n_classes, multi_class):
    bags, y = planted(n_classes, n_bags=18)
    given = {"cardinality": cardinality, "multi_class": multi_class, "alpha": 0.1}
    model = MarkovNetworkClassifier(**given).fit(bags, y)
    odds, marginals = enumerated(model, bags)
    of_bags = softmax(odds, axis=1) if n_classes > 2 and multi_class == "native" else expit(odds)
    of_bags /= of_bags.sum(axis=1, keepdims=True) if multi_class == "ovr" else 1.0
    of_rows = np.repeat(of_bags, bags.sizes, axis=0)
    expected = (1 - of_rows) * marginals[0] + of_rows * marginals[1]
    found = model.predict_instances_proba(bags)
    np.testing.assert_allclose(found[:, 1:] if n_classes == 2 else found, expected, atol=1e-10)
    assert not hasattr(model, "predict_proba")


def test_the_positive_class_may_be_the_first_one():
    bags, y = planted(n_bags=18)
    plain = MarkovNetworkClassifier(alpha=0.1).fit(bags, y)
    turned = clone(plain).set_params(pos_label=0).fit(bags, 1 - y)
    one, other = plain.predict_instances_proba(bags), turned.predict_instances_proba(bags)
    np.testing.assert_allclose(one, other[:, ::-1], atol=1e-6)


def test_instances_follow_the_probabilities_of_their_bags():
    bags, y = load_digits_bags(n_bags=40, subset="train")
    model = MarkovNetworkClassifier(fit_intercept=True, probability="sigmoid").fit(bags, y)
    sigmoid = model.predict_proba(bags)
    of_instances = model.predict_instances_proba(bags)[:, 1]  # negative bags have no positive
    assert (of_instances <= np.repeat(sigmoid[:, 1], bags.sizes) + 1e-12).all()
