"""`AutoBagSurvival`: both kinds of models, each where it is right."""

import numpy as np
import pytest

from bagwise import AutoBagSurvival, Bags, BagSurvival, CoxBag
from bagwise.bags.statistics import statistics
from bagwise.model_selection.auto.survival import HazardEnsemble, fit_hazard
from bagwise.solvers.cox import cox_loss, solve_cox
from bagwise.times import Times, is_ranked


def planted(decides, n_bags=160, seed=0):
    rng = np.random.default_rng(seed)
    members = [rng.normal(size=(rng.integers(3, 12), 4)) for _ in range(n_bags)]
    risk = np.array([decides(X[:, 0]) for X in members])
    risk = 2 * (risk - risk.mean()) / risk.std()
    time, until = rng.exponential(np.exp(-risk)), rng.exponential(2.0, size=n_bags)
    return Bags.from_list(members), np.column_stack([time <= until, np.minimum(time, until)])


@pytest.mark.parametrize(("decides", "kind"), [(np.max, "BagSurvival"), (np.mean, "CoxBag")])
def test_the_model_that_is_right_has_most_weight(decides, kind):
    (bags, y), (new, truth) = planted(decides), planted(decides, seed=1)
    model = AutoBagSurvival(models=[BagSurvival(times=2), CoxBag(alpha=10.0)]).fit(bags, y)
    assert dict(zip(model.names_, model.weights_, strict=True))[kind] > 0.5
    assert model.score(new, truth) > 0.7
    survival = model.predict_survival_function(new)
    assert survival.shape == (160, len(model.times_))
    assert np.all(np.diff(survival, axis=1) <= 0)
    board = model.leaderboard_
    assert np.all((board["low"] <= board["harrell_c"]) & (board["harrell_c"] <= board["high"]))


def test_covariates_rank_bags_where_instances_cannot():
    bags, y = planted(np.mean)
    known = bags.replace(X=np.ones_like(bags.X), bag_features=statistics(bags, ["mean"]))
    model = AutoBagSurvival(models=[CoxBag()], covariates=True, random_state=0).fit(known, y)
    assert "covariates" in model.names_
    assert model.score(known, y) > 0.7


def test_risks_that_fall_with_the_hazard_are_left_out_and_noise_is_said():
    rng = np.random.default_rng(0)
    y = Times(np.ones(80, dtype=bool), np.arange(1.0, 81.0)).as_array()[:, None]
    falling = np.arange(80.0)[:, None] + rng.normal(size=(80, 1))
    assert fit_hazard(falling, y, np.ones(80)) is None
    assert fit_hazard(-falling, y, np.ones(80)).slope > 0
    bags, labels = planted(np.mean)
    alike = bags.replace(X=np.ones_like(bags.X))
    with pytest.warns(UserWarning, match="better than chance"):
        AutoBagSurvival(models=[CoxBag()]).fit(alike, labels)


def test_weights_are_those_of_the_partial_likelihood():
    rng = np.random.default_rng(0)
    logs = rng.normal(size=(2, 300, 1))
    times = Times(np.ones(300, dtype=bool), rng.exponential(np.exp(-logs[0, :, 0])))
    weights = HazardEnsemble.stack(logs, times.as_array()[:, None], np.ones(300), 1e9)
    grid = np.linspace(0, 1, 101)
    rows = logs[:, :, 0].T
    losses = [cox_loss(rows, times, np.ones(300), np.array([w, 1 - w]))[0] for w in grid]
    assert weights[0] == pytest.approx(grid[np.argmin(losses)], abs=0.01)


def test_the_loss_is_least_where_the_solver_ends():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 3))
    times = Times(rng.random(60) < 0.7, rng.exponential(size=60))
    coef, _ = solve_cox(rows, times, np.ones(60), 1e-9)
    value, gradient = cox_loss(rows, times, np.ones(60), coef)
    assert np.abs(gradient).max() < 1e-4
    assert cox_loss(rows, times, np.ones(60), coef + 0.1)[0] > value


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


def test_a_bag_censored_at_the_time_of_an_event_ends_after_it():
    events, time = np.array([True, False]), np.array([2.0, 2.0])
    assert is_ranked(Times(events, time))
    assert not is_ranked(Times(~events[:1], time[:1]))
    assert not is_ranked(Times(events, np.array([2.0, 1.0])))
