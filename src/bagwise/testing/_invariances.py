"""Checks of what must not change a model: order, repetition, copies, predicting."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise.bags import Bags
from bagwise.bags.segments import segment_rank
from bagwise.estimators.tags import bag_tags
from bagwise.testing._problems import (
    assert_close,
    assert_same_bits,
    needs,
    outputs,
    planted_bags,
    score_bags,
    with_fixed_width,
)


def _check_same_scores(one: Any, other: Any, what: str) -> None:
    """Compare two fitted models on bags that neither of them has seen."""
    fresh, _ = planted_bags(seed=1)
    expected, tolerance = score_bags(one, fresh), bag_tags(one).tolerance
    assert_close(expected, score_bags(other, fresh), tolerance, what)


def check_order_of_bags(estimator: Any) -> None:
    """Permuting bags permutes predictions and does not change the fit."""
    bags, y = planted_bags()
    order = np.random.default_rng(0).permutation(len(bags))
    model = with_fixed_width(estimator).fit(bags, y)
    permuted = score_bags(model, bags[order])
    assert_close(score_bags(model, bags)[order], permuted, 1e-12, "predicting")
    _check_same_scores(model, with_fixed_width(estimator).fit(bags[order], y[order]), "fitting")


def check_order_of_instances(estimator: Any) -> None:
    """Permuting the instances of a bag changes neither its score nor the fit."""
    bags, y = planted_bags()
    mixed = _shuffle_within(bags)
    model = with_fixed_width(estimator).fit(bags, y)
    expected = score_bags(model, bags)
    assert_close(expected, score_bags(model, mixed), 1e-12, "predicting")
    _check_same_scores(model, with_fixed_width(estimator).fit(mixed, y), "fitting")


@needs("classes")
def check_facts_of_instances_and_bags_follow_slices(estimator: Any) -> None:
    """Known labels and covariates, where a model uses them, survive slices, joins and pickling."""
    bags, y = planted_bags()
    model = clone(estimator)
    if not model._uses_known and "covariates" not in model.get_params():
        return
    if "covariates" in model.get_params():
        model.set_params(covariates=True)
    known = np.full(bags.n_instances, np.nan)
    known[bags.offsets[:-1][y == 0]] = 0.0
    for first, last in zip(bags.offsets[:-1][y == 1], bags.offsets[1:][y == 1], strict=True):
        known[first + np.argmax(bags.X[first:last, 0])] = 0.0
        known[first + np.argmin(bags.X[first:last, 0])] = 1.0
    ages = np.random.default_rng(0).normal(size=(len(bags), 2)) + y[:, None]
    bags = bags.replace(known_labels=known if model._uses_known else None, bag_features=ages)
    again = pickle.loads(pickle.dumps(Bags.concat([bags[:9], bags[9:][np.arange(len(bags) - 9)]])))
    plain = bags.replace(known_labels=None, bag_features=0 * ages)
    expected, found = (score_bags(clone(model).fit(each, y), bags) for each in (bags, again))
    np.testing.assert_array_equal(found, expected)
    differ = np.abs(score_bags(clone(model).fit(plain, y), bags) - expected).max()
    assert differ > 0, "known labels and covariates have no effect"


def _shuffle_within(bags: Bags) -> Bags:
    draws = np.random.default_rng(0).random(bags.n_instances)
    rows = np.empty(bags.n_instances, dtype=np.int64)
    rows[np.repeat(bags.offsets[:-1], bags.sizes) + segment_rank(draws, bags.offsets)] = np.arange(
        bags.n_instances
    )
    return bags.replace(X=bags.X[rows])


@needs("instance_scores")
def check_parts_follow(estimator: Any) -> None:
    """The parts of instances follow bags into a fit, slices and explanations."""
    bags, y = planted_bags()
    rows, sites = np.arange(bags.n_instances), np.arange(len(bags)) % 3
    bags = bags.replace(parts=[f"part {row // 2}" for row in rows], sites=sites)
    order = np.random.default_rng(0).permutation(len(bags))
    model = clone(estimator).fit(bags[order], y[order])
    whole, part = (model.explain(each).set_index("bag") for each in (bags, bags[order[:5]]))
    for name in ("part", "key_part"):
        assert part[name].tolist() == whole.loc[part.index.unique(), name].tolist(), name
    score = model.explain(bags).groupby(["bag", "part"], sort=False)["share"].sum()
    shares = model.explain(bags).groupby(["bag", "part"], sort=False)["part_share"].first()
    np.testing.assert_allclose(shares, score, atol=1e-9)


@needs("weight_is_repetition")
def check_weight_two_is_the_bag_twice(estimator: Any) -> None:
    """Integer weights are repetitions, for positive and negative bags."""
    bags, y = planted_bags()
    times = np.random.default_rng(0).integers(1, 3, len(bags))
    weighted = with_fixed_width(estimator).fit(bags, y, sample_weight=times)
    twice = np.repeat(np.arange(len(bags)), times)
    _check_same_scores(with_fixed_width(estimator).fit(bags[twice], y[twice]), weighted, "weight 2")


@needs("weight_is_repetition")
def check_weight_zero_is_no_bag(estimator: Any) -> None:
    """A bag of weight zero is the same as no bag."""
    bags, y = planted_bags()
    weight = np.random.default_rng(0).integers(0, 4, len(bags)) > 0
    weighted = clone(estimator).fit(bags, y, sample_weight=weight)
    _check_same_scores(clone(estimator).fit(bags[weight], y[weight]), weighted, "weight 0")


@needs("parameter class_weight", "weight_is_repetition")
def check_class_weight_is_sample_weight(estimator: Any) -> None:
    """A class weight is the same weight on every bag of the class; "balanced" counts bags."""
    bags, y = planted_bags()
    bags, y = bags[5:], y[5:]
    by_class = with_fixed_width(estimator).set_params(class_weight={0: 1.0, 1: 3.0}).fit(bags, y)
    by_bag = with_fixed_width(estimator).fit(bags, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    _check_same_scores(by_bag, by_class, "class_weight={0: 1, 1: 3}")
    plain = with_fixed_width(estimator).fit(bags, y)
    differ = np.abs(score_bags(plain, bags) - score_bags(by_class, bags)).max()
    assert differ > 0, "class_weight has no effect"
    balanced = with_fixed_width(estimator).set_params(class_weight="balanced").fit(bags, y)
    share = len(y) / (2 * np.bincount(y))
    by_bag = with_fixed_width(estimator).fit(bags, y, sample_weight=share[y])
    _check_same_scores(by_bag, balanced, "class_weight='balanced'")


def check_pickle(estimator: Any) -> None:
    """A fitted model survives pickling, bit by bit."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    again = pickle.loads(pickle.dumps(model))
    assert_same_bits(outputs(model, bags), outputs(again, bags), "after pickling")


def check_two_fits_give_the_same_bits(estimator: Any) -> None:
    """Fitting is deterministic, and neither clones nor earlier fits leave a trace."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    used = clone(estimator).fit(*planted_bags(seed=1))
    copies = {"second fit": clone(estimator), "clone of a fitted model": clone(used), "refit": used}
    for name, model in copies.items():
        assert_same_bits(expected, outputs(model.fit(bags, y), bags), name)


def check_predicting_changes_nothing(estimator: Any) -> None:
    """Predicting leaves parameters, attributes and bags as they were."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    before, instances = pickle.dumps(model), bags.X.copy()
    first = outputs(model, bags)
    assert_same_bits(first, outputs(model, bags), "second call")
    np.testing.assert_array_equal(bags.X, instances)
    assert pickle.dumps(model) == before, "predicting changed the model"


def check_fitting_leaves_its_input_alone(estimator: Any) -> None:
    """Fitting writes neither to the instances, the labels, the weights nor the parameters."""
    bags, y = planted_bags()
    members, weight = [bag.copy() for bag in bags], np.ones(len(bags))
    model = clone(estimator)
    parameters = model.get_params()
    model.fit(members, y, sample_weight=weight)
    for member, bag in zip(members, bags, strict=True):
        np.testing.assert_array_equal(member, bag)
    np.testing.assert_array_equal(weight, 1.0)
    assert model.get_params() == parameters, "fit changed a parameter"
