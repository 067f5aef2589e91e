"""What a model file holds must be a fitted model, before anything is predicted with it."""

import copy
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import SVC

import bagwise
from bagwise import (
    BagKernelSVC,
    CitationKNN,
    InstanceSVC,
    MarkovNetworkClassifier,
    MILBoost,
    PerInstance,
    StatisticsForest,
    StatisticsLogistic,
    StatisticsSVC,
    WitnessSVC,
)
from bagwise.persistence.validity import check_model
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags()
MODELS = {
    "linear": WitnessSVC(kernel="linear"),
    "rbf": InstanceSVC(),
    "bags": BagKernelSVC(),
    "statistics": BagKernelSVC(bag_kernel="statistics"),
    "neighbors": CitationKNN(),
    "trees": MILBoost(n_estimators=2),
    "scaled": make_pipeline(PerInstance(StandardScaler()), WitnessSVC(kernel="linear")),
}


@pytest.fixture(scope="module")
def fitted():
    models = {name: model.fit(BAGS, Y) for name, model in MODELS.items()}
    return lambda name: copy.deepcopy(models[name])


@pytest.mark.parametrize(
    ("name", "attribute", "value", "message"),
    [
        ("linear", "coef_", None, "coef_ has shape"),
        ("linear", "coef_", np.zeros((2, 3)), "coef_ has shape (2, 3) for 2 classes"),
        ("linear", "coef_", np.zeros((1, 2)), "no working model"),
        ("linear", "coef_", np.array([["a", "b", "c"]]), "coef_ is not an array of numbers"),
        ("linear", "intercept_", np.zeros(2), "intercept_ has shape (2,)"),
        ("linear", "threshold_", np.zeros(0), "threshold_ has shape (0,)"),
        ("linear", "instance_reference_", np.zeros((9, 3)), "has shape (9, 3), not 1 columns"),
        ("linear", "n_features_in_", 2, "no working model"),
        ("linear", "n_features_in_", 2**31, "no working model"),
        ("linear", "n_features_in_", "3", "n_features_in_ is not a positive integer"),
        ("linear", "classes_", np.array([1, 1]), "has the same label twice"),
        ("linear", "classes_", np.array([1]), "not an array of two labels"),
        ("linear", "classes_", [0, 1], "not an array of two labels"),
        ("rbf", "support_vectors_", np.zeros((4, 2)), "support_vectors_ has shape (4, 2)"),
        ("rbf", "dual_coef_", np.zeros((1, 2)), "no working model"),
        ("rbf", "kernel_", "rbf", "no working model"),
        ("bags", "support_offsets_", np.array([0, 10**9]), "end at the number of instances"),
        ("statistics", "support_vectors_", np.zeros((4, 3)), "not 6 columns"),
        ("neighbors", "bags_codes_", np.full(24, 7), "classes that do not exist"),
        ("neighbors", "bags_offsets_", np.arange(4), "end at the number of instances"),
        ("trees", "factors_", [], "no working model"),
    ],
)
def test_a_wrong_attribute_is_found(name, attribute, value, message, fitted):
    model = fitted(name)
    setattr(model, attribute, value)
    with pytest.raises(ValueError, match=re.escape(message)):
        check_model(model)


@pytest.mark.parametrize("name", ["linear", "rbf", "bags", "neighbors", "trees"])
def test_every_attribute_that_scores_need_is_asked_for(name, fitted):
    told = {"objective_", "gap_", "n_iter_", "history_", "instance_weights_", "support_"}
    learned = [key for key in vars(fitted(name)) if key.endswith("_") and key not in told]
    for attribute in learned:
        model = fitted(name)
        delattr(model, attribute)
        with pytest.raises(ValueError, match=r"no working model|is not|not fitted"):
            check_model(model)


def test_steps_before_the_model_are_tried_too(fitted):
    model = fitted("scaled")
    model.steps[0][1].transformer_.scale_ = np.ones(2)
    with pytest.raises(ValueError, match="no working model"):
        check_model(model)


def test_models_that_need_more_than_features_pass():
    given = BAGS.replace(bag_features=np.ones((len(BAGS), 2)))
    check_model(MarkovNetworkClassifier(bag_features="bags", max_iter=2).fit(given, Y))
    positive = BAGS.replace(X=np.abs(BAGS.X) + 0.1)
    boxed = make_pipeline(PerInstance(PowerTransformer("box-cox")), WitnessSVC())
    check_model(boxed.fit(positive, Y))


# Classifiers of scikit-learn ----------------------------------------------------------------------

BOOSTED = GradientBoostingClassifier(n_estimators=4, subsample=0.8)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "estimator",
    [
        BOOSTED,
        GradientBoostingClassifier(n_estimators=3, init="zero"),
        GradientBoostingClassifier(n_estimators=3, init=LogisticRegression()),
        ExtraTreesClassifier(5),
        SVC(kernel="poly"),
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False), ExtraTreesClassifier(3)),
    ],
    ids=lambda estimator: repr(estimator)[:40],
)
def test_classifiers_of_rows_come_back_to_the_bit(estimator, kind, n_classes, tmp_path):
    bags, y = planted_bags(n_classes)
    bags = bags.replace(X=kind(bags.X))
    model = StatisticsForest(estimator=estimator).fit(bags, y)
    bagwise.save(model, tmp_path / "model")
    found = bagwise.load(tmp_path / "model").decision_function(bags)
    np.testing.assert_array_equal(found, model.decision_function(bags))


def _fitted(kind, **params):
    return copy.deepcopy(kind(**params).fit(*planted_bags(3)))


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("_n_support", np.array([10**6, 0, 0], dtype=np.int32)),
        ("_n_support", np.array([24, 0], dtype=np.int32)),
        ("support_", np.zeros(1, dtype=np.int32)),
        ("_intercept_", np.zeros(1)),
        ("_dual_coef_", np.zeros((2, 1))),
        ("_dual_coef_", sp.csr_array(np.zeros((2, 24)))),
        ("support_vectors_", np.zeros((24, 2))),
        ("_probA", np.zeros(2)),
        ("class_weight_", np.zeros(1)),
        ("kernel", "precomputed"),
    ],
)
def test_a_forged_svm_is_refused(rows, attribute, value):
    bags, y = planted_bags(3)
    model = copy.deepcopy(StatisticsSVC().fit(bags.replace(X=rows(bags.X)), y))
    check_model(model)
    setattr(model.estimator_, attribute, value)
    with pytest.raises(ValueError, match="a SVC whose arrays do not fit"):
        check_model(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: setattr(m, "estimators_", m.estimators_[:, :1]), "for .* of 3 models"),
        (lambda m: setattr(m, "estimators_", m.estimators_.tolist()), "for .* of 3 models"),
        (lambda m: m.estimators_.__setitem__((0, 0), LogisticRegression()), "not grown"),
        (lambda m: setattr(m.init_, "class_prior_", np.array([0.5, 0.5])), "wrong shape|working"),
    ],
)
def test_forged_boosting_is_refused(change, message):
    model = _fitted(StatisticsLogistic, estimator=BOOSTED)
    check_model(model)
    change(model.estimator_)
    with pytest.raises(ValueError, match=message):
        check_model(model)


@pytest.mark.parametrize("estimator", [BOOSTED, ExtraTreesClassifier(3)])
def test_trees_of_other_features_are_refused(estimator):
    model, narrow = (
        _fitted(StatisticsForest, estimator=estimator),
        _fitted(StatisticsForest, estimator=estimator, statistics=["mean"]),
    )
    trees = model.estimator_.estimators_
    trees[1] = narrow.estimator_.estimators_[1]
    with pytest.raises(ValueError, match="a tree of 3 features is in a model of 22"):
        check_model(model)
