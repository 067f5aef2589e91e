"""`Bags` in scikit-learn's model selection, unchanged."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import (
    Bags,
    InstanceSVC,
    LabelSVC,
    MarkovNetworkClassifier,
    PerInstance,
    WitnessSVC,
)
from bagwise.metrics import key_instance_rate
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


def test_other_methods_out_of_fold(problem):
    bags, y = problem
    model = WitnessSVC(probability="sigmoid", calibration_cv=3, threshold=0.0)
    scores = cross_val_predict(model, bags, y, cv=FOLDS, method="decision_function")
    np.testing.assert_array_equal(scores > 0, by_hand(WitnessSVC(), bags, y)[0])
    chances = cross_val_predict(model, bags, y, cv=FOLDS, method="predict_proba")
    np.testing.assert_allclose(chances.sum(axis=1), 1)


def test_scorers_of_both_kinds(problem):
    bags, y = problem
    scoring = {"auc": "roc_auc", "found": key_instance_rate}
    results = cross_validate(WitnessSVC(), bags, y, cv=FOLDS, scoring=scoring)
    assert results["test_auc"].min() > 0.6
    assert results["test_found"].min() > 0.5


FORMS = {
    "list": list,
    "objects": lambda bags: np.array([*bags, None], dtype=object)[:-1],
    "sparse": lambda bags: bags.replace(X=sp.csr_array(bags.X)),
}


@pytest.mark.parametrize("form", FORMS)
def test_other_forms_of_bags(form, problem):
    bags, y = problem
    found = cross_val_predict(WitnessSVC(), FORMS[form](bags), y, cv=FOLDS)
    np.testing.assert_array_equal(found, cross_val_predict(WitnessSVC(), bags, y, cv=FOLDS))


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


def test_the_scaler_of_a_pipeline_sees_training_instances_only(problem):
    bags, y = problem
    train = next(FOLDS.split(np.zeros(len(y)), y))[0]
    pipeline = make_pipeline(PerInstance(StandardScaler()), InstanceSVC()).fit(
        bags[train], y[train]
    )
    mean = pipeline[0].transformer_.mean_
    np.testing.assert_allclose(mean, bags[train].X.mean(axis=0), rtol=1e-12)
    assert np.all(mean != bags.X.mean(axis=0))


def test_train_test_split_keeps_everything_together(problem):
    bags, y = problem
    parts = train_test_split(bags, y, bags.ids, test_size=0.25, random_state=0, stratify=y)
    for part, labels, ids in (parts[0::2], parts[1::2]):
        assert isinstance(part, Bags)
        np.testing.assert_array_equal(part.ids, ids)
        for i, bag in enumerate(part):
            original = int(ids[i][1:])
            np.testing.assert_array_equal(bag, bags[original])
            assert labels[i] == y[original]
            assert part.groups[i] == bags.groups[original]
    assert len(parts[1]) == 12


def test_groups_are_never_split(problem):
    bags, y = problem
    seen = []

    class Watching(InstanceSVC):
        def fit(self, bags, y):
            seen.append(set(bags.groups))
            return super().fit(bags, y)

        def predict(self, bags):
            assert not seen[-1] & set(bags.groups), "a group on both sides"
            return super().predict(bags)

    cv = StratifiedGroupKFold(4)
    scores = cross_val_score(Watching(), bags, y, groups=bags.groups, cv=cv)
    assert len(scores) == len(seen) == 4
    mixed = KFold(2, shuffle=True, random_state=0)
    with pytest.raises(AssertionError, match="both sides"):
        cross_val_score(Watching(), bags, y, cv=mixed, error_score="raise")


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibrated_classifier_cv(method, problem):
    bags, y = problem
    model = CalibratedClassifierCV(WitnessSVC(), method=method, cv=3, ensemble=False).fit(bags, y)
    chances = model.predict_proba(bags)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    scores = WitnessSVC().fit(bags, y).decision_function(bags)
    rising = chances[np.argsort(scores), 1]
    assert np.all(np.diff(rising) >= -1e-12), "calibration keeps the order of the scores"
    assert rising[-1] > rising[0]


def test_tuned_threshold_classifier_cv(problem):
    bags, y = problem
    weak = InstanceSVC(kernel="linear", class_weight={0: 1, 1: 0.05})
    tuned = TunedThresholdClassifierCV(weak, scoring="balanced_accuracy", cv=3).fit(bags, y)
    assert tuned.score(bags, y) >= weak.fit(bags, y).score(bags, y)
    ours = clone(weak).set_params(threshold="calibrated", calibration_cv=3).fit(bags, y)
    assert ours.score(bags, y) > weak.score(bags, y)


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


def test_precomputed_kernels_need_instance_numbers(problem):
    bags, y = problem
    named = bags.replace(instance_ids=[f"i{k}" for k in range(bags.n_instances)])
    with pytest.raises(ValueError, match=r"the columns of .* are instances, numbered by"):
        InstanceSVC(kernel="precomputed").fit(named, y)


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
