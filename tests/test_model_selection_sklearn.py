"""`Bags` in scikit-learn's model selection, unchanged."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import InstanceSVC, LabelSVC, MarkovNetworkClassifier, PerInstance, WitnessSVC
from bagwise.testing._problems import planted_bags

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def problem():
    bags, y = planted_bags(n_bags=48, seed=3)
    witnesses = (bags.X[:, 0] > 1.5).astype(int)
    return bags.replace(groups=np.arange(len(bags)) // 2, instance_labels=witnesses), y


def by_hand(estimator, bags, y, folds=FOLDS):
    """Return out-of-fold predictions and the accuracy of each fold."""
    predicted, accuracies = np.empty_like(y), []
    for train, test in folds.split(np.zeros(len(y)), y):
        model = clone(estimator).fit(bags[train], y[train])
        predicted[test] = model.predict(bags[test])
        accuracies.append(np.mean(predicted[test] == y[test]))
    return predicted, accuracies


@pytest.mark.parametrize("estimator", [InstanceSVC(), LabelSVC(), WitnessSVC()], ids=repr)
def test_cross_val_score_and_predict(estimator, problem):
    bags, y = problem
    predicted, accuracies = by_hand(estimator, bags, y)
    np.testing.assert_array_equal(cross_val_score(estimator, bags, y, cv=FOLDS), accuracies)
    np.testing.assert_array_equal(cross_val_predict(estimator, bags, y, cv=FOLDS), predicted)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_grid_search_over_a_pipeline(n_jobs, problem):
    bags, y = problem
    pipeline = Pipeline([("scale", PerInstance(StandardScaler())), ("svc", WitnessSVC())])
    grid = {"svc__C": [0.01, 1.0], "scale__transformer__with_mean": [True, False]}
    search = GridSearchCV(pipeline, grid, cv=FOLDS, n_jobs=n_jobs).fit(bags, y)
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        expected = by_hand(clone(pipeline).set_params(**parameters), bags, y)[1]
        assert score == pytest.approx(np.mean(expected))
    again = clone(pipeline).set_params(**search.best_params_).fit(bags, y)
    np.testing.assert_array_equal(search.predict(bags), again.predict(bags))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_workers_change_nothing(n_jobs):
    bags, y = planted_bags(3, n_bags=36)
    expected = LabelSVC(threshold="calibrated", calibration_cv=3).fit(bags, y)
    model = LabelSVC(threshold="calibrated", calibration_cv=3, n_jobs=n_jobs).fit(bags, y)
    np.testing.assert_array_equal(model.threshold_, expected.threshold_)
    np.testing.assert_array_equal(model.dual_coef_, expected.dual_coef_)
    scores = cross_val_score(LabelSVC(), bags, y, cv=FOLDS, n_jobs=n_jobs)
    np.testing.assert_array_equal(scores, by_hand(LabelSVC(), bags, y)[1])


@pytest.mark.parametrize("estimator", [InstanceSVC(), LabelSVC(), WitnessSVC()], ids=repr)
def test_a_precomputed_kernel_follows_the_folds(estimator, problem):
    bags, y = problem
    gamma = 0.3
    distances = ((bags.X[:, None] - bags.X[None]) ** 2).sum(axis=2)
    kernel = bags.replace(X=np.exp(-gamma * distances), instance_ids=np.arange(bags.n_instances))
    rbf, given = clone(estimator).set_params(gamma=gamma), clone(estimator)
    given.set_params(kernel="precomputed")
    arguments = {"cv": FOLDS, "method": "decision_function"}
    np.testing.assert_allclose(
        cross_val_predict(given, kernel, y, **arguments),
        cross_val_predict(rbf, bags, y, **arguments),
        rtol=1e-8,
        atol=1e-10,
    )
    np.testing.assert_array_equal(
        cross_val_score(given, kernel, y, cv=FOLDS), cross_val_score(rbf, bags, y, cv=FOLDS)
    )


@pytest.mark.parametrize("estimator", [WitnessSVC(), MarkovNetworkClassifier()], ids=repr)
def test_several_labels_are_one_classifier_each(estimator, problem):
    bags, y = problem
    labels = np.stack([y, 1 - y, np.arange(len(y)) % 2], axis=1)
    several = MultiOutputClassifier(estimator)
    weight = 1.0 + np.arange(len(y)) % 3
    several.fit(bags, labels, sample_weight=weight)
    for column, model in enumerate(several.estimators_):
        alone = clone(estimator).fit(bags, labels[:, column], weight)
        np.testing.assert_array_equal(model.decision_function(bags), alone.decision_function(bags))
        np.testing.assert_array_equal(several.predict(bags)[:, column], alone.predict(bags))
    right = (several.predict(bags) == labels).all(axis=1)
    assert several.score(bags, labels) == right.mean()


def test_several_labels_are_searched_and_cross_validated(problem):
    bags, y = problem
    highest = np.array([bag[:, 1].max() for bag in bags])
    labels = np.stack([y, 1 * (highest > np.median(highest))], axis=1)
    several, folds = MultiOutputClassifier(WitnessSVC(probability="sigmoid")), KFold(3)
    scores = cross_val_score(several, bags, labels, cv=folds)
    for score, (train, test) in zip(scores, folds.split(y), strict=True):
        model = clone(several).fit(bags[train], labels[train])
        assert score == model.score(bags[test], labels[test])
    grid = GridSearchCV(several, {"estimator__C": [0.1, 1.0]}, cv=folds).fit(bags, labels)
    assert grid.cv_results_["mean_test_score"][1] == pytest.approx(scores.mean())
    chances = grid.predict_proba(bags)
    assert [chance.shape for chance in chances] == [(len(y), 2)] * 2
