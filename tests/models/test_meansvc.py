"""SVMs over one vector per bag: an embedding of one's own, and the bags' means."""

import numpy as np
import pytest
from sklearn.svm import SVC
from sklearn.utils._param_validation import InvalidParameterError

from bag_helpers import grouped
from bagwise import Bags, MeanSVC
from bagwise.datasets import load_digits_bags
from bagwise.models.meansvc import EmbeddingSVC
from bagwise.testing._problems import planted_bags


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(digit=3, rule="majority", n_bags=60, random_state=1)


def test_hinge_equals_libsvm_on_means(digits):
    bags, y = digits
    means = np.array([bag.mean(axis=0) for bag in bags])
    model = MeanSVC(gamma=0.1, loss="hinge").fit(bags[:40], y[:40])
    svc = SVC(gamma=0.1).fit(means[:40], y[:40])
    np.testing.assert_allclose(
        model.decision_function(bags[40:]), svc.decision_function(means[40:]), atol=2e-3
    )
    assert model.gap_[0] <= 1e-3 * model.objective_[0]


def test_with_a_linear_kernel_an_instance_is_a_bag_of_one(digits):
    bags, y = digits
    model = MeanSVC(kernel="linear").fit(bags, y)
    alone = Bags(bags.X, np.arange(bags.n_instances + 1))
    np.testing.assert_array_equal(
        model.instance_decision_function(bags), model.decision_function(alone)
    )


def test_half_precision_means_do_not_overflow():
    X = np.full((4000, 1), 60.0, dtype=np.float16)
    X[2000:] = 10.0
    bags = Bags(X, [0, 1000, 2000, 3000, 4000])
    model = MeanSVC(kernel="linear", C=100).fit(bags, [1, 1, 0, 0])
    np.testing.assert_array_equal(model.predict(bags), [1, 1, 0, 0])


class Extremes(EmbeddingSVC):
    """A bag is the least and the greatest value of its features, around a learned center.

    Attributes
    ----------
    center_ : ndarray of shape (n_features,)
        Mean of the training instances.
    """

    def _fit_embedding(self, bags, codes, weight):
        self.center_ = bags.X.mean(axis=0)

    def _embed(self, bags):
        ends = [(bag.min(axis=0), bag.max(axis=0)) for bag in bags]
        return np.array([np.concatenate(pair) for pair in ends]) - np.tile(self.center_, 2)


def by_hand(bags, center):
    return (
        np.array([np.r_[bag.min(axis=0), bag.max(axis=0)] for bag in bags]) - np.r_[center, center]
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_a_bag_is_scored_by_the_svm_over_vectors(kernel):
    bags, y = planted_bags(n_bags=40)
    options = {"kernel": kernel, "gamma": 0.2, "coef0": 1.0, "degree": 2}
    model = grouped(Extremes, loss="hinge", **options).fit(bags[:30], y[:30])
    svc = SVC(tol=1e-8, **options).fit(by_hand(bags[:30], model.center_), y[:30])
    expected = svc.decision_function(by_hand(bags[30:], model.center_))
    np.testing.assert_allclose(model.decision_function(bags[30:]), expected, atol=3e-3)


def test_an_instance_is_scored_by_the_bag_without_it():
    bags, y = planted_bags()
    model = Extremes().fit(bags, y)  # vectors are computed anew: it does not say how to update them
    several = bags[bags.sizes > 1]
    left = [np.delete(bag, i, axis=0) for bag in several for i in range(len(bag))]
    own = np.repeat(model.decision_function(several), several.sizes)
    found = model.instance_decision_function(several)
    np.testing.assert_allclose(found, own - model.decision_function(left), atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_instances_are_equal_shares_of_their_bags(n_classes):
    bags, y = planted_bags(n_classes, n_bags=30)
    model = Extremes().fit(bags, y)
    weights = np.atleast_2d(model.instance_weights_)
    truth = [y == 1] if n_classes == 2 else [y == k for k in range(3)]
    for of_model, positive in zip(weights, truth, strict=True):
        expected = np.repeat(positive / bags.sizes, bags.sizes)
        np.testing.assert_allclose(of_model, expected)


def test_kernels_between_instances_make_no_sense_here():
    with pytest.raises(InvalidParameterError, match="'kernel' parameter of Extremes"):
        Extremes(kernel="precomputed").fit(*planted_bags())
