"""Explanations: whose score it was, and which features made it."""

import numpy as np
import pytest
import scipy.sparse as sp

from bagwise import MILES, BagKernelSVC, StatisticsForest, WitnessSVC
from bagwise.testing import estimators
from bagwise.testing._problems import planted_bags

BAGS, Y = planted_bags()
LINEAR = WitnessSVC(kernel="linear").fit(BAGS, Y)
COLUMNS = ["bag", "instance", "label", "score", "share", "features"]


@pytest.mark.parametrize(
    "estimator", {type(model): model for model in estimators()}.values(), ids=repr
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_estimator_explains(estimator):
    model = estimator.fit(BAGS, Y)
    frame = model.explain(BAGS)
    assert list(frame.columns) == COLUMNS
    assert frame["bag"].tolist() == np.repeat(BAGS.ids, BAGS.sizes).tolist()
    np.testing.assert_array_equal(frame["score"], model.instance_decision_function(BAGS))
    key = frame.groupby("bag", sort=False)["score"].agg(lambda s: int(np.argmax(s.to_numpy())))
    np.testing.assert_array_equal(key, model.key_instances(BAGS))
    if frame["score"].nunique() > 1:  # a score that is the same everywhere has no slopes
        named = not frame.attrs["features"].startswith("none: ")
        assert (frame["features"] != "").any() == named


def test_shares_are_those_of_positive_scores():
    frame = WitnessSVC().fit(BAGS, Y).explain(BAGS)
    total = frame.groupby("bag")["share"].sum()
    assert set(total.round(12)) == {0.0, 1.0}
    assert ((frame["share"] > 0) == (frame["score"] > 0)).all()


def contributions(text):
    return {part.split()[0]: float(part.split()[1]) for part in text.split(", ")}


@pytest.mark.parametrize("model", [WitnessSVC(kernel="linear"), BagKernelSVC(kernel="linear")])
def test_contributions_to_a_linear_score_sum_to_its_difference_from_the_mean(model):
    named = BAGS.replace(feature_names=["a", "b", "c"])
    frame = model.fit(named, Y).explain(named)
    sums = [sum(contributions(text).values()) for text in frame["features"]]
    scores = frame["score"].to_numpy()
    np.testing.assert_allclose(sums, scores - scores.mean(), atol=0.01)
    one = model.explain(named, n_features=1)["features"]
    assert [len(contributions(text)) for text in one] == [1] * len(one)
    largest = [
        max(contributions(text).items(), key=lambda item: abs(item[1]))[0]
        for text in frame["features"]
    ]
    assert largest == [next(iter(contributions(text))) for text in one]


@pytest.mark.parametrize("model", [WitnessSVC(gamma=0.3), BagKernelSVC(gamma=0.3)])
def test_contributions_to_an_rbf_score_are_slopes_times_differences(model):
    model.fit(BAGS, Y)
    slopes, step = model._slopes(BAGS.X, 0), 1e-6
    for j in range(3):
        up, down = BAGS.X.copy(), BAGS.X.copy()
        up[:, j] += step
        down[:, j] -= step
        values = [model.instance_decision_function(BAGS.replace(X=X)) for X in (up, down)]
        np.testing.assert_allclose(slopes[:, j], (values[0] - values[1]) / (2 * step), atol=1e-7)


def test_sparse_features_are_compared_with_zero():
    sparse = BAGS.replace(X=sp.csr_array(np.where(np.abs(BAGS.X) > 1, BAGS.X, 0.0)))
    model = WitnessSVC(kernel="linear").fit(sparse, Y)
    text = model.explain(sparse)["features"]
    for row, said in zip(sparse.X.toarray(), text, strict=True):
        expected = {f"x{j}": model.coef_[0, j] * row[j] for j in np.flatnonzero(row)}
        found = contributions(said) if said else {}
        assert found == pytest.approx(expected, rel=0.01)


def test_scores_point_to_the_positive_class_or_to_the_label():
    labels = np.where(Y == 1, "a", "b")
    positive = WitnessSVC(kernel="linear", pos_label="a").fit(BAGS, labels)
    plain = WitnessSVC(kernel="linear").fit(BAGS, Y)
    found, expected = positive.explain(BAGS), plain.explain(BAGS)
    np.testing.assert_allclose(found["score"], expected["score"])
    assert found["features"].tolist() == expected["features"].tolist()
    bags, y = planted_bags(3)
    several = WitnessSVC(kernel="linear").fit(bags, np.array(["u", "v", "w"])[y])
    frame = several.explain(bags)
    column = np.searchsorted(several.classes_, frame["label"].to_numpy(str))
    scores = several.instance_decision_function(bags)
    np.testing.assert_array_equal(frame["score"], scores[np.arange(len(scores)), column])


def test_why_no_features_are_named():
    reasons = [
        model.fit(BAGS, Y).explain(BAGS).attrs["features"]
        for model in (StatisticsForest(n_estimators=3), MILES(), WitnessSVC(kernel="poly"))
    ]
    assert reasons[0] == "none: the model scores whole bags, not features of instances"
    assert reasons[1] == "none: scores of MILES with these parameters have no slopes"
    assert reasons[2] == "none: scores of WitnessSVC with these parameters have no slopes"
