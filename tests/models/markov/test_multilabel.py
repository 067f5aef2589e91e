"""Networks of several labels: one against the rest is their limit, pairs are learned."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.multioutput import MultiOutputClassifier
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise import (
    Bags,
    LabelSVC,
    MarkovNetworkClassifier,
    MultiLabelMarkovNetwork,
    PerInstance,
    SpanningTrees,
    make_pipeline,
)
from bagwise.io import CorruptFileError
from bagwise.persistence import describe

BASE = MarkovNetworkClassifier(alpha=0.3)


def planted(n_bags=60, seed=0, noise=0.7):
    """Draw bags with three labels, of which the first two exclude each other."""
    rng = np.random.default_rng(seed)
    allowed = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1], [0, 0, 1]])
    labels = allowed[rng.integers(len(allowed), size=n_bags)]
    X = rng.normal(scale=noise, size=(n_bags, 4, 3))
    for bag, label in zip(*np.nonzero(labels), strict=True):
        X[bag, label, label] += 1.5
    return Bags(X.reshape(-1, 3), np.arange(0, 4 * n_bags + 1, 4)), labels


@pytest.mark.parametrize("cardinality", ["any", "learned"])
def test_without_pairs_it_is_one_against_the_rest(cardinality):
    bags, labels = planted()
    base = clone(BASE).set_params(cardinality=cardinality)
    model = MultiLabelMarkovNetwork(estimator=base, pairs=False).fit(bags, labels)
    rest = MultiOutputClassifier(base).fit(bags, labels)
    np.testing.assert_array_equal(model.predict(bags), rest.predict(bags))
    for one, other in zip(model.estimators_, rest.estimators_, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_)
    scores = [other.decision_function(bags) for other in rest.estimators_]
    np.testing.assert_array_equal(model.decision_function(bags), np.stack(scores, axis=1))
    assert not model.pair_weights_.any()
    assert model.objective_ == model.separate_objective_


@pytest.mark.parametrize("cardinality", ["any", "ratio", "learned"])
def test_pairs_lower_the_joint_objective_which_is_that_of_the_weights(cardinality):
    bags, labels = planted()
    base = clone(BASE).set_params(cardinality=cardinality, unit_norm=False)
    model = MultiLabelMarkovNetwork(estimator=base).fit(bags, labels)
    assert model.objective_ < model.separate_objective_
    assert 0 <= model.gap_ <= 0.05 * model.objective_
    np.testing.assert_array_equal(model.pair_weights_, model.pair_weights_.T)
    D = np.stack([one.decision_function(bags) for one in model.estimators_], axis=1)

    def total(row, chosen):
        tied = chosen @ np.triu(model.pair_weights_, 1) @ chosen
        return row @ chosen + tied

    sets = [np.array(chosen) for chosen in itertools.product([0, 1], repeat=3)]
    loss = sum(
        max(total(row, chosen) + np.sum(chosen != truth) for chosen in sets) - total(row, truth)
        for row, truth in zip(D, labels, strict=True)
    )
    norm = np.sum(np.triu(model.pair_weights_) ** 2) + sum(
        np.sum(one.coef_**2) + np.sum(one.cardinality_weights_**2) for one in model.estimators_
    )
    assert model.objective_ == pytest.approx(loss + 0.15 * norm, rel=1e-9)
    found = np.array([max(sets, key=lambda chosen, row=row: total(row, chosen)) for row in D])
    np.testing.assert_array_equal(model.predict(bags), found)
    np.testing.assert_array_equal(model.decision_function(bags) > 0, found == 1)


def test_labels_that_exclude_each_other_are_learned():
    (bags, labels), (fresh, truth) = planted(120), planted(400, seed=1)
    model = MultiLabelMarkovNetwork(estimator=BASE).fit(bags, labels)
    rest = MultiOutputClassifier(BASE).fit(bags, labels)
    assert model.pair_weights_[0, 1] < -0.1
    both = [np.mean(m.predict(fresh)[:, :2].all(axis=1)) for m in (model, rest)]
    assert both[0] < both[1]
    assert model.score(fresh, truth) > rest.score(fresh, truth)  # whole sets


def test_instances_weights_and_copies():
    bags, labels = planted(40)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 40)
    model = MultiLabelMarkovNetwork(estimator=BASE).fit(bags, sp.csr_array(labels), weight)
    instances = model.predict_instances(bags)
    assert instances.shape == (160, 3)
    found = instances.reshape(40, 4, 3).any(axis=1)
    np.testing.assert_array_equal(found, model.predict(bags) == 1)  # MIMN: one instance at least
    again = clone(model).fit(bags, labels, weight)
    np.testing.assert_array_equal(again.pair_weights_, model.pair_weights_)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.decision_function(bags), model.decision_function(bags))
    twice = np.repeat(np.arange(40), 1 + (np.arange(40) < 10))
    doubled = clone(model).fit(bags[twice], labels[twice])
    weighted = clone(model).fit(bags, labels, 1.0 + (np.arange(40) < 10))
    assert doubled.objective_ == pytest.approx(weighted.objective_, rel=0.02)


@pytest.mark.parametrize("ties", [{"chain": 0.2}, {"tree": 0.2}])
def test_ties_and_bag_features_go_with_it(ties):
    bags, labels = planted(40)
    bags = SpanningTrees().fit_transform(bags)
    bags = bags.replace(bag_features=np.random.default_rng(0).normal(size=(40, 2)))
    base = clone(BASE).set_params(**ties, bag_features="bags", fit_intercept=True)
    model = MultiLabelMarkovNetwork(estimator=base).fit(bags, labels)
    assert model.estimators_[0].bag_coef_.shape == (1, 2)
    assert model.score(bags, labels) > 0.5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"loss": "log_loss"}, "loss='log_loss': with pairs=True it must be 'hinge'"),
        ({"alphas": (0.1, 1.0)}, "alphas=.* must be None"),
        ({"threshold": "calibrated"}, "threshold='calibrated'"),
        ({"bag_features": "kernels"}, "bag_features are scores of one label's models"),
        ({"bag_features": LabelSVC()}, "bag_features are scores of one label's models"),
    ],
)
def test_what_has_no_joint_meaning_is_refused(changes, message):
    model = MultiLabelMarkovNetwork(estimator=clone(BASE).set_params(**changes))
    with pytest.raises(ValueError, match=message):
        model.fit(*planted(20))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(20), "one row per bag"),
        (np.full((20, 2), 3), "1 where a bag has a label and 0"),
        (np.eye(20, 3, dtype=int) * [1, 0, 1], "Label 1 cannot be learned: no bag has it"),
        (np.eye(20, 11, dtype=int), "11 labels, and pairs=True enumerates all sets of up to 10"),
    ],
)
def test_labels_that_cannot_be_learned_are_named(y, message):
    with pytest.raises(ValueError, match=message):
        MultiLabelMarkovNetwork().fit(planted(20)[0], y)


# Model files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"pairs": False}, {"pairs": True}])
def test_a_file_gives_back_its_bits(options, tmp_path):
    bags, labels = planted(30)
    bags = bags.replace(feature_names=["a", "b", "c"], bag_features=np.ones((30, 1)))
    base = clone(BASE).set_params(tree=0.1, fit_intercept=True, bag_features="bags", tol=0.2)
    model = MultiLabelMarkovNetwork(estimator=base, **options)
    for saved in (
        model.fit(SpanningTrees().fit_transform(bags), labels),
        make_pipeline(PerInstance(StandardScaler()), SpanningTrees(), clone(model)).fit(
            bags, labels
        ),
    ):
        bagwise.save(saved, tmp_path / "m.bagwise")
        found = bagwise.load(tmp_path / "m.bagwise")
        seen = SpanningTrees().fit_transform(bags)
        np.testing.assert_array_equal(found.predict(seen), saved.predict(seen))
        np.testing.assert_array_equal(found.decision_function(seen), saved.decision_function(seen))
    loaded = bagwise.load(tmp_path / "m.bagwise")[-1]
    np.testing.assert_array_equal(loaded.pair_weights_, saved[-1].pair_weights_)
    np.testing.assert_array_equal(
        loaded.predict_instances(saved[:-1].transform(bags)),
        saved[-1].predict_instances(saved[:-1].transform(bags)),
    )
    about = describe(tmp_path / "m.bagwise")
    assert (about["class"], about["n_labels"]) == ("MultiLabelMarkovNetwork", 3)
    assert about["feature_names"] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (np.zeros((2, 2)), r"pairs of shape \(2, 2\) for 3 labels"),
        (np.full((3, 3), "x"), "pairs of shape"),
    ],
)
def test_files_whose_pairs_do_not_fit_are_refused(pairs, message, tmp_path):
    model = MultiLabelMarkovNetwork(estimator=BASE, pairs=False).fit(*planted(30))
    model.pair_weights_ = pairs
    bagwise.save(model, tmp_path / "m.bagwise")
    with pytest.raises(CorruptFileError, match=message):
        bagwise.load(tmp_path / "m.bagwise")


def test_pairs_of_more_labels_than_can_be_enumerated_are_refused(tmp_path):
    model = MultiLabelMarkovNetwork(estimator=BASE, pairs=False).fit(*planted(30))
    model.estimators_ *= 10
    model.pair_weights_ = np.ones((30, 30))
    bagwise.save(model, tmp_path / "m.bagwise")
    with pytest.raises(CorruptFileError, match="pairs of 30 labels"):
        bagwise.load(tmp_path / "m.bagwise")
