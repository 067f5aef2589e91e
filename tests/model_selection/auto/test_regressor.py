"""The automatic model of numbers: what it combines, and what it says."""

import numpy as np
import pytest

import bagwise
from bagwise import AutoBagRegressor, Bags
from bagwise.model_selection.auto.regressor import NumbersEnsemble, fit_line

FEW = ["WitnessRegressor", "MeanRegressor", "StatisticsForestRegressor"]


def planted(kind, n_bags=120, seed=0):
    rng = np.random.default_rng(seed)
    members = [rng.normal(size=(rng.integers(3, 12), 3)) for _ in range(n_bags)]
    y = np.array([kind(X[:, 0]) for X in members]) + 0.05 * rng.normal(size=n_bags)
    return Bags.from_list(members), y


@pytest.mark.parametrize(("kind", "best"), [(np.max, FEW[0]), (np.mean, FEW[1])])
def test_the_model_of_the_right_kind_gets_the_weight(kind, best, tmp_path):
    bags, y = planted(kind)
    new, truth = planted(kind, seed=1)
    linear = [bagwise.catalog.make_estimator(name, kernel="linear") for name in FEW[:2]]
    model = AutoBagRegressor(models=[*linear, FEW[2]]).fit(bags, y)
    assert model.score(new, truth) > 0.9
    assert model.names_[int(np.argmax(model.weights_))] == best
    board = model.leaderboard_
    assert board["model"].iloc[0] == "ensemble"
    assert board["r2"].iloc[0] > 0.9
    assert (board["low"] <= board["r2"]).all()
    assert (board["r2"] <= board["high"]).all()
    assert model.instance_decision_function(new).shape == (new.n_instances,)
    bagwise.save(model, tmp_path / "auto.bagwise")
    again = bagwise.load(tmp_path / "auto.bagwise")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_the_ensemble_is_the_weighted_sum_of_lines():
    bags, y = planted(np.max)
    model = AutoBagRegressor(models=FEW).fit(bags, y)
    parts = [
        w * a * (np.clip(member.predict(bags), *ends[:, 0]) - m[0])
        for w, a, m, ends, member in zip(
            model.weights_, model.slopes_, model.midpoints_, model.fences_, model.members_,
            strict=True,
        )
    ]  # fmt: skip
    np.testing.assert_allclose(np.sum(parts, axis=0), model.predict(bags))


def test_lines_are_least_squares_and_never_fall():
    rng = np.random.default_rng(0)
    f, weight = rng.normal(size=(50, 1)), rng.uniform(0.5, 2, 50)
    y = 3 * f + 2 + rng.normal(size=(50, 1))
    line = fit_line(f, y, weight)
    slope, intercept = np.polyfit(f[:, 0], y[:, 0], 1, w=np.sqrt(weight))
    np.testing.assert_allclose(line(f), slope * f + intercept)
    assert fit_line(-f, y, weight) is None


def test_weights_go_to_what_predicts():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 1))
    lines = np.stack([y + 0.1 * rng.normal(size=y.shape), rng.normal(size=y.shape)])
    weights = NumbersEnsemble.stack(lines, y, np.ones(200), 200)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.95


def test_numbers_that_nothing_predicts_get_their_mean():
    rng = np.random.default_rng(3)
    bags, _ = planted(np.max, 40)
    y = rng.normal(size=40)
    with pytest.warns(UserWarning, match="No model predicts"):
        model = AutoBagRegressor(models=[Reversed()]).fit(bags, y)
    np.testing.assert_allclose(model.predict(bags), y.mean(), atol=1e-6)


class Reversed(bagwise.MeanRegressor):
    """Predicts the mean that it was taught, which falls where that of held-out bags rises."""

    def _fit_labels(self, bags, y, weight):
        super()._fit_labels(bags, y, weight)
        self.mean_ = float(np.mean(y))

    def _bag_scores(self, bags):
        return np.full((len(bags), 1), self.mean_)


def test_groups_stay_together():
    bags, y = planted(np.max, 60)
    bags = bags.replace(groups=np.arange(60) // 2)
    model = AutoBagRegressor(models=FEW[:2], cv=3).fit(bags, y)
    assert model.leaderboard_["folds"].max() == 3
