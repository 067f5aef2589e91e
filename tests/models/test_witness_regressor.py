"""The largest instance decides: descent, certificates, witnesses, and what it finds."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import Bags, MeanRegressor, WitnessRegressor


def planted(n_bags=80, seed=0, d=4, aggregate=np.max):
    """Draw bags whose number is an aggregate of what one direction says of their instances."""
    rng = np.random.default_rng(seed)
    direction = np.random.default_rng(99).normal(size=d)
    members = [rng.normal(size=(rng.integers(1, 12), d)) for _ in range(n_bags)]
    y = np.array([aggregate(X @ direction) for X in members]) + 0.05 * rng.normal(size=n_bags)
    keys = np.array([int(np.argmax(X @ direction)) for X in members])
    return Bags.from_list(members), y, keys


def objective_of(model, bags, y):
    """Write the objective out, bag by bag."""
    f = bags.X @ model.coef_[0] + model.intercept_[0]
    value = 0.5 * model.coef_[0] @ model.coef_[0]
    for i, (a, b) in enumerate(zip(bags.offsets[:-1], bags.offsets[1:], strict=True)):
        value += model.C * np.sum(np.maximum(0, f[a:b] - y[i] - model.epsilon) ** 2)
        value += model.C * max(0, y[i] - f[a:b].max() - model.epsilon) ** 2
    return value


@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_the_objective_is_the_stated_one_and_never_rises(epsilon):
    bags, y, _ = planted()
    model = WitnessRegressor(kernel="linear", epsilon=epsilon).fit(bags, y)
    assert model.objective_[0] == pytest.approx(objective_of(model, bags, y), rel=1e-9)
    values = [record["objective"] for record in model.history_]
    assert np.all(np.diff(values[:-1]) <= 1e-9 * values[0])
    assert model.gap_[0] <= 1e-6 * model.objective_[0]
    assert model.objective_[0] == min(start["objective"] for start in model.starts_)
    assert len(model.starts_) == 2


def test_no_step_in_any_direction_lowers_the_objective():
    bags, y, _ = planted()
    model = WitnessRegressor(kernel="linear").fit(bags, y)
    reached, rng = objective_of(model, bags, y), np.random.default_rng(1)
    for _ in range(50):
        moved = clone(model).fit(bags, y)
        moved.coef_ = model.coef_ + 1e-3 * rng.normal(size=model.coef_.shape)
        moved.intercept_ = model.intercept_ + 1e-3 * rng.normal()
        assert objective_of(moved, bags, y) >= reached * (1 - 1e-9)


def test_it_finds_the_instances_that_decide_where_the_mean_does_not():
    bags, y, _ = planted(200)
    new, truth, keys = planted(100, seed=1)
    model = WitnessRegressor(kernel="linear").fit(bags, y)
    assert model.score(new, truth) > 0.98
    assert np.mean(model.key_instances(new) == keys) > 0.95
    assert MeanRegressor(kernel="linear").fit(bags, y).score(new, truth) < 0.8
    np.testing.assert_array_equal(
        model.predict(new), np.maximum.reduceat(model.predict_instances(new), new.offsets[:-1])
    )


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_smallest_is_the_largest_of_the_negatives(kernel):
    bags, y, _ = planted()
    largest = WitnessRegressor(kernel=kernel).fit(bags, y)
    smallest = WitnessRegressor(kernel=kernel, aggregate="min").fit(bags, -y)
    np.testing.assert_array_equal(smallest.predict(bags), -largest.predict(bags))
    np.testing.assert_array_equal(smallest.key_instances(bags), largest.key_instances(bags))


def test_witnesses_are_one_per_bag():
    bags, y, _ = planted()
    weights = WitnessRegressor(kernel="linear").fit(bags, y).instance_weights_
    np.testing.assert_array_equal(np.add.reduceat(weights, bags.offsets[:-1]), 1.0)


def test_explanations_have_features_and_numbers():
    bags, y, _ = planted()
    frame = WitnessRegressor(kernel="linear").fit(bags, y).explain(bags[:3])
    assert list(frame.columns) == ["bag", "instance", "label", "score", "share", "features"]
    assert frame["features"].str.contains("x").all()
