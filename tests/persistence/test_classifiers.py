"""scikit-learn's classifiers in model files, and forged ones that are not followed."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import bagwise
from bagwise import StatisticsForest, StatisticsLogistic, StatisticsSVC
from bagwise.persistence.classifiers import build_tree, tree_parts
from bagwise.persistence.validity import check_model
from bagwise.testing._problems import planted_bags

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


# Decision trees -----------------------------------------------------------------------------------

PARTS = tree_parts(DecisionTreeClassifier(max_depth=2).fit(np.eye(6, 3), [0, 1] * 3).tree_)


def forge(field, value):
    nodes = PARTS["nodes"].copy()
    nodes[field][0] = value
    return {"nodes": nodes}


@pytest.mark.parametrize(
    ("forged", "message"),
    [
        (forge("left_child", 10**6), "leads nowhere"),
        (forge("right_child", 0), "leads nowhere"),
        (forge("feature", 3), "leads nowhere"),
        (forge("feature", -2), "leads nowhere"),
        ({"nodes": np.zeros(3)}, "does not know"),
        ({"values": PARTS["values"][:-1]}, "wrong shape"),
        ({"n_classes": np.array([], dtype=int)}, "without classes"),
        ({"max_depth": 0}, "depth is not the one it states"),
    ],
)
def test_a_forged_tree_is_not_built(forged, message):
    with pytest.raises(ValueError, match=message):
        build_tree({**PARTS, **forged})
