"""Grades: order, rules, instance grades, and labels that are none."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV

from bagwise import Bags, OrdinalBagClassifier, WitnessSVC, report
from bagwise.errors import TaskWarning
from bagwise.model_selection import ConformalBagClassifier, compare, cross_validate_bags


def graded(n_bags=120, seed=0, names=None):
    """Draw bags whose grade is that of their worst instance, by one feature."""
    rng = np.random.default_rng(seed)
    members = [rng.normal(size=(rng.integers(3, 10), 3)) for _ in range(n_bags)]
    of_instances = [np.digitize(X[:, 0], [1.0, 1.7]) for X in members]
    y = np.array([grades.max() for grades in of_instances])
    bags = Bags.from_list(members)
    return bags, (y if names is None else np.array(names)[y]), np.concatenate(of_instances)


@pytest.fixture(scope="module")
def model():
    bags, y, _ = graded()
    return OrdinalBagClassifier().fit(bags, y)


def test_grades_are_found_and_so_are_those_of_instances(model):
    new, y, of_instances = graded(seed=1)
    assert model.score(new, y) > 0.85
    found = model.predict_instances(new)
    assert np.mean(found == of_instances) > 0.9
    worst = np.maximum.reduceat(found, new.offsets[:-1])
    np.testing.assert_array_equal(worst, model.predict(new))


def test_probabilities_sum_to_one_and_the_median_is_predicted(model):
    new, *_ = graded(seed=1)
    chances = model.predict_proba(new)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert np.all(chances >= 0)
    middle = (np.cumsum(chances, axis=1) < 0.5 - 1e-12).sum(axis=1)
    np.testing.assert_array_equal(model.predict(new), middle)
    mode = OrdinalBagClassifier(rule="mode")._become(model)
    np.testing.assert_array_equal(mode.predict(new), chances.argmax(axis=1))


def test_discovered_grades_keep_their_promise():
    bags, y, _ = graded(200)
    new, truth, of_instances = graded(300, seed=1)
    model = OrdinalBagClassifier().fit(bags, y).calibrate_instances(bags, y)
    found = model.discover_grades(new, level=0.1)
    worst = np.maximum.reduceat(found, new.offsets[:-1])
    assert np.mean(worst[truth == 0] > 0) < 0.2
    assert np.mean(found[of_instances == 2] == 2) > 0.5


@pytest.mark.parametrize("form", ["order", "categories"])
def test_text_has_the_order_that_is_given(form):
    names = ["mild", "grave", "awful"]
    bags, y, _ = graded(names=names)
    given = y if form == "order" else pd.Series(pd.Categorical(y, names, ordered=True))
    model = OrdinalBagClassifier(order=names if form == "order" else None).fit(bags, given)
    assert model.classes_.tolist() == names
    assert model.score(bags, y) > 0.85


def test_ordered_categories_keep_their_order_wherever_they_are_judged():
    names = ["mild", "grave", "awful"]  # not the order of the alphabet
    bags, y, _ = graded(names=names)
    given, model = pd.Series(pd.Categorical(y, names, ordered=True)), OrdinalBagClassifier()
    assert cross_validate_bags(model, bags, given, cv=3).summary()["kappa"]["mean"] > 0.8
    assert report(model.fit(bags, given), bags, y, cv=3).numbers["kappa"][0] > 0.8
    sets = ConformalBagClassifier(estimator=OrdinalBagClassifier(order=names), cv=3).fit(bags, y)
    found = sets.predict_set(bags, 0.9)
    assert found[np.arange(len(y)), np.searchsorted(sets.classes_, y)].mean() > 0.85
    assert found.sum(axis=1).mean() < 1.5
    few = {"models": ["MI-SVM"], "task": "grades", "cv": 3, "n_repeats": 1}
    assert compare(bags, given, **few).results["MI-SVM"].estimates["kappa"].value > 0.7
    with pytest.raises(ValueError, match="Grades that are text have no order"):
        compare(bags, y, **few)


def test_bad_grades_are_named(model):
    bags, y, _ = graded()
    with pytest.raises(ValueError, match="contains 2, which is not in order"):
        OrdinalBagClassifier(order=[0, 1]).fit(bags, y)
    with pytest.raises(ValueError, match="only one class, 0"):
        OrdinalBagClassifier().fit(bags, 0 * y)
    with pytest.raises(ValueError, match=r"Unknown label type.*regressor"):
        OrdinalBagClassifier().fit(bags, y + 0.5)
    with pytest.raises(ValueError, match="has a grade twice"):
        OrdinalBagClassifier(order=[0, 1, 2, 2]).fit(bags, y)
    missing = pd.Categorical.from_codes(np.where(y == 2, -1, y), ["low", "high"], ordered=True)
    with pytest.raises(ValueError, match=r"Bag \d+ .*has no label"):
        OrdinalBagClassifier().fit(bags, missing)
    with pytest.warns(TaskWarning, match="sorted as such: high, low, mid. Give their order"):
        OrdinalBagClassifier().fit(bags, np.array(["low", "mid", "high"])[y])
    with pytest.raises(ValueError, match="contains 8; the model knows"):
        model.score(bags, y + 7)


def test_searches_of_scikit_learn_reach_the_inner_model():
    bags, y, _ = graded()
    grid = {"estimator__C": [0.1, 1.0]}
    search = GridSearchCV(OrdinalBagClassifier(estimator=WitnessSVC(kernel="linear")), grid, cv=3)
    assert search.fit(bags, y).best_score_ > 0.7
