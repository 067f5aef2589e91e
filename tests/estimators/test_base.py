"""The contract that every estimator keeps: failed fits, refits, labels, thresholds, keys."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from bagwise import Bags, WitnessSVC
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import param, positive
from bagwise.testing import estimators
from bagwise.testing._problems import assert_same_bits, outputs, planted_bags

BAGS, Y = planted_bags()
OTHER, Y_OTHER = planted_bags(n_bags=30, seed=1)


def state(model):
    """Return everything a model has, in copies."""
    return copy.deepcopy(vars(model))


def assert_same_state(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(other[name], value, err_msg=name)
        else:
            assert type(other[name]) is type(value), name


class Midpoint(BagClassifier):
    """The smallest estimator: one number per class, halfway between the means of a feature.

    Attributes
    ----------
    middle_ : ndarray
        The numbers.
    """

    scale: float = param(1.0, positive(), "Factor of the scores.")

    def _fit_classes(self, bags, codes, weight):
        rows = bags.X[bags.offsets[:-1], 0]
        truth = self._truth(codes)
        self.middle_ = np.array(
            [(rows[column].mean() + rows[~column].mean()) / 2 for column in truth.T]
        )

    def _instance_scores(self, bags):
        return self.scale * (bags.X[:, :1] - self.middle_)


# A fit that fails --------------------------------------------------------------------------------

DISTINCT = {type(estimator): estimator for estimator in estimators()}.values()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", DISTINCT, ids=lambda e: type(e).__name__)
def test_a_refit_that_fails_at_the_very_end_leaves_the_model_whole(estimator, monkeypatch):
    model = clone(estimator).fit(BAGS, Y)
    before, said = state(model), outputs(model, OTHER)

    def fails(self, *_):
        raise FloatingPointError("at the last step")

    monkeypatch.setattr(BagClassifier, "_settle_threshold", fails)
    # The automatic model names the candidates that failed, in an error of its own.
    with pytest.raises((FloatingPointError, ValueError), match="at the last step"):
        model.fit(OTHER, Y_OTHER)
    assert_same_state(before, state(model))
    assert_same_bits(said, outputs(model, OTHER), "after a refit that failed")


def nan_bags():
    X = BAGS.X.copy()
    X[3, 1] = np.nan
    return BAGS.replace(X=X)


@pytest.mark.parametrize(
    ("change", "bags", "y", "error"),
    [
        ({}, BAGS, Y[:-1], "23 labels"),
        ({}, BAGS, np.zeros(len(Y)), "only one class"),
        ({}, nan_bags(), Y, "contains NaN"),
        ({"C": -1.0}, BAGS, Y, "'C' parameter"),
        ({"pos_label": 5}, BAGS, Y, "pos_label=5 is not among the labels"),
        ({"threshold": "calibrated", "calibration_cv": 20}, BAGS, Y, "20 inner folds"),
        ({"class_weight": {7: 1.0}}, BAGS, Y, "names class 7"),
        ({"kernel": "precomputed"}, BAGS, Y, "numbered by"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_refit_that_is_refused_leaves_the_model_whole(change, bags, y, error):
    names = [f"f{j}" for j in range(BAGS.n_features)]
    model = WitnessSVC(probability="sigmoid").fit(OTHER.replace(feature_names=names), Y_OTHER)
    before = {k: v for k, v in state(model).items() if k.endswith("_")}
    said, kept = outputs(model, BAGS), model.get_params()
    model.set_params(**change)
    with pytest.raises(ValueError, match=error):
        model.fit(bags, y)
    model.set_params(**kept)
    assert_same_state(before, {k: v for k, v in state(model).items() if k.endswith("_")})
    assert_same_bits(said, outputs(model, BAGS), "after a refit that was refused")
    np.testing.assert_array_equal(model.feature_names_in_, names)


def test_a_first_fit_that_fails_leaves_nothing():
    model = WitnessSVC()
    with pytest.raises(ValueError, match="only one class"):
        model.fit(BAGS, np.zeros(len(Y)))
    assert vars(model) == WitnessSVC().get_params(deep=False)
    with pytest.raises(NotFittedError):
        model.predict(BAGS)


# A fit that succeeds -----------------------------------------------------------------------------


def test_a_refit_leaves_nothing_of_the_fit_before():
    names = [f"f{j}" for j in range(BAGS.n_features)]
    model = WitnessSVC(probability="sigmoid").fit(BAGS.replace(feature_names=names), Y)
    assert {"slope_", "feature_names_in_", "dual_coef_"} <= vars(model).keys()
    model.set_params(probability=False, kernel="linear").fit(BAGS, Y)
    fresh = WitnessSVC(kernel="linear").fit(BAGS, Y)
    assert vars(model).keys() == vars(fresh).keys()
    assert_same_bits(outputs(fresh, BAGS), outputs(model, BAGS), "after a refit")


# The smallest estimator --------------------------------------------------------------------------


def test_what_an_estimator_adds_is_all_it_needs():
    model = Midpoint().fit(BAGS, Y)
    scores = model.instance_decision_function(BAGS)
    np.testing.assert_array_equal(scores, BAGS.X[:, 0] - model.middle_[0])
    top = np.array([part.max() for part in np.split(scores, BAGS.offsets[1:-1])])
    np.testing.assert_array_equal(model.decision_function(BAGS), top)
    np.testing.assert_array_equal(model.predict(BAGS), (top > 0).astype(int))
    np.testing.assert_array_equal(model.predict_instances(BAGS), (scores > 0).astype(int))
    np.testing.assert_array_equal(scores[BAGS.flat(model.key_instances(BAGS))], top)
    assert model.score(BAGS, Y) == np.mean((top > 0) == Y)


def test_a_score_of_exactly_zero_is_negative():
    model = Midpoint().fit([[[0.0]], [[2.0]]], ["no", "yes"])
    np.testing.assert_array_equal(model.decision_function([[[1.0]]]), [0.0])
    np.testing.assert_array_equal(model.predict([[[1.0]], [[1.0 + 1e-9]]]), ["no", "yes"])


# Probabilities -----------------------------------------------------------------------------------


def test_probabilities_exist_only_where_asked_for():
    model = Midpoint().fit(BAGS, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as caught:
        model.predict_proba(BAGS)
    assert "probability='sigmoid'" in str(caught.value.__cause__)
    assert hasattr(Midpoint(probability="sigmoid"), "predict_proba")


def test_probabilities_point_towards_the_second_class_whichever_is_positive():
    bags, y = planted_bags(n_bags=48, shift=4.0)
    options = {"probability": "sigmoid", "calibration_cv": 3}
    plain = WitnessSVC(**options).fit(bags, y)
    flipped = WitnessSVC(pos_label=0, **options).fit(bags, 1 - y)
    np.testing.assert_allclose(
        flipped.predict_proba(bags), plain.predict_proba(bags)[:, ::-1], rtol=1e-12
    )


def test_scores_that_fall_with_the_label_give_the_base_rates():
    class Backwards(Midpoint):
        """Scores out-of-fold bags the wrong way round."""

        def _instance_scores(self, bags):
            return -super()._instance_scores(bags)

    model = Backwards(probability="sigmoid", calibration_cv=3)
    with pytest.warns(UserWarning, match="do not rise with the label"):
        model.fit(BAGS, Y)
    np.testing.assert_allclose(model.predict_proba(BAGS)[:, 1], np.mean(Y), atol=2e-3)


def test_a_score_that_is_not_finite_names_its_bag():
    class Undefined(Midpoint):
        """Has no score for large features."""

        def _instance_scores(self, bags):
            scores = super()._instance_scores(bags)
            return np.where(bags.X[:, :1] > 100, np.nan, scores)

    model = Undefined().fit(BAGS, Y)
    far = Bags.from_list([BAGS[0], 1e3 + BAGS[1]], ids=["near", "far"])
    for method in ("decision_function", "predict", "instance_decision_function", "key_instances"):
        with pytest.raises(ValueError, match=r"score of Bag 1 \(id 'far'\) is nan"):
            getattr(model, method)(far)


# Input -------------------------------------------------------------------------------------------


def test_a_class_without_weight_is_named():
    y = np.where(np.arange(24) < 4, 2, Y)
    with pytest.raises(ValueError, match="All bags of class 2 have weight zero"):
        Midpoint().fit(BAGS, y, sample_weight=1.0 * (y < 2))
