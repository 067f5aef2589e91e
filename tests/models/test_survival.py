"""Landmarks and Cox's model on planted risks: what each finds, and what is refused."""

import numpy as np
import pytest

from bagwise import AutoBagClassifier, Bags, BagSurvival, CoxBag, StatisticsLogistic
from bagwise.errors import TaskWarning
from bagwise.model_selection import cross_validate_bags
from bagwise.times import check_times, concordance


def planted(n_bags=200, seed=0, aggregate=np.max, strength=3.0, until=1.5):
    rng = np.random.default_rng(seed)
    members = [rng.normal(size=(rng.integers(4, 12), 3)) for _ in range(n_bags)]
    risk = np.array([aggregate(X[:, 0]) for X in members])
    risk = strength * (risk - risk.mean()) / risk.std()
    time, censored = rng.exponential(np.exp(-risk)), until * rng.exponential(size=n_bags)
    y = np.column_stack([time <= censored, np.minimum(time, censored)])
    return Bags.from_list(members), y


def test_landmarks_find_what_the_worst_instance_decides():
    bags, y = planted()
    new, truth = planted(seed=1)
    landmarks, cox = BagSurvival().fit(bags, y), CoxBag().fit(bags, y)
    assert landmarks.score(new, truth) > 0.8
    assert landmarks.score(new, truth) > cox.score(new, truth) + 0.05
    keys = landmarks.key_instances(new)
    worst = [int(part[:, 0].argmax()) for part in new]
    assert np.mean(keys == worst) > 0.85


def test_instances_are_discovered_against_bags_without_an_event_until_then():
    bags, y = planted()
    new, truth = planted(200, seed=1, until=1e9)  # nobody is censored
    model = BagSurvival().fit(bags, y).calibrate_instances(bags, y)
    earliest = np.minimum.reduceat(model.discover_times(new), new.offsets[:-1])
    for t in model.times_:
        assert np.mean(earliest[truth[:, 1] > t] <= t) < 0.2
    assert np.mean(np.isfinite(earliest[truth[:, 1] <= model.times_[0]])) > 0.5
    known = bags[y[:, 0] == 1], y[y[:, 0] == 1]
    model.calibrate_instances(*known)
    reference = [len(member.instance_reference_) for member in model.estimators_]
    assert reference == [int(np.sum(known[1][:, 1] > t)) for t in model.times_]


def test_cox_finds_what_the_mean_decides():
    bags, y = planted(aggregate=np.mean)
    new, truth = planted(seed=1, aggregate=np.mean)
    model = CoxBag().fit(bags, y)
    assert model.score(new, truth) > 0.8
    assert cross_validate_bags(model, bags, y, cv=3).summary()["harrell_c"]["mean"] > 0.75
    scores = model.instance_decision_function(new)
    means = np.add.reduceat(scores, new.offsets[:-1]) / new.sizes
    np.testing.assert_allclose(means, model.predict(new), atol=1e-9)
    assert model.gap_[0] <= 1e-6


@pytest.mark.parametrize(
    "model",
    [BagSurvival(), CoxBag(), CoxBag(embedding="composition"), CoxBag(embedding="statistics")],
    ids=repr,
)
def test_survival_functions_fall_and_agree_with_the_risks(model):
    bags, y = planted()
    survival = model.fit(bags, y).predict_survival_function(bags)
    assert survival.shape == (len(bags), len(model.times_))
    assert np.all(np.diff(survival, axis=1) <= 1e-12)
    assert np.all((survival >= 0) & (survival <= 1))
    risk = model.predict(bags)
    value, _ = concordance(check_times(y), -survival.mean(axis=1))
    assert value == pytest.approx(concordance(check_times(y), risk)[0], abs=0.02)
    without = model._scores_without_each(bags)[:, 0]
    first = int(np.argmax(bags.sizes > 1))
    rest = np.delete(bags.X[bags.offsets[first] : bags.offsets[first + 1]], 0, axis=0)
    assert without[bags.offsets[first]] == pytest.approx(model.predict([rest])[0], abs=1e-9)


def test_landmarks_may_choose_their_models():
    auto = AutoBagClassifier(models=["MI-SVM", "SimpleMI"], cv=2)
    for aggregate in (np.max, np.mean):
        bags, y = planted(aggregate=aggregate)
        new, truth = planted(100, seed=1, aggregate=aggregate)
        model = BagSurvival(estimator=auto, times=2).fit(bags, y)
        assert model.score(new, truth) > 0.75
        assert model.instance_decision_function(new[:2]).shape == (new[:2].n_instances,)


def test_times_may_be_given_and_weights_count():
    bags, y = planted()
    model = BagSurvival(estimator=StatisticsLogistic(), times=[0.5, 0.2]).fit(bags, y)
    np.testing.assert_array_equal(model.times_, [0.2, 0.5])
    weight = np.random.default_rng(0).integers(0, 2, len(bags))
    part = weight > 0
    one = CoxBag().fit(bags, y, sample_weight=weight)
    np.testing.assert_allclose(one.coef_, CoxBag().fit(bags[part], y[part]).coef_, atol=1e-8)


def test_what_cannot_be_learned_is_said():
    bags, y = planted()
    with pytest.raises(ValueError, match="All bags are censored"):
        BagSurvival().fit(bags, y * [0, 1])
    with pytest.raises(ValueError, match="take a regressor"):
        CoxBag().fit(bags, y[:, 1])
    with pytest.raises(ValueError, match="199 labels, there are 200 bags"):
        CoxBag().fit(bags, y[1:])
    bags = bags.replace(ids=[f"p{i}" for i in range(len(bags))])
    for wrong, says in ((-1.0, "A time .*'p3'.* is -1"), (np.inf, "A time .*'p3'.* is inf")):
        times = y.copy()
        times[3, 1] = wrong
        with pytest.raises(ValueError, match=says):
            CoxBag().fit(bags, times)
    with pytest.raises(ValueError, match=r"An event is 0 .*'p0'.* is 'no'"):
        CoxBag().fit(bags, np.where(y[:, [0, 0]] > 0, "yes", "no"))
    few = y.copy()
    few[np.flatnonzero(y[:, 0])[5:], 0] = 0
    with pytest.warns(TaskWarning, match="There are 5 events"):
        CoxBag().fit(bags, few)
