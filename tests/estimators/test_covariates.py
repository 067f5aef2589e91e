"""Covariates beside instances, over all models that use them."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise import AutoBagClassifier, AutoBagRegressor, Bags, StatisticsLogistic
from bagwise.reports.judgment import compare_with_covariates, judge

MODELS = [
    bagwise.StatisticsForest(n_estimators=30, covariates=True),
    bagwise.StatisticsSVC(kernel="linear", covariates=True),
    StatisticsLogistic(covariates=True),
    StatisticsLogistic(statistics="none", covariates=True),
    bagwise.CompositionLogistic(n_words=4, C=10.0, covariates=True),
    bagwise.MarkovNetworkClassifier(bag_features="bags"),
    AutoBagClassifier(models=["SimpleMI"], covariates=True, cv=2),
]
NUMBERS = [
    bagwise.StatisticsForestRegressor(n_estimators=30, covariates=True),
    bagwise.CompositionRegressor(n_words=4, covariates=True),
    AutoBagRegressor(models=["MeanRegressor"], covariates=True, cv=2),
]
models = pytest.mark.parametrize("model", [*MODELS, *NUMBERS], ids=lambda m: type(m).__name__)


def planted(instances=0.0, covariates=2.0, n=80, seed=0):
    """Bags whose label is that of age, of their instances, or of both."""
    rng = np.random.default_rng(seed)
    age, shift = rng.normal(size=n), rng.normal(size=n)
    y = (instances * shift + covariates * age + 0.1 * rng.normal(size=n) > 0).astype(int)
    X = rng.normal(size=(4 * n, 3)) + np.repeat(shift, 4)[:, None]
    known = np.column_stack([50 + 10 * age, rng.normal(size=n)])
    return Bags(X, np.arange(0, 4 * n + 1, 4), bag_features=known), y


@models
def test_what_age_says_is_learned_and_follows_folds_and_files(model, tmp_path):
    bags, y = planted()
    fitted = clone(model).fit(bags[:60], y[:60])
    scores = fitted.predict(bags) if model in NUMBERS else fitted.decision_function(bags)
    assert np.corrcoef(scores[60:], y[60:])[0, 1] > 0.5
    older = bags.replace(bag_features=bags.bag_features + [30.0, 0.0])
    moved = fitted.predict(older) if model in NUMBERS else fitted.decision_function(older)
    assert moved.mean() > scores.mean()
    bagwise.save(fitted, tmp_path / "m.bagwise")
    again = bagwise.load(tmp_path / "m.bagwise")
    np.testing.assert_array_equal(again.predict(older), fitted.predict(older))
    assert fitted.explain(bags[60:62]).shape[0] == 8


@models
def test_bad_covariates_are_named(model):
    bags, y = planted()
    with pytest.raises(ValueError, match="asks for features on the bags, and these have none"):
        clone(model).fit(bags.replace(bag_features=None), y)
    holed = bags.bag_features.copy()
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Bag 3 \(id 3\) has nan as bag feature 1: impute it"):
        clone(model).fit(bags.replace(bag_features=holed), y)
    fitted = clone(model).fit(bags, y)
    with pytest.raises(ValueError, match="The bags have 1 bag features, those of fit had 2"):
        fitted.predict(bags.replace(bag_features=bags.bag_features[:, :1]))


@models
def test_texts_are_one_column_per_category_of_the_fit(model, tmp_path):
    bags, y = planted()
    stage = np.where(y == 1, "III", np.where(np.arange(80) % 3, "I", "II"))
    age = bags.bag_features[:, 0] * 0
    mixed = bags.replace(bag_features=np.stack([age.astype(object), stage], axis=1))
    columns = np.column_stack([age, *(stage == name for name in ("I", "II", "III"))])
    by_hand = bags.replace(bag_features=1.0 * columns)
    fitted, expected = clone(model).fit(mixed[:60], y[:60]), clone(model).fit(by_hand[:60], y[:60])
    np.testing.assert_allclose(fitted.predict(mixed), expected.predict(by_hand))
    bagwise.save(fitted, tmp_path / "m.bagwise")
    again = bagwise.load(tmp_path / "m.bagwise")
    np.testing.assert_array_equal(again.predict(mixed), fitted.predict(mixed))
    other = mixed.replace(
        bag_features=np.where(mixed.bag_features == "II", "IV", mixed.bag_features)
    )
    with pytest.warns(UserWarning, match="has 'IV' as bag feature 1, which the model has not seen"):
        fitted.predict(other)
    with pytest.raises(ValueError, match="has no bag feature 1: fill it in"):
        fitted.predict(mixed.replace(bag_features=[[1.0, None], *mixed.bag_features[1:]]))
    with pytest.raises(
        ValueError, match="has 'old' as bag feature 0, and the model learned numbers"
    ):
        fitted.predict(mixed.replace(bag_features=[["old", "I"], *mixed.bag_features[1:]]))


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arff", ".mat", ".bags", ".xlsx"])
def test_texts_are_read_as_they_were_written(suffix, tmp_path):
    bags, y = planted(n=6)
    stage = np.array(["I", "II", "III"] * 2)
    bags = bags.replace(bag_features=np.stack([bags.bag_features[:, 0], stage], axis=1))
    bagwise.io.write(tmp_path / f"b{suffix}", bags, y)
    read, _ = bagwise.io.read(tmp_path / f"b{suffix}")
    np.testing.assert_array_equal(read.bag_features, bags.bag_features)


def test_frames_may_have_texts():
    import pandas as pd

    frame = pd.DataFrame(
        {"s": list("aabb"), "x": range(4), "age": [5, 5, 6, 6], "sex": list("mmff")}
    )
    bags = Bags.from_frame(frame, bag="s", bag_features=["age", "sex"])
    assert bags.bag_features.tolist() == [["5", "m"], ["6", "f"]]
    with pytest.raises(ValueError, match="bag_features must be numbers or texts"):
        bags.replace(bag_features=[[object(), "m"], ["6", "f"]])


def test_covariates_alone_are_a_logistic_regression():
    bags, y = planted()
    model = StatisticsLogistic(statistics="none", covariates=True).fit(bags, y)
    rows = StandardScaler().fit_transform(bags.bag_features)
    expected = LogisticRegression(C=1.0, tol=1e-10).fit(rows, y).decision_function(rows)
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-5)
    np.testing.assert_allclose(model.instance_decision_function(bags)[1:4], 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="describes no bag: set covariates=True"):
        StatisticsLogistic(statistics="none").fit(bags, y)


def test_sparse_bags_and_weights_keep_their_covariates():
    bags, y = planted(n=40)
    weight = np.r_[np.ones(30), np.zeros(10)]
    model = StatisticsLogistic(covariates=True, scale=False)
    dense = clone(model).fit(bags[:30], y[:30]).decision_function(bags)
    sparse = bags.replace(X=sp.csr_array(bags.X))
    found = clone(model).fit(sparse, y, sample_weight=weight).decision_function(sparse)
    np.testing.assert_allclose(found, dense, rtol=1e-6)


@pytest.mark.parametrize(("instances", "adds"), [(0.0, False), (2.0, True)])
def test_the_report_says_whether_instances_add_anything(instances, adds):
    bags, y = planted(instances, n=150)
    model = StatisticsLogistic(C=0.1, covariates=True).fit(bags, y)
    found = compare_with_covariates(model, bags, y, 5, judge(model, bags, y, 5))
    assert (found.more.p_value < 0.05 and found.more.value > 0) == adds
    page = bagwise.report(model, bags, y, cv=5)
    assert found.answer.split("?")[0] in page.html
    assert page.numbers["beyond_covariates"][1] == pytest.approx(found.alone)
    plain = StatisticsLogistic().fit(bags, y)
    assert "beyond_covariates" not in bagwise.report(plain, bags, y, cv=5).numbers
