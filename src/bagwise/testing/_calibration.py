"""Checks of thresholds and probabilities from out-of-fold scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict

from bagwise._typing import Array
from bagwise.estimators.tags import bag_tags
from bagwise.testing._problems import assert_close, needs, planted_bags, raises, with_fixed_width


def _accuracy(scores: Array, y: Array, threshold: float) -> float:
    return float(np.mean((scores > threshold) == y))


_ENOUGH, _EASY = 48, 4.0  # bags and shift with which every listed model beats chance


@needs("parameter threshold", "parameter calibration_cv")
def check_calibrated_threshold(estimator: Any) -> None:
    """No midpoint between out-of-fold scores classifies more training bags correctly."""
    bags, y = planted_bags()
    folds = list(StratifiedKFold(3).split(bags, y))
    if estimator.get_params(deep=False).get("gamma") == "median":
        estimator = clone(estimator).set_params(gamma=0.2)  # the folds share one that is chosen
    model = clone(estimator).set_params(threshold="calibrated", calibration_cv=folds)
    model.fit(bags, y)
    plain = clone(estimator).set_params(threshold=0.0)
    scores = cross_val_predict(plain, bags, y, cv=folds, method="decision_function")
    values = np.unique(scores)
    best = max(_accuracy(scores, y, t) for t in (values[1:] + values[:-1]) / 2)
    assert _accuracy(scores, y, model.threshold_[0]) >= best - 1e-12
    expected = plain.fit(bags, y).decision_function(bags) - model.threshold_
    np.testing.assert_array_equal(model.decision_function(bags), expected)


@needs("parameter probability", "parameter calibration_cv")
def check_probabilities(estimator: Any) -> None:
    """Probabilities sum to one, agree with scores and labels, and do not heed a threshold."""
    assert not hasattr(clone(estimator).set_params(probability=False), "predict_proba")
    multi_class = estimator.__sklearn_tags__().classifier_tags.multi_class
    for n_classes in (2, 3) if multi_class else (2,):
        bags, y = planted_bags(n_classes, n_bags=_ENOUGH, shift=_EASY)
        settings = {"probability": "sigmoid", "calibration_cv": 2, "threshold": None}
        model = clone(estimator).set_params(**settings).fit(bags, y)
        chances, scores = model.predict_proba(bags), model.decision_function(bags)
        assert chances.shape == (len(bags), n_classes)
        assert np.all((chances >= 0) & (chances <= 1))
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
        predicted = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(chances.argmax(axis=1), predicted.astype(int))
        np.testing.assert_array_equal(model.predict(bags), model.classes_[1 * predicted])
        if n_classes == 2:
            np.testing.assert_array_equal(chances[:, 1] > 0.5, scores > 0)
        for threshold in (0.1, "balanced") if n_classes == 2 else ():
            moved = clone(estimator).set_params(**settings | {"threshold": threshold}).fit(bags, y)
            assert_close(chances, moved.predict_proba(bags), 1e-6, f"{threshold=}")


@needs("parameter threshold", "parameter calibration_cv")
def check_inner_folds_keep_groups(estimator: Any) -> None:
    """With groups the inner folds are those of StratifiedGroupKFold, which splits none."""
    bags, y = planted_bags(n_bags=36)
    bags = bags.replace(groups=np.arange(len(bags)) // 3)
    folds = list(StratifiedGroupKFold(3, shuffle=True, random_state=0).split(y, y, bags.groups))
    base = clone(estimator).set_params(threshold="calibrated")
    if "random_state" in base.get_params():
        base.set_params(random_state=0)
    by_number = clone(base).set_params(calibration_cv=3).fit(bags, y)
    by_folds = clone(base).set_params(calibration_cv=folds).fit(bags, y)
    np.testing.assert_array_equal(by_number.threshold_, by_folds.threshold_)


@needs("parameter threshold", "parameter probability", "parameter calibration_cv")
def check_too_few_bags_for_the_folds(estimator: Any) -> None:
    """A class with fewer bags or groups than inner folds is named, with the remedy."""
    bags, y = planted_bags()
    few = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:3]]))
    bags, labels = bags[few], np.array(["absent", "present"])[y[few]]
    present = labels == "present"
    pairs = np.where(present, np.cumsum(present) % 2, np.arange(2, len(bags) + 2))
    for parameters in ({"threshold": "calibrated"}, {"probability": "sigmoid"}):
        model = clone(estimator).set_params(calibration_cv=4, **parameters)
        with raises("present", "3 bags", "4 inner folds", "calibration_cv"):
            model.fit(bags, labels)
        with raises("present", "2 groups", "4 inner folds", "calibration_cv"):
            model.fit(bags.replace(groups=pairs), labels)


@needs("parameter threshold", "parameter calibration_cv", "weight_is_repetition")
def check_calibration_ignores_bags_of_weight_zero(estimator: Any) -> None:
    """A bag of weight zero is in no inner fold and does not influence the threshold."""
    bags, y = planted_bags(n_bags=36)
    used = np.random.default_rng(0).integers(0, 4, len(bags)) > 0
    model = with_fixed_width(estimator).set_params(threshold="calibrated", calibration_cv=3)
    expected = clone(model).fit(bags[used], y[used]).threshold_
    found = clone(model).fit(bags, y, sample_weight=used).threshold_
    assert_close(expected, found, bag_tags(estimator).tolerance, "threshold_")
