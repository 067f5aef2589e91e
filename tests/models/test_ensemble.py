"""BagEnsemble: draws, averages, out-of-bag scores."""

import numpy as np
import pytest

from bagwise import BagEnsemble, BagKernelSVC, CitationKNN, WitnessSVC
from bagwise.datasets import load_digits_bags


@pytest.fixture(scope="module")
def digits():
    return load_digits_bags(digit=0, n_bags=60, random_state=0)


def test_scores_are_the_mean_of_the_members(digits):
    bags, y = digits
    model = BagEnsemble(estimator=WitnessSVC(C=10), n_estimators=4).fit(bags, y)
    members = model.estimators_
    expected = np.mean([member.decision_function(bags) for member in members], axis=0)
    np.testing.assert_allclose(model.decision_function(bags), expected, rtol=1e-12)
    expected = np.mean([member.instance_decision_function(bags) for member in members], axis=0)
    np.testing.assert_allclose(model.instance_decision_function(bags), expected, rtol=1e-12)


def test_a_bag_drawn_twice_is_the_bag_twice(digits):
    bags, y = digits
    model = BagEnsemble(estimator=WitnessSVC(gamma=0.1), n_estimators=1, random_state=3).fit(
        bags, y
    )
    rng = np.random.RandomState(3)
    drawn = np.concatenate(
        [rng.choice(np.flatnonzero(y == k), size=np.sum(y == k)) for k in (1, 0)]
    )
    drawn = np.sort(drawn)
    copied = WitnessSVC(gamma=0.1).fit(bags[drawn], y[drawn])
    np.testing.assert_array_equal(model.drawn_[0], np.unique(drawn))
    np.testing.assert_allclose(
        model.decision_function(bags), copied.decision_function(bags), atol=1e-6
    )


def test_members_that_score_whole_bags_give_an_ensemble_that_occludes(digits):
    bags, y = digits[0][:30], digits[1][:30]
    member = BagKernelSVC(bag_kernel="statistics")
    model = BagEnsemble(estimator=member, n_estimators=3).fit(bags, y)
    assert not hasattr(model, "predict_instances")
    left = [np.delete(bag, i, axis=0) for bag in bags for i in range(len(bag))]
    expected = np.repeat(model.decision_function(bags), bags.sizes) - model.decision_function(left)
    np.testing.assert_allclose(model.instance_decision_function(bags), expected, atol=1e-10)
    assert hasattr(BagEnsemble(estimator=CitationKNN()), "predict_instances")


def test_the_positive_label_reaches_the_members(digits):
    bags, y = digits
    model = BagEnsemble(n_estimators=2, pos_label=0).fit(bags, y)
    assert all(member.pos_label == 0 for member in model.estimators_)
    expected = np.mean([member.decision_function(bags) for member in model.estimators_], axis=0)
    np.testing.assert_allclose(model.decision_function(bags), expected)
