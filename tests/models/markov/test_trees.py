"""Networks whose instances are trees: against chains, sets, their own weights; files; refusals."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise import Bags, MarkovNetworkClassifier, PerInstance, SpanningTrees, make_pipeline

SIZE = 15  # a complete binary tree
UP = (np.arange(SIZE) - 1) // 2
APART = np.array([0, 3, 4, 5, 6])  # no two of them are neighbors


def branches(n_bags=40, seed=0):
    """Draw trees; positive bags have five marked instances in one branch, others apart."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(scale=0.3, size=(n_bags, SIZE, 3)), np.arange(n_bags) % 2
    for bag in range(n_bags):
        top = rng.integers(1, 3)
        together = np.array([top, 2 * top + 1, 2 * top + 2, 4 * top + 3, 4 * top + 4])
        X[bag, together if y[bag] else APART, 0] += 2.0
    offsets = np.arange(0, SIZE * n_bags + 1, SIZE)
    return Bags(X.reshape(-1, 3), offsets, parents=np.tile(UP, n_bags)), y


def network(**more):
    parameters = {"alpha": 0.1, "positive_fraction": 0.3, "fit_intercept": True, **more}
    return MarkovNetworkClassifier(**parameters)


@pytest.mark.parametrize("loss", ["hinge", "log_loss"])
@pytest.mark.parametrize("cardinality", ["any", "ratio", "learned"])
def test_a_tree_sees_branches_where_counts_are_equal(cardinality, loss):
    (bags, y), (fresh, truth) = branches(), branches(seed=1)
    options = {"cardinality": cardinality, "loss": loss, "tol": 0.05, "init": ["instances"]}
    model, sets = (network(**options, tree=cost).fit(bags, y) for cost in (2.0, 0.0))
    assert model.score(fresh, truth) > 0.9
    assert sets.score(fresh, truth) < 0.7
    again = clone(model).fit(bags, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    chance = model.predict_instances_proba(fresh)
    np.testing.assert_allclose(chance.sum(axis=1), 1.0)
    labels = model.predict_instances(fresh).reshape(-1, SIZE)[truth == 1]
    assert (labels[:, 1:] != labels[:, UP[1:]]).sum(axis=1).mean() <= 4.0


@pytest.mark.parametrize("cardinality", ["any", "learned"])
def test_a_path_is_the_network_of_chains(cardinality):
    bags, y = branches(20)
    bags = bags.replace(parents=np.tile(np.arange(SIZE) - 1, 20))
    options = {"cardinality": cardinality, "loss": "log_loss", "init": ["instances"]}
    chain, tree = (
        network(**options, **tie).fit(bags, y) for tie in ({"chain": 0.5}, {"tree": 0.5})
    )
    np.testing.assert_allclose(tree.objective_, chain.objective_, rtol=1e-6)
    chain.coef_, chain.intercept_, chain.networks_ = tree.coef_, tree.intercept_, tree.networks_
    np.testing.assert_allclose(tree.decision_function(bags), chain.decision_function(bags))
    found, expected = (model.predict_instances_proba(bags) for model in (tree, chain))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_without_a_cost_there_is_no_tree():
    bags, y = branches(20)
    plain, none = network().fit(bags.replace(parents=None), y), network(tree=0.0).fit(bags, y)
    np.testing.assert_array_equal(plain.coef_, none.coef_)
    alone = network(tree=1.0).fit(bags.replace(parents=np.full(bags.n_instances, -1)), y)
    assert alone.objective_[0] == pytest.approx(plain.objective_[0], rel=0.05)


def test_the_objective_is_that_of_the_weights_and_the_gap_is_certified():
    bags, y = branches()
    model = MarkovNetworkClassifier(tree=0.3, alpha=0.3, unit_norm=False, tol=1e-3).fit(bags, y)
    margin = np.where(y == 1, 1, -1) * model.decision_function(bags)
    norm = sum(float(np.sum(w**2)) for w in (model.coef_, model.cardinality_weights_))
    expected = np.maximum(0, 1 - margin).sum() + 0.15 * norm
    assert model.objective_[0] == pytest.approx(expected, rel=1e-9)
    assert 0 <= model.gap_[0] <= 2e-3 * model.objective_[0]


def test_three_text_classes_and_folds():
    bags, _ = branches(48)
    names = np.array(["cat", "dog", "eel"])[np.arange(48) % 3]
    bags = bags.replace(X=bags.X + 2.0 * np.repeat(np.eye(3)[np.arange(48) % 3], SIZE, axis=0))
    model = MarkovNetworkClassifier(tree=0.5, alpha=0.1, init=["mean"])
    assert cross_val_score(model, bags, names, cv=3).mean() > 0.9
    assert set(model.fit(bags, names).predict(bags)) == {"cat", "dog", "eel"}


@pytest.mark.parametrize("by", ["features", "coords"])
def test_trees_found_in_a_pipeline_are_saved_with_it(by, tmp_path):
    bags, y = branches(30)
    bags = bags.replace(parents=None, coords=np.random.default_rng(0).normal(size=(450, 2)))
    names = np.array(["no", "yes"])[y]
    steps = (
        PerInstance(StandardScaler()),
        SpanningTrees(by=by),
        network(tree=0.5, tol=0.2, init=["mean"]),
    )
    model = make_pipeline(*steps).fit(bags, names)
    bagwise.save(model, tmp_path / "m.bagwise")
    again = bagwise.load(tmp_path / "m.bagwise")
    for method in ("predict", "decision_function", "predict_instances", "key_instances"):
        np.testing.assert_array_equal(getattr(again, method)(bags), getattr(model, method)(bags))
    by_hand = SpanningTrees(by=by).fit_transform(model[0].transform(bags))
    np.testing.assert_array_equal(model[-1].predict(by_hand), model.predict(bags))


def test_a_path_of_costs_goes_from_no_tree_to_one():
    bags, y = branches(20)
    models = network(tol=0.1).path(bags, y, name="tree", values=[0.0, 0.5])
    assert [model.tree for model in models] == [0.0, 0.5]


def test_trees_that_are_missing_or_beside_chains_are_refused():
    bags, y = branches(10)
    with pytest.raises(ValueError, match=r"these bags have none: .*parents.*SpanningTrees\(\)"):
        network(tree=1.0).fit(bags.replace(parents=None), y)
    model = network(tree=1.0, tol=0.1).fit(bags, y)
    with pytest.raises(ValueError, match="these bags have none"):
        model.predict(bags.replace(parents=None))
    with pytest.raises(ValueError, match="chain=1 and tree=2: a bag is one of them"):
        network(chain=1.0, tree=2.0).fit(bags, y)
