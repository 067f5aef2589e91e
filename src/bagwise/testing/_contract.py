"""Checks of the contract: shapes, scores, attributes, thresholds and probabilities."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, cross_val_predict

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand
from bagwise.estimators.tags import bag_tags
from bagwise.testing._problems import assert_close, needs, planted_bags, with_fixed_width

_GAP = 1e-4  # relative to the objective; libsvm, the least exact solver, stays well below


def _numbers_of_classes(estimator: Any) -> tuple[int, ...]:
    return (2, 3) if estimator.__sklearn_tags__().classifier_tags.multi_class else (2,)


def _wide(scores: Array) -> Array:
    """Return scores with one column per model."""
    return scores[:, None] if scores.ndim == 1 else scores


@needs("classes")
def check_shapes(estimator: Any) -> None:
    """Scores are (n,) for two classes and (n, K) for more; predictions are training labels."""
    for n_classes in _numbers_of_classes(estimator):
        bags, y = planted_bags(n_classes)
        model = clone(estimator).fit(bags, y)
        columns = () if n_classes == 2 else (n_classes,)
        np.testing.assert_array_equal(model.classes_, np.arange(n_classes))
        scores = model.decision_function(bags)
        assert scores.shape == (len(bags), *columns)
        predicted = model.predict(bags)
        expected = scores > 0 if n_classes == 2 else scores.argmax(axis=1)
        np.testing.assert_array_equal(predicted, model.classes_[expected.astype(int)])
        if bag_tags(estimator).instance_scores:
            _check_instance_shapes(model, bags, columns)


def _check_instance_shapes(model: Any, bags: Bags, columns: tuple[int, ...]) -> None:
    scores = model.instance_decision_function(bags)
    assert scores.shape == (bags.n_instances, *columns)
    expected = scores.argmax(axis=1) if columns else (scores > 0).astype(int)
    assert hasattr(model, "predict_instances") == bag_tags(model).exact_instance_scores
    if bag_tags(model).exact_instance_scores and bag_tags(model).signs_are_labels:
        np.testing.assert_array_equal(model.predict_instances(bags), model.classes_[expected])
    keys = model.key_instances(bags)
    assert keys.shape == (len(bags),)
    assert keys.dtype.kind == "i"
    bags.flat(keys)  # raises where a position is not in its bag


@needs("classes", "instance_scores", "bag_score")
def check_bag_score_is_made_of_instance_scores(estimator: Any) -> None:
    """The decision value is the aggregate of the instance scores, the threshold taken off once."""
    tags = bag_tags(estimator)
    aggregate: Any = tags.bag_score
    rest = 0.0 if tags.threshold_shifts_instances else 0.25
    for n_classes in _numbers_of_classes(estimator):
        bags, y = planted_bags(n_classes)
        model = clone(estimator).set_params(threshold=0.25).fit(bags, y)
        scores = _wide(model.instance_decision_function(bags))
        expected = [
            [aggregate(column) - rest for column in part.T] for part in _parts(scores, bags)
        ]
        found = _wide(model.decision_function(bags))
        assert_close(np.array(expected), found, 1e-12, f"{n_classes} classes")


def _parts(values: Array, bags: Bags) -> list[Array]:
    return np.split(values, bags.offsets[1:-1])


@needs("classes", "instance_scores")
def check_key_instances_score_highest(estimator: Any) -> None:
    """The key instance has the highest score for the predicted class; the first of equals."""
    for n_classes in _numbers_of_classes(estimator):
        bags, y = planted_bags(n_classes)
        bags = Bags.from_list([np.repeat(bag, 2, axis=0) for bag in bags])
        model = clone(estimator).fit(bags, y)
        scores = _wide(model.instance_decision_function(bags))
        column = np.zeros(len(bags), dtype=int) if n_classes == 2 else model.predict(bags)
        expected = [
            part[:, k].argmax() for part, k in zip(_parts(scores, bags), column, strict=True)
        ]
        np.testing.assert_array_equal(model.key_instances(bags), expected)


@needs("parameter threshold")
def check_threshold_shifts_scores(estimator: Any) -> None:
    """A number as threshold is subtracted from bag scores, and from the scores they are made of."""
    bags, y = planted_bags()
    plain = clone(estimator).set_params(threshold=0.0).fit(bags, y)
    shifted = clone(estimator).set_params(threshold=0.5).fit(bags, y)
    np.testing.assert_array_equal(shifted.threshold_, [0.5])
    np.testing.assert_array_equal(
        shifted.decision_function(bags), plain.decision_function(bags) - 0.5
    )
    if bag_tags(estimator).instance_scores:
        moves = bag_tags(estimator).threshold_shifts_instances
        shift = np.full(bags.n_instances, 0.5 if moves else 0.0)
        if bag_tags(estimator).instance_scores == "occlusion":  # the score of the bag itself
            shift[expand(bags.sizes == 1, bags.offsets)] = 0.5
        expected = plain.instance_decision_function(bags) - shift
        assert_close(expected, shifted.instance_decision_function(bags), 1e-12, "instances")


@needs("classes")
def check_attributes(estimator: Any) -> None:
    """After fit all attributes of the contract exist, and an easy problem converges."""
    for n_classes in _numbers_of_classes(estimator):
        bags, y = planted_bags(n_classes)
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            model = clone(estimator).fit(bags, y)
        n_models = 1 if n_classes == 2 else n_classes
        assert model.n_features_in_ == bags.n_features
        assert model.threshold_.shape == (n_models,)
        _check_certificates(model, n_models)
        if bag_tags(estimator).instance_weights:
            _check_instance_weights(model, bags, y, n_models)


def _check_certificates(model: Any, n_models: int) -> None:
    tags = bag_tags(model)
    if tags.objective:
        assert np.shape(model.objective_) == (n_models,)
        assert np.all(np.isfinite(model.objective_))
        assert model.n_iter_ >= 1
        histories = [model.history_] if n_models == 1 else model.history_
        assert len(histories) == n_models
        assert max(len(history) for history in histories) == model.n_iter_
        assert all("objective" in record for history in histories for record in history)
    if tags.gap:
        assert np.shape(model.gap_) == (n_models,)
        assert np.all(model.gap_ >= 0), "a duality gap is not negative"
        assert np.all(model.gap_ <= _GAP * np.abs(model.objective_)), "the gap is not closed"


def _check_instance_weights(model: Any, bags: Bags, y: Array, n_models: int) -> None:
    weights = model.instance_weights_
    expected = (bags.n_instances,) if n_models == 1 else (n_models, bags.n_instances)
    assert weights.shape == expected
    assert np.all((weights >= 0) & (weights <= 1))
    for k, of_model in enumerate(np.atleast_2d(weights)):
        positive = y == (1 if n_models == 1 else k)
        mass = np.array([part.sum() for part in _parts(of_model, bags)])
        assert np.all(mass[~positive] == 0), "an instance of a negative bag counts as positive"
        assert np.all(mass[positive] > 0), "a positive bag has no positive instance"


@needs("numbers")
def check_numbers(estimator: Any) -> None:
    """A number per bag, made of those of its instances where tags say so, with a certificate."""
    bags, y = planted_bags()
    model, tags = clone(estimator).fit(bags, y + 0.5), bag_tags(estimator)
    predicted = model.predict(bags)
    assert predicted.shape == (len(bags),)
    assert predicted.dtype == np.float64
    scores, keys = model.instance_decision_function(bags), model.key_instances(bags)
    assert scores.shape == (bags.n_instances,)
    assert len(bags.flat(keys)) == len(bags)
    assert hasattr(model, "predict_instances") == tags.exact_instance_scores
    if tags.bag_score is not None:
        made = np.array([tags.bag_score(part) for part in _parts(scores, bags)])
        assert_close(made, predicted, 1e-12, "bags of instances")
    _check_certificates(model, 1)


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
    for n_classes in _numbers_of_classes(estimator):
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
        for some, what in ((bags, "3 bags"), (bags.replace(groups=pairs), "2 groups")):
            said = ""
            try:
                model.fit(some, labels)
            except ValueError as error:
                said = str(error)
            words = ("present", what, "4 inner folds", "calibration_cv")
            assert all(word in said for word in words), f"the error is {said!r}"


@needs("parameter threshold", "parameter calibration_cv", "weight_is_repetition")
def check_calibration_ignores_bags_of_weight_zero(estimator: Any) -> None:
    """A bag of weight zero is in no inner fold and does not influence the threshold."""
    bags, y = planted_bags(n_bags=36)
    used = np.random.default_rng(0).integers(0, 4, len(bags)) > 0
    model = with_fixed_width(estimator).set_params(threshold="calibrated", calibration_cv=3)
    expected = clone(model).fit(bags[used], y[used]).threshold_
    found = clone(model).fit(bags, y, sample_weight=used).threshold_
    assert_close(expected, found, bag_tags(estimator).tolerance, "threshold_")
