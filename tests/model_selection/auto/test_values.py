"""The automatic models of numbers and times: what they combine, and what they say."""

import numpy as np
import pytest
from sklearn.base import clone

import bagwise
from bagwise import AutoBagRegressor, AutoBagSurvival, Bags, BagSurvival, CoxBag, MeanRegressor
from bagwise.bags.statistics import statistics
from bagwise.catalog import make_estimator
from bagwise.model_selection.auto.values import HazardEnsemble, NumbersEnsemble
from bagwise.solvers.cox import cox_loss
from bagwise.times import Times

FEW = [make_estimator(name, kernel="linear") for name in ("WitnessRegressor", "MeanRegressor")]
AUTO = {
    "numbers": AutoBagRegressor(models=[*FEW, "StatisticsForestRegressor"]),
    "times": AutoBagSurvival(models=[BagSurvival(times=2), CoxBag(alpha=10.0)]),
}


def planted(task, decides, n_bags=140, seed=0):
    rng = np.random.default_rng(seed)
    members = [rng.normal(size=(rng.integers(3, 12), 4)) for _ in range(n_bags)]
    risk = np.array([decides(X[:, 0]) for X in members])
    if task == "numbers":
        return Bags.from_list(members), risk + 0.05 * rng.normal(size=n_bags)
    risk = 2 * (risk - risk.mean()) / risk.std()
    time, until = rng.exponential(np.exp(-risk)), rng.exponential(2.0, size=n_bags)
    return Bags.from_list(members), np.column_stack([time <= until, np.minimum(time, until)])


@pytest.mark.parametrize(
    ("task", "decides", "best", "least"),
    [
        ("numbers", np.max, "WitnessRegressor", 0.9),
        ("numbers", np.mean, "MeanRegressor", 0.9),
        ("times", np.max, "BagSurvival", 0.7),
        ("times", np.mean, "CoxBag", 0.7),
    ],
)
def test_the_model_of_the_right_kind_gets_the_weight(task, decides, best, least, tmp_path):
    (bags, y), (new, truth) = planted(task, decides), planted(task, decides, seed=1)
    model = clone(AUTO[task]).fit(bags, y)
    assert model.score(new, truth) > least
    assert model.names_[int(np.argmax(model.weights_))] == best
    board, metric = model.leaderboard_, model._metric
    assert board["model"].iloc[0] == "ensemble"
    assert board[metric].iloc[0] > least
    assert np.all((board["low"] <= board[metric]) & (board[metric] <= board["high"]))
    assert model.instance_decision_function(new).shape == (new.n_instances,)
    bagwise.save(model, tmp_path / "auto.bagwise")
    again = bagwise.load(tmp_path / "auto.bagwise")
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if task == "times":
        survival = model.predict_survival_function(new)
        assert survival.shape == (len(new), len(model.times_))
        assert np.all(np.diff(survival, axis=1) <= 0)


def test_the_ensemble_is_the_weighted_sum_of_lines_and_groups_stay_together():
    bags, y = planted("numbers", np.max, 60)
    bags = bags.replace(groups=np.arange(60) // 2)
    model = AutoBagRegressor(models=FEW, cv=3).fit(bags, y)
    assert model.leaderboard_["folds"].max() == 3
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
    line = NumbersEnsemble._calibrate(f, y, weight)
    slope, intercept = np.polyfit(f[:, 0], y[:, 0], 1, w=np.sqrt(weight))
    np.testing.assert_allclose(line(f), slope * f + intercept)
    assert NumbersEnsemble._calibrate(-f, y, weight) is None
    times = Times(np.ones(80, dtype=bool), np.arange(1.0, 81.0)).as_array()[:, None]
    falling = np.arange(80.0)[:, None] + rng.normal(size=(80, 1))
    assert HazardEnsemble._calibrate(falling, times, np.ones(80)) is None
    assert HazardEnsemble._calibrate(-falling, times, np.ones(80)).slope > 0


def test_weights_go_to_what_predicts():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, 1))
    lines = np.stack([y + 0.1 * rng.normal(size=y.shape), rng.normal(size=y.shape)])
    weights = NumbersEnsemble.stack(lines, y, np.ones(200), 200)
    assert weights.sum() == pytest.approx(1.0)
    assert weights[0] > 0.95


def test_weights_of_times_are_those_of_the_partial_likelihood():
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(2, 300, 1))
    times = Times(np.ones(300, dtype=bool), rng.exponential(np.exp(-logs[0, :, 0])))
    weights = HazardEnsemble.stack(logs, times.as_array()[:, None], np.ones(300), 1e9)
    grid, rows = np.linspace(0, 1, 101), logs[:, :, 0].T
    losses = [cox_loss(rows, times, np.ones(300), np.array([w, 1 - w]))[0] for w in grid]
    assert weights[0] == pytest.approx(grid[np.argmin(losses)], abs=0.01)


class Reversed(MeanRegressor):
    """Predicts the mean that it was taught, which falls where that of held-out bags rises."""

    def _fit_labels(self, bags, y, weight):
        super()._fit_labels(bags, y, weight)
        self.mean_ = float(np.mean(y))

    def _bag_scores(self, bags):
        return np.full((len(bags), 1), self.mean_)


def test_what_nothing_predicts_gets_the_mean_or_chance():
    bags, _ = planted("numbers", np.max, 40)
    y = np.random.default_rng(3).normal(size=40)
    with pytest.warns(UserWarning, match="No model predicts"):
        model = AutoBagRegressor(models=[Reversed()]).fit(bags, y)
    np.testing.assert_allclose(model.predict(bags), y.mean(), atol=1e-6)
    bags, times = planted("times", np.mean)
    with pytest.warns(UserWarning, match="better than chance"):
        AutoBagSurvival(models=[CoxBag()]).fit(bags.replace(X=np.ones_like(bags.X)), times)


def test_covariates_rank_bags_where_instances_cannot():
    bags, y = planted("times", np.mean)
    known = bags.replace(X=np.ones_like(bags.X), bag_features=statistics(bags, ["mean"]))
    model = AutoBagSurvival(models=[CoxBag()], covariates=True, random_state=0).fit(known, y)
    assert "covariates" in model.names_
    assert model.score(known, y) > 0.7


def test_times_that_rank_no_bags_are_a_named_error():
    """The only events are at the last time: no concordance exists, and no best model."""
    bags = Bags.from_list([np.full((2, 1), float(i % 3)) for i in range(8)])
    y = np.column_stack([np.arange(8) > 5, np.where(np.arange(8) > 5, 4.0, 2.0)])
    with pytest.raises(ValueError, match="No event comes before the end of another bag"):
        AutoBagSurvival(models=[CoxBag()]).fit(bags, y)
    assert np.isfinite(CoxBag().fit(bags, y).predict(bags)).all()


def test_bags_of_finished_folds_that_no_event_ranks_leave_a_model_at_chance():
    """The only event is in a fold whose training bags are all censored: it is never held out."""
    bags = Bags.from_list([np.full((2, 1), float(i)) for i in range(4)])
    y = np.array([(0, 4.0), (0, 3.0), (1, 3.0), (0, 1.0)])
    with pytest.warns(UserWarning, match="No model ranks held-out bags better than chance"):
        model = AutoBagSurvival(models=[CoxBag()], random_state=0).fit(bags, y)
    assert np.isfinite(model.predict(bags)).all()
