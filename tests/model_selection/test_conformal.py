"""Conformal sets: p-values against loops, coverage by simulation, with groups."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from bagwise import Bags, MeanRegressor, MeanSVC, WitnessSVC
from bagwise.crossfit import folds
from bagwise.datasets import make_gaussian_bags
from bagwise.model_selection import ConformalBagClassifier, ConformalBagRegressor
from bagwise.testing._problems import planted_bags


class FirstFeature(ClassifierMixin, BaseEstimator):
    """Scores by the first feature, whatever it is fitted to: all noise is in the bags."""

    def fit(self, bags, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, bags):
        return np.maximum.reduceat(bags.X[:, 0], bags.offsets[:-1])


def singletons(scores, groups=None):
    return Bags(scores[:, None], np.arange(len(scores) + 1), groups=groups)


def draw(rng, n, spread=1.0):
    y = (np.arange(n) % 2).astype(int)
    return rng.normal(2 * y - 1, spread, n), y


@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("class_conditional", [False, True])
def test_p_values_are_the_counts_they_are_named_for(method, grouped, class_conditional):
    bags, y = make_gaussian_bags(40, 3, random_state=1)
    if grouped:
        bags = bags.replace(groups=np.arange(40) // 2)
    options = {"method": method, "cv": 4, "class_conditional": class_conditional}
    model = ConformalBagClassifier(estimator=MeanSVC(kernel="linear"), **options).fit(bags, y)
    asked, _ = make_gaussian_bags(5, 3, random_state=2)
    found = model.p_values(asked)
    assert len(model.estimators_) == (4 if method == "cross" else 1)
    for b in range(5):
        for c in (0, 1):
            total, count = 0.0, 0.0
            used = [
                i for i in range(len(model.codes_)) if not class_conditional or model.codes_[i] == c
            ]
            for i in used:
                copy = model.estimators_[model.fold_[i]]
                f = copy.decision_function(asked[[b]])[0]
                mates = sum(model.group_[j] == model.group_[i] for j in used)
                total += 1 / mates
                count += (model.nonconformity_[i] >= (f if c == 0 else -f)) / mates
            assert found[b, c] == pytest.approx((1 + count) / (1 + total), rel=1e-12)


@pytest.mark.parametrize(
    ("method", "class_conditional"), [("split", False), ("split", True), ("cross", False)]
)
def test_sets_hold_the_truth_as_often_as_asked(method, class_conditional):
    rng, held = np.random.default_rng(0), []
    for _ in range(150):
        scores, y = draw(rng, 60)
        options = {"method": method, "cv": 3, "class_conditional": class_conditional}
        model = ConformalBagClassifier(estimator=FirstFeature(), **options).fit(
            singletons(scores), y
        )
        asked, truth = draw(rng, 50)
        held.append(model.predict_set(singletons(asked), level=0.8)[np.arange(50), truth])
    by_class = np.array(held).reshape(150, 25, 2).mean(axis=(0, 1))
    n = 60 if method == "cross" else 20
    n = n / 2 if class_conditional else n
    error = 4 * np.sqrt(0.2 * 0.8 / 150 / 20)  # of the mean over draws of the calibration bags
    assert 0.8 - error <= np.mean(held) <= 0.8 + 1 / n + error
    if class_conditional:
        assert by_class.min() >= 0.8 - 1.5 * error


def test_groups_count_once():
    """Sizes of groups differ with their errors: counting bags would promise too much."""
    rng, held = np.random.default_rng(2), {True: [], False: []}
    for _ in range(120):
        easy, hard = np.repeat(np.arange(20), 10), 20 + np.arange(20)
        groups = np.concatenate([easy, hard])
        y = (np.arange(len(groups)) % 2).astype(int)
        spread = np.where(groups < 20, 0.1, 3.0)
        scores = rng.normal(2 * y - 1, spread)
        bags = singletons(scores, groups=groups)
        new = rng.random(40) < 0.5  # a new group is as often easy as hard
        truth = (np.arange(40) % 2).astype(int)
        asked = singletons(rng.normal(2 * truth - 1, np.where(new, 0.1, 3.0)))
        for counted in (True, False):
            given = bags if counted else bags.replace(groups=None)
            model = ConformalBagClassifier(estimator=FirstFeature(), method="split", cv=2).fit(
                given, y
            )
            held[counted].append(model.predict_set(asked, 0.9)[np.arange(40), truth].mean())
    assert np.mean(held[True]) >= 0.88
    assert np.mean(held[False]) < 0.85


def test_the_label_has_the_highest_p_value_and_ties_go_by_score():
    everything, labels = make_gaussian_bags(100, 3, shift=6.0, random_state=0)
    bags, y, asked, truth = everything[:60], labels[:60], everything[60:], labels[60:]
    model = ConformalBagClassifier(estimator=MeanSVC(kernel="linear"), cv=3).fit(bags, y)
    predicted, p = model.predict(asked), model.p_values(asked)
    assert np.all(p[np.arange(40), predicted] == p.max(axis=1))
    assert np.mean(predicted == truth) > 0.7


def test_three_classes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    bags = Bags(np.eye(3)[y] + 0.3 * rng.normal(size=(60, 3)), np.arange(61))
    model = ConformalBagClassifier(estimator=MeanSVC(kernel="linear"), cv=3).fit(bags, y)
    sets = model.predict_set(bags, level=0.9)
    assert sets.shape == (60, 3)
    assert sets[np.arange(60), y].mean() >= 0.9
    assert sets.sum() < 120


def test_bad_input_is_named():
    bags, y = make_gaussian_bags(20, 3, random_state=0)
    with pytest.raises(ValueError, match="'method' parameter"):
        ConformalBagClassifier(estimator=MeanSVC(), method="jackknife").fit(bags, y)
    model = ConformalBagClassifier(estimator=MeanSVC(kernel="linear"), cv=2).fit(bags, y)
    with pytest.raises(ValueError, match="between 0 and 1, it is 95"):
        model.predict_set(bags, level=95)


class Rising(WitnessSVC):
    """Probabilities that order the classes of a bag as its decision values do."""

    def predict_proba(self, bags):
        scores = self.decision_function(bags)
        return expit(np.column_stack([-scores, scores]))


def test_split_sets_are_those_of_mapie():
    mapie = pytest.importorskip("mapie.classification")
    bags, y = planted_bags(n_bags=120, shift=1.0)
    splits = folds(bags[:90], y[:90], 3, 0)
    ours = ConformalBagClassifier(estimator=WitnessSVC(), method="split", cv=splits).fit(
        bags[:90], y[:90]
    )
    train, test = splits[0]
    base = Rising().fit(bags[train], y[train])
    theirs = mapie.SplitConformalClassifier(base, confidence_level=0.9, prefit=True)
    theirs.conformalize(bags[test], y[test])
    sets = theirs.predict_set(bags[90:])[1][:, :, 0]
    np.testing.assert_array_equal(ours.predict_set(bags[90:], level=0.9), sets)


# Numbers ------------------------------------------------------------------------------------------


def numbered(rng, n, grouped=False):
    shift = np.repeat(rng.normal(size=n // 4), 4) if grouped else np.zeros(n)
    members = [rng.normal(size=(3, 2)) for _ in range(n)]
    y = np.array([X[:, 0].mean() for X in members]) + shift + 0.5 * rng.normal(size=n)
    groups = np.arange(n) // 4 if grouped else None
    return Bags.from_list(members).replace(groups=groups), y


@pytest.mark.parametrize("method", ["cross", "split"])
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_hold_the_number_as_often_as_asked(method, grouped):
    held = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        bags, y = numbered(rng, 160, grouped)
        new, truth = numbered(rng, 160, grouped)
        inner = MeanRegressor(kernel="linear")
        model = ConformalBagRegressor(estimator=inner, method=method, cv=4).fit(bags, y)
        low, high = model.predict_interval(new, level=0.8).T
        held.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.77 < np.mean(held) < 0.95  # ten groups calibrate a split: more is held than asked
    assert model.score(new, truth) > -1


def test_intervals_are_those_of_the_jackknife_plus():
    """With as many folds as bags, by the definition of Barber and others, Eq. 5."""
    bags, y = numbered(np.random.default_rng(0), 24)
    new = bags[:3]
    one_out = [(np.delete(np.arange(24), i), np.array([i])) for i in range(24)]
    inner = MeanRegressor(kernel="linear")
    model = ConformalBagRegressor(estimator=inner, cv=one_out).fit(bags, y)
    fits = [clone(inner).fit(bags[train], y[train]) for train, _ in one_out]
    errors = [abs(y[i] - fit.predict(bags[[i]])[0]) for i, fit in enumerate(fits)]
    rank = int(np.ceil(0.8 * 25)) - 1
    for b, (low, high) in enumerate(model.predict_interval(new, level=0.8)):
        values = [fit.predict(new)[b] for fit in fits]
        assert high == pytest.approx(np.sort(np.add(values, errors))[rank])
        assert low == pytest.approx(-np.sort(np.subtract(errors, values))[rank])


def test_too_few_bags_give_infinite_intervals():
    bags, y = numbered(np.random.default_rng(0), 8)
    model = ConformalBagRegressor(estimator=MeanRegressor(kernel="linear"), cv=2).fit(bags, y)
    assert np.all(np.isinf(model.predict_interval(bags, level=0.95)))
