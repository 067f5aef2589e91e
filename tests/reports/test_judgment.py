import numpy as np
import pytest

from bagwise import Bags, WitnessSVC
from bagwise.datasets import load_digits_bags
from bagwise.reports.judgment import Judgment, judge


def made(truth, scores, **more):
    return Judgment(np.array(truth, bool), np.array(scores), None, "ill", "well", 0, **more)


def test_rates_with_wilson_intervals():
    rates = made([1, 1, 1, 0, 0], [1.0, 2.0, -1.0, -1.0, 0.5]).proportions()
    assert (rates["sensitivity"]["count"], rates["sensitivity"]["total"]) == (2, 3)
    assert rates["specificity"]["value"] == 0.5
    assert rates["accuracy"]["count"] == 3
    assert 0.2 < rates["sensitivity"]["low"] < 2 / 3 < rates["sensitivity"]["high"] < 0.95


def test_groups_of_one_bag_are_left_out():
    found = made([1, 0, 1], [1.0, 1.0, 1.0]).of_groups(np.array(["a", "a", "b"]))
    assert found == [{"name": "a", "bags": 2, "positive": 1, "right": 1}]


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(0)
    bags = Bags.from_list([rng.normal(size=(4, 20)) for _ in range(60)])
    return bags, np.arange(60) % 2


def test_training_bags_are_judged_by_folds(noise):
    bags, y = noise
    model = WitnessSVC(C=100.0).fit(bags, y)
    seen, honest = judge(model, bags, y, None), judge(model, bags, y, 5)
    assert seen.proportions()["accuracy"]["value"] > 0.95
    assert honest.proportions()["accuracy"]["value"] < 0.75
    assert "5-fold" in honest.how
    assert "taken to be new" in seen.how


def test_folds_have_probabilities_of_their_own_towards_the_positive_class():
    bags, y = load_digits_bags(n_bags=60)
    labels = np.where(y == 1, "a", "b")
    model = WitnessSVC(kernel="linear", probability="sigmoid", pos_label="a").fit(bags, labels)
    found = judge(model, bags, labels, 3)
    assert (found.positive, found.negative) == ("a", "b")
    assert found.scores[found.truth].mean() > found.scores[~found.truth].mean()
    assert found.probabilities.shape == (60,)
    assert ((found.probabilities > 0.5) == (found.scores > 0)).all()
