"""What a Markov network sees of bags: bag features out of fold, maps, scores of other models."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bagwise import Bags, LabelSVC, MarkovNetworkClassifier
from bagwise.models.markov.inputs import NetworkInputs
from bagwise.preprocessing import BagStatistics, IntersectionMap, PerInstance
from reference.networks import planted


def test_bag_features_on_the_bags_are_used_and_checked():
    bags, y = planted(n_bags=20)
    rng = np.random.default_rng(0)
    bags = bags.replace(X=rng.normal(size=bags.X.shape))  # nothing to learn from instances
    told = bags.replace(bag_features=np.column_stack([2.0 * y - 1, np.ones(len(y))]))
    model = MarkovNetworkClassifier(bag_features="bags").fit(told, y)
    assert model.bag_coef_[0, 0] > 0.5
    assert model.score(told, y) == 1.0
    with pytest.raises(ValueError, match="these have none"):
        MarkovNetworkClassifier(bag_features="bags").fit(bags, y)
    with pytest.raises(ValueError, match="have 1 bag features, those of fit had 2"):
        model.predict(bags.replace(bag_features=np.ones((len(y), 1))))
    holed = np.ones((len(y), 2))
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Bag 3 \(id 3\) has nan as bag feature 1"):
        model.predict(bags.replace(bag_features=holed))


def test_scores_of_other_models_are_out_of_fold_on_training_bags():
    bags, y = planted(n_bags=20)
    noise = np.random.default_rng(0).normal(size=(bags.n_instances, 40))
    bags = Bags(noise, bags.offsets)
    options = {
        "unit_norm": True,
        "fit_intercept": False,
        "cv": 4,
        "random_state": 0,
        "n_jobs": None,
    }
    inputs = NetworkInputs(None, LabelSVC(C=100.0), **options)
    _, inside = inputs.fit(bags, y, np.ones(len(y)))
    outside = inputs.bag_columns(bags)  # by the model that saw all bags: in-sample
    assert np.mean((outside[:, 0] > 0) == (y == 1)) == 1.0
    assert np.mean((inside[:, 0] > 0) == (y == 1)) < 0.9


def test_kernels_and_lists_of_estimators_as_bag_features():
    bags, y = planted(n_bags=16)
    three = MarkovNetworkClassifier(bag_features="kernels", cv=3).fit(bags, y)
    assert three.bag_coef_.shape == (1, 3)
    models = [LabelSVC(), MarkovNetworkClassifier()]
    two = MarkovNetworkClassifier(bag_features=models, cv=3).fit(bags, y)
    assert two.bag_coef_.shape == (1, 2)
    many, labels = planted(3, n_bags=18)
    nine = MarkovNetworkClassifier(bag_features="kernels", cv=3).fit(many, labels)
    assert nine.bag_coef_.shape == (3, 9)
    with pytest.raises(ValueError, match="no bag estimator"):
        MarkovNetworkClassifier(bag_features=[3]).fit(bags, y)


WRAPPED = [
    make_pipeline(PerInstance(StandardScaler()), LabelSVC()),
    GridSearchCV(LabelSVC(), {"C": [0.1, 1.0]}, cv=2),
    GridSearchCV(make_pipeline(PerInstance(StandardScaler()), LabelSVC()), {}, cv=2),
    CalibratedClassifierCV(LabelSVC(), cv=2),
]


@pytest.mark.parametrize("wrapped", WRAPPED, ids=["pipeline", "search", "both", "calibrated"])
@pytest.mark.parametrize(("n_classes", "weighted"), [(2, False), (3, True)])
def test_wrapped_bag_estimators_are_bag_features(wrapped, n_classes, weighted):
    bags, y = planted(n_classes, n_bags=18)
    weight = 1.0 + np.arange(len(y)) % 2 if weighted else None
    model = MarkovNetworkClassifier(bag_features=wrapped, cv=2).fit(bags, y, weight)
    width = 1 if n_classes == 2 else 3
    assert model.bag_coef_.shape == (width, width)
    assert np.any(model.bag_coef_)
    assert model.score(bags, y) > 0.8


def test_an_estimator_without_weights_is_named_where_bags_have_some():
    bags, y = planted(n_bags=18)
    neighbors = make_pipeline(BagStatistics(), KNeighborsClassifier())
    model = MarkovNetworkClassifier(bag_features=[neighbors], cv=2)
    assert model.fit(bags, y).score(bags, y) > 0.8
    message = r"KNeighborsClassifier.* takes no sample_weight .* choose an estimator"
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        model.set_params(class_weight={1: 2.0}).fit(bags, y)


@pytest.mark.parametrize(
    "feature_map",
    [
        make_pipeline(MinMaxScaler(clip=True), IntersectionMap(n=2)),
        Nystroem(n_components=20, random_state=0),
    ],
    ids=["intersection", "nystroem"],
)
def test_feature_maps_are_fitted_on_training_instances(feature_map):
    bags, y = planted()
    model = MarkovNetworkClassifier(feature_map=feature_map, alpha=0.01).fit(bags[:20], y[:20])
    mapped = clone(feature_map).fit(bags[:20].X).transform(bags[20:].X)
    scores = mapped @ model.coef_[0]
    np.testing.assert_allclose(model.instance_decision_function(bags[20:]), scores, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_feature_maps_give_arrays_whatever_scikit_learn_is_told(kind):
    bags, y = planted()
    feature_map = make_pipeline(MinMaxScaler(clip=True), Nystroem(n_components=5, random_state=0))
    model = MarkovNetworkClassifier(feature_map=feature_map)
    expected = model.fit(bags, y).decision_function(bags)
    with config_context(transform_output=kind):
        found = clone(model).fit(bags, y).decision_function(bags)
    np.testing.assert_array_equal(found, expected)
    model.feature_map.set_output(transform=kind)
    np.testing.assert_array_equal(model.fit(bags, y).decision_function(bags), expected)


def inputs_of(feature_map=None, bag_features=None, **options):
    defaults = {"unit_norm": False, "fit_intercept": False, "cv": 3}
    more = {"random_state": 0, "n_jobs": None}
    return NetworkInputs(feature_map, bag_features, **{**defaults, **more, **options})


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_instances_are_scaled_to_unit_mean_squared_norm(fit_intercept):
    bags, y = planted(n_bags=12)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 12)
    inputs = inputs_of(unit_norm=True, fit_intercept=fit_intercept)
    operator, columns = inputs.fit(bags, y, weight)
    rows = operator @ np.eye(operator.n_coef)[0]
    of_rows = np.repeat(weight, bags.sizes)
    mean = np.average((bags.X**2).sum(axis=1), weights=of_rows)
    np.testing.assert_allclose(rows, bags.X[:, 0] / np.sqrt(mean))
    assert operator.n_coef == 5 + fit_intercept
    assert columns.shape == (12, 0)
    # New bags are scaled by what was seen in the fit.
    again = inputs.operator(bags[:3]) @ np.eye(operator.n_coef)[0]
    np.testing.assert_allclose(again, rows[: bags.offsets[3]])


def test_instances_without_length_keep_theirs():
    bags, y = planted(n_bags=12)
    inputs = inputs_of(unit_norm=True)
    inputs.fit(bags.replace(X=np.zeros(bags.X.shape)), y, np.ones(12))
    assert inputs.scale == 1.0
