"""Checks of what must not change a model: form of the data, order, repetition, copies, use."""

from __future__ import annotations

import pickle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from bagwise.bags import Bags
from bagwise.bags.segments import bag_index, segment_rank
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


def check_forms_of_input_agree(estimator: Any) -> None:
    """A list, an object array, Bags, rows with bag ids and rows on disk give the same bits."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    members, objects = list(bags), np.empty(len(bags), dtype=object)
    objects[:] = members
    with TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), bags.X)
        mapped = bags.replace(X=np.load(Path(folder, "X.npy"), mmap_mode="r"))
        forms = {"list": members, "object array": objects, "memory map": mapped}
        for name, form in {**forms, "groups": _regroup(bags)}.items():
            model = clone(estimator).fit(form, y)
            assert_same_bits(expected, outputs(model, form), f"{name} against Bags")


def _regroup(bags: Bags) -> Bags:
    """Write the rows in mixed order and let their bag ids bring them together again."""
    position = np.arange(bags.n_instances) - np.repeat(bags.offsets[:-1], bags.sizes)
    mixed = np.argsort(position, kind="stable")  # first instances of all bags, second ones, ...
    return Bags.from_groups(bags.X[mixed], bags.ids[bag_index(bags.offsets)][mixed])


def check_table_is_bags_of_one(estimator: Any) -> None:
    """A plain 2-D array is the same as bags of one instance, also as a 3-D array."""
    bags, y = planted_bags()
    X = bags.X[bags.offsets[:-1]]
    expected = outputs(clone(estimator).fit([row[None] for row in X], y), X)
    for form in (X, X[:, None, :]):
        assert_same_bits(expected, outputs(clone(estimator).fit(form, y), X), f"{form.ndim}-D")


@needs("sparse")
def check_sparse_equals_dense(estimator: Any) -> None:
    """Sparse instances give the scores of the same instances written densely."""
    bags, y = planted_bags()
    bags = bags.replace(X=np.where(bags.X > 0.3, bags.X, 0.0))
    sparse = bags.replace(X=sp.csr_array(bags.X))
    expected = score_bags(with_fixed_width(estimator).fit(bags, y), bags)
    model = with_fixed_width(estimator).fit(sparse, y)
    tolerance = bag_tags(estimator).tolerance
    assert_close(expected, score_bags(model, sparse), tolerance, "sparse against dense")
    assert_close(expected, score_bags(model, bags), tolerance, "sparse fit, dense predict")


def check_lower_precision(estimator: Any) -> None:
    """Single and half precision give the scores of double precision to a thousandth."""
    bags, y = planted_bags()
    for dtype in (np.float32, np.float16):
        low = bags.replace(X=bags.X.astype(dtype))
        same = bags.replace(X=low.X.astype(np.float64))
        expected = score_bags(with_fixed_width(estimator).fit(same, y), same)
        scores = score_bags(with_fixed_width(estimator).fit(low, y), low)
        assert scores.dtype == np.float64, "scores are float64 whatever the instances are"
        tolerance = max(1e-3, bag_tags(estimator).tolerance)
        assert_close(expected, scores, tolerance, f"{low.dtype} against float64")


@needs("classes")
def check_labels_of_any_kind(estimator: Any) -> None:
    """Strings, booleans and unusual numbers as labels change names only."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    scores, codes = model.decision_function(bags), model.predict(bags)
    for names in (["absent", "present"], [False, True], [-1, 1], [7.0, 8.0]):
        labels = np.array(names)
        renamed = clone(estimator).fit(bags, labels[y])
        np.testing.assert_array_equal(renamed.classes_, labels)
        np.testing.assert_array_equal(renamed.decision_function(bags), scores)
        np.testing.assert_array_equal(renamed.predict(bags), labels[codes])


@needs("parameter pos_label")
def check_pos_label(estimator: Any) -> None:
    """Naming the first class as positive mirrors the problem with swapped labels."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    mirrored = outputs(clone(estimator).set_params(pos_label=0).fit(bags, 1 - y), bags)
    for name in expected.keys() & {"decision_function", "instance_decision_function"}:
        np.testing.assert_array_equal(mirrored[name], -expected[name], err_msg=name)
    np.testing.assert_array_equal(mirrored["predict"], 1 - expected["predict"])
    if "key_instances" in expected:
        np.testing.assert_array_equal(mirrored["key_instances"], expected["key_instances"])


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
def check_weights_are_repetitions(estimator: Any) -> None:
    """A bag of weight two is the bag twice, one of weight zero is no bag, whatever its class."""
    (bags, y), rng = planted_bags(), np.random.default_rng(0)
    twice = with_fixed_width(estimator), rng.integers(1, 3, len(bags))
    for model, times in (twice, (clone(estimator), 1 * (rng.integers(0, 4, len(bags)) > 0))):
        rows = np.repeat(np.arange(len(bags)), times)
        weighted = clone(model).fit(bags, y, sample_weight=times)
        _check_same_scores(clone(model).fit(bags[rows], y[rows]), weighted, f"weights {times}")


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


def check_two_fits_give_the_same_bits(estimator: Any) -> None:
    """Fitting is deterministic, and neither clones nor earlier fits leave a trace."""
    bags, y = planted_bags()
    expected = outputs(clone(estimator).fit(bags, y), bags)
    used = clone(estimator).fit(*planted_bags(seed=1))
    copies = {"second fit": clone(estimator), "clone of a fitted model": clone(used), "refit": used}
    for name, model in copies.items():
        assert_same_bits(expected, outputs(model.fit(bags, y), bags), name)


def check_predicting_changes_nothing(estimator: Any) -> None:
    """Predicting leaves parameters, attributes and bags as they were; so does pickling."""
    bags, y = planted_bags()
    model = clone(estimator).fit(bags, y)
    before, instances = pickle.dumps(model), bags.X.copy()
    first = outputs(model, bags)
    assert_same_bits(first, outputs(model, bags), "second call")
    assert_same_bits(first, outputs(pickle.loads(before), bags), "after pickling")
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
