"""Shortcuts that violate the standard assumption, and the tag that says who cannot take them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import AutoBagClassifier, Bags, MeanSVC, StatisticsForest, WitnessSVC
from bagwise.bags import check_bags
from bagwise.catalog import entry_of
from bagwise.estimators.tags import bag_tags
from bagwise.testing import (
    ASSUMPTION_TESTS,
    estimators,
    make_assumption_test,
    score_assumption_test,
)
from bagwise.testing._problems import planted_bags


@pytest.mark.parametrize("test", ASSUMPTION_TESTS)
def test_the_shortcut_is_there_in_training_bags_and_reversed_in_new_ones(test):
    bags, y, new, truth = make_assumption_test(test)
    model = StatisticsForest(n_estimators=50).fit(bags, y)
    assert model.score(bags, y) == 1
    assert score_assumption_test(StatisticsForest(n_estimators=50), test) < 0.3
    assert [bag.tolist() for bag in make_assumption_test(test)[2][:3]] == [
        bag.tolist() for bag in new[:3]
    ]
    assert truth.mean() == 0.5


def test_an_unknown_test_is_named():
    with pytest.raises(ValueError, match="no test 'poison': use one of single concept"):
        make_assumption_test("poison")


@pytest.mark.parametrize("seed", range(3))
def test_the_standard_portfolio_takes_no_shortcut(seed):
    model = AutoBagClassifier(models=["MI-SVM", "AW-SVM", "SimpleMI"], assumption="standard")
    assert score_assumption_test(model, "single concept", seed) >= 0.95
    assert score_assumption_test(MeanSVC(), "single concept", seed) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_neither_does_the_whole_one(seed):
    model = AutoBagClassifier(assumption="standard", time_limit=None)
    assert score_assumption_test(model, "single concept", seed) >= 0.95


def test_only_standard_models_are_tried_and_the_others_hint():
    bags, y, *_ = make_assumption_test("threshold")
    given = ["MI-SVM", "StatisticsSVC"]
    standard = AutoBagClassifier(models=given, assumption="standard").fit(bags, y)
    assert standard.names_ == ["MI-SVM"]
    assert (standard.hint_, bag_tags(standard).assumption) == ("", "standard")
    free = AutoBagClassifier(models=given).fit(bags, y)
    assert "MI-SVM, the best model of the standard assumption, has an AUC of" in free.hint_
    with pytest.raises(ValueError, match="of the standard assumption"):
        AutoBagClassifier(models=["StatisticsSVC"], assumption="standard").fit(bags, y)


STANDARD = [m for m in estimators() if bag_tags(m).assumption == "standard"]
STANDARD = [m for m in STANDARD if not entry_of(m).needs or isinstance(m, AutoBagClassifier)]


@pytest.mark.parametrize("model", STANDARD, ids=repr)
def test_an_instance_more_never_lowers_a_standard_score(model):
    bags, y = planted_bags(n_bags=30)
    fitted = clone(model).fit(bags, y)
    more = Bags.from_list([np.vstack([bag, bags.X[[k]]]) for k, bag in enumerate(bags)])
    gained = fitted.decision_function(more) - fitted.decision_function(check_bags(bags))
    assert gained.min() >= -1e-9 * np.abs(fitted.decision_function(bags)).max()


def test_the_tag_follows_parameters():
    assert bag_tags(WitnessSVC()).assumption == "standard"
    assert bag_tags(MeanSVC(kernel="linear")).assumption == "collective"
    assert bag_tags(AutoBagClassifier()).assumption == "other"
