"""What a classifier says of instances, through pipelines and searches."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import BagStatistics, PerInstance, StatisticsForest, WitnessSVC, explain, make_pipeline
from bagwise.estimators.tags import bag_tags
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags()


def test_it_is_the_pipeline_of_scikit_learn():
    model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(C=2.0))
    assert isinstance(model, Pipeline)
    assert [name for name, _ in model.steps] == ["perinstance", "witnesssvc"]
    assert clone(model).set_params(witnesssvc__C=3.0).steps[-1][1].C == 3.0
    plain = Pipeline(model.steps).fit(BAGS, Y)
    expected = plain.decision_function(BAGS)
    np.testing.assert_array_equal(clone(model).fit(BAGS, Y).decision_function(BAGS), expected)


def test_questions_about_instances_are_passed_on():
    model = make_pipeline(PerInstance(StandardScaler()), WitnessSVC(kernel="linear")).fit(BAGS, Y)
    last, seen = model.steps[-1][1], model[:-1].transform(BAGS)
    for name in ("instance_decision_function", "predict_instances", "key_instances"):
        np.testing.assert_array_equal(getattr(model, name)(BAGS), getattr(last, name)(seen))
    assert model.explain(BAGS).equals(last.explain(seen))
    listed = model.key_instances(list(BAGS))
    np.testing.assert_array_equal(listed, model.key_instances(BAGS))


def test_methods_exist_where_the_classifier_has_them():
    forest = make_pipeline(PerInstance(StandardScaler()), StatisticsForest(n_estimators=5))
    assert hasattr(forest, "key_instances")
    assert not hasattr(forest, "predict_instances")
    assert bag_tags(forest).instance_scores == "occlusion"
    neighbors = make_pipeline(BagStatistics(), KNeighborsClassifier())
    for name in ("key_instances", "instance_decision_function", "explain", "predict_instances"):
        assert not hasattr(neighbors, name)
    with pytest.raises(AttributeError) as caught:
        neighbors.key_instances(BAGS)
    assert "KNeighborsClassifier gives no" in str(caught.value.__cause__)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_classifier_of_rows_is_occluded(n_classes):
    bags, y = planted_bags(n_classes)
    model = make_pipeline(BagStatistics(statistics="four"), LogisticRegression()).fit(bags, y)
    assert not hasattr(model, "predict_instances")
    assert bag_tags(model).instance_scores == "occlusion"
    frame = model.explain(bags)
    assert frame.attrs["features"].startswith("none: ")
    key = frame.groupby("bag", sort=False)["score"].agg(lambda s: int(np.argmax(s.to_numpy())))
    np.testing.assert_array_equal(key, model.key_instances(bags))


def test_any_pipeline_or_search_is_explained():
    steps = [("scale", PerInstance(StandardScaler())), ("svm", WitnessSVC(kernel="linear"))]
    plain = Pipeline(steps).fit(BAGS, Y)
    expected = make_pipeline(*(step for _, step in steps)).fit(BAGS, Y).explain(BAGS)
    assert explain(plain, BAGS).equals(expected)
    assert explain(plain[-1], plain[:-1].transform(BAGS), n_features=1).shape == expected.shape
    search = GridSearchCV(plain, {"svm__C": [1.0]}, cv=2).fit(BAGS, Y)
    assert explain(search, BAGS).equals(expected)
    of_rows = Pipeline([("four", BagStatistics()), ("last", LogisticRegression())]).fit(BAGS, Y)
    assert len(explain(of_rows, BAGS)) == BAGS.n_instances
    with pytest.raises(TypeError, match="StandardScaler has no explanation of bags"):
        explain(StandardScaler(), BAGS)
