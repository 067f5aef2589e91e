"""Classifiers on statistics of bags are the scikit-learn pipelines that they stand for."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bagwise import Bags, BagStatistics, StatisticsForest, StatisticsLogistic, StatisticsSVC
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags()
THREE, Y3 = planted_bags(3)


@pytest.mark.parametrize(
    ("model", "steps"),
    [
        (
            StatisticsSVC(C=3.0, gamma=0.2),
            [
                BagStatistics(statistics="four"),
                StandardScaler(),
                SVC(C=3.0, gamma=0.2, break_ties=True),
            ],
        ),
        (
            StatisticsLogistic(C=0.5, statistics=["mean", "q30"], scale=False),
            [BagStatistics(statistics=["mean", "q30"]), LogisticRegression(C=0.5, tol=1e-10)],
        ),
        (
            StatisticsForest(estimator=ExtraTreesClassifier(20, random_state=5)),
            [BagStatistics(statistics="quantiles"), ExtraTreesClassifier(20, random_state=5)],
        ),
    ],
)
@pytest.mark.parametrize(("bags", "y"), [(BAGS, Y), (THREE, Y3)], ids=["two", "three"])
def test_it_is_the_pipeline_of_scikit_learn(model, steps, bags, y):
    pipeline = make_pipeline(*steps).fit(bags, y)
    model.fit(bags, y)
    fresh, _ = planted_bags(seed=1)
    np.testing.assert_array_equal(model.predict(fresh), pipeline.predict(fresh))
    if hasattr(pipeline, "decision_function"):
        expected = pipeline.decision_function(fresh)
        np.testing.assert_allclose(model.decision_function(fresh), expected, rtol=2e-3, atol=1e-4)
    else:
        shares = pipeline.predict_proba(fresh)
        expected = shares if len(shares[0]) > 2 else shares[:, 1] - 0.5
        np.testing.assert_array_equal(model.decision_function(fresh), expected)


@pytest.mark.parametrize("svm", [SVC(C=3), SVC(kernel="linear"), SVC(kernel="poly", coef0=1.0)])
def test_scores_of_two_classes_are_those_of_libsvm(svm):
    model = StatisticsSVC(estimator=svm).fit(BAGS, Y)
    rows = model.scaler_.transform(BagStatistics(statistics="four").fit_transform(BAGS))
    expected = model.estimator_.decision_function(rows)
    np.testing.assert_allclose(model.decision_function(BAGS), expected, rtol=1e-11, atol=1e-11)


def test_a_classifier_without_weights_refuses_them():
    model = StatisticsSVC(estimator=KNeighborsClassifier(3))
    model.fit(BAGS, Y, sample_weight=np.full(len(BAGS), 2.0))
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(BAGS, Y, sample_weight=np.arange(len(BAGS)))
    with pytest.raises(ValueError, match="leave out sample_weight and class_weight"):
        model.set_params(class_weight={0: 1.0, 1: 5.0}).fit(BAGS, Y)


@pytest.mark.parametrize("model", [StatisticsForest(n_estimators=9), StatisticsSVC(scale=False)])
def test_sparse_bags_after_dense_ones_and_the_other_way_round(model):
    sparse = BAGS.replace(X=sp.csr_array(BAGS.X))
    expected = model.fit(BAGS, Y).decision_function(BAGS)
    np.testing.assert_allclose(model.decision_function(sparse), expected, atol=1e-6)
    by_sparse = model.fit(sparse, Y).decision_function(BAGS)
    np.testing.assert_allclose(by_sparse, expected, atol=1e-4)


@pytest.mark.parametrize("model", [StatisticsForest(n_estimators=3), StatisticsLogistic()])
def test_statistics_that_overflow_are_named(model):
    far = BAGS.replace(X=BAGS.X * 1e200)
    with pytest.raises(ValueError, match="The statistics of the bags are too large"):
        model.fit(BAGS, Y).decision_function(far)


def test_columns_of_rounding_noise_are_not_divided_by():
    """Means and deviations of a feature that is 0.1 everywhere differ by about 1e-17."""
    rng = np.random.default_rng(0)
    X = [np.column_stack([rng.normal(size=(n, 2)), np.full(n, 0.1)]) for n in range(1, 41)]
    model = StatisticsLogistic().fit(Bags.from_list(X), np.arange(40) % 2)
    known = np.abs(model.decision_function(X)).max()
    varied = [part + [0.0, 0.0, 1.0] * rng.normal(size=(len(part), 1)) for part in X]
    assert np.abs(model.decision_function(varied)).max() == pytest.approx(known, rel=0.1)
