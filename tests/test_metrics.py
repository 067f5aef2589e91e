"""Bag metrics and instance metrics, against loops."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bagwise import Bags, InstanceSVC, PerInstance, WitnessSVC
from bagwise.datasets import make_gaussian_bags
from bagwise.metrics import (
    auc_bounds,
    bag_measures,
    bag_report,
    evaluation,
    instance_auc,
    key_instance_rate,
)
from bagwise.testing._problems import planted_bags


@pytest.fixture(scope="module")
def problem():
    bags, y = planted_bags(n_bags=40, seed=5)
    labels = np.random.default_rng(0).integers(0, 2, bags.n_instances)  # not too easy to hit
    labels |= bags.X[:, 0] > 1.5
    return bags.replace(instance_labels=labels), y


def test_instances_are_judged_by_hand_whichever_class_is_positive(problem):
    bags, y = problem
    model = WitnessSVC().fit(bags, y)
    scores, hits = model.instance_decision_function(bags), []
    for i in np.flatnonzero(y == 1):
        own = slice(bags.offsets[i], bags.offsets[i + 1])
        hits.append(bags.instance_labels[own][scores[own].argmax()] == 1)
    rate, area = key_instance_rate(model, bags, y), instance_auc(model, bags)
    assert rate == pytest.approx(np.mean(hits))
    assert 0 < rate < 1
    assert area == instance_auc(model, bags, y) == roc_auc_score(bags.instance_labels, scores)
    names = np.where(y == 1, "bad", "good")
    named = WitnessSVC(pos_label="bad").fit(bags, names)  # the first class
    assert instance_auc(named, bags) == area
    assert key_instance_rate(named, bags, names) == rate
    only = bags.replace(instance_labels=np.zeros(bags.n_instances, dtype=int))
    assert key_instance_rate(model, only, y) == 0.0


@pytest.mark.parametrize(
    ("names", "given"),
    [(["absent", "present"], None), ([False, True], None), ([-1, 1], None), (["n", "p"], "p")],
)
def test_labels_of_instances_in_any_form(names, given, problem):
    bags, y = problem
    classes = np.array(["absent", "present"])
    model = WitnessSVC().fit(bags, classes[y])
    renamed = bags.replace(instance_labels=np.array(names)[bags.instance_labels])
    expected = key_instance_rate(WitnessSVC().fit(bags, y), bags, y)
    assert key_instance_rate(model, renamed, classes[y], instance_pos_label=given) == expected


def test_pipelines_and_searches_are_opened(problem):
    bags, y = problem
    pipeline = make_pipeline(PerInstance(StandardScaler()), WitnessSVC()).fit(bags, y)
    scaled = pipeline[0].transform(bags)
    expected = instance_auc(pipeline[-1], scaled)
    assert instance_auc(pipeline, bags) == expected
    search = GridSearchCV(pipeline, {"witnesssvc__C": [1.0]}, cv=2).fit(bags, y)
    assert instance_auc(search, bags) == expected
    assert bag_report(search, bags, y)["instance_auc"] == expected


def test_report_of_both_classes_and_of_one(problem):
    bags, y = problem
    model = WitnessSVC().fit(bags, y)
    report = bag_report(model, bags, y)
    assert report["accuracy"] == model.score(bags, y)
    assert report["auc"] == roc_auc_score(y, model.decision_function(bags))
    assert report["key_instance_rate"] == key_instance_rate(model, bags, y)
    rates = "sensitivity", "specificity"
    assert list(bag_report(model, list(bags), y)) == [
        "accuracy",
        "balanced_accuracy",
        "auc",
        *rates,
    ]
    of_both = [float(np.mean(model.predict(bags[y == k]) == k)) for k in (1, 0)]
    assert [report[name] for name in rates] == of_both
    report = bag_report(model, bags[y == 0], y[y == 0])
    assert "key_instance_rate" not in report
    assert np.isnan(report["auc"])
    assert report["balanced_accuracy"] == report["accuracy"]


def test_report_of_three_classes():
    bags, y = planted_bags(3, n_bags=30)
    model = InstanceSVC().fit(bags, y)
    scores = model.decision_function(bags)
    expected = np.mean([roc_auc_score(y == k, scores[:, k]) for k in range(3)])
    assert bag_report(model, bags, y)["auc"] == pytest.approx(expected)
    labeled = bags.replace(instance_labels=np.arange(bags.n_instances) % 2)
    assert "instance_auc" not in bag_report(model, labeled, y)
    with pytest.raises(ValueError, match="needs two classes, the model has 3"):
        instance_auc(model, labeled)


def test_named_errors(problem):
    bags, y = problem
    model = WitnessSVC().fit(bags, y)
    plain, zeros = Bags(bags.X, bags.offsets), np.zeros(bags.n_instances)
    for metric, given, labels, message in (
        (key_instance_rate, plain, y, "The bags have no instance_labels"),
        (instance_auc, plain, y, "The bags have no instance_labels"),
        (key_instance_rate, bags, np.zeros_like(y), "No bag is of the positive class 1"),
        (key_instance_rate, bags, y[:-1], "y has 39 labels, there are 40 bags"),
        (instance_auc, bags.replace(instance_labels=zeros), y, "All instance labels are negative"),
    ):
        with pytest.raises(ValueError, match=message):
            metric(model, given, labels)


# Metrics of the positive class, intervals ---------------------------------------------------------


@pytest.mark.parametrize(("n_classes", "positive"), [(2, "a"), (2, "b"), (3, None)])
def test_measures_of_scores_are_those_of_scikit_learn(n_classes, positive):
    rng, classes = np.random.default_rng(0), np.array(["a", "b", "c"][:n_classes])
    y = classes[rng.integers(0, n_classes, 60)]
    scores = rng.normal(size=60 if n_classes == 2 else (60, 3))
    predicted = classes[1 * (scores > 0) if n_classes == 2 else scores.argmax(axis=1)]
    average = {"average": "macro"} if positive is None else {"pos_label": positive}
    expected = {
        "accuracy": accuracy_score(y, predicted),
        "balanced_accuracy": balanced_accuracy_score(y, predicted),
        "f1": f1_score(y, predicted, **average),
    }
    if positive is not None:
        truth, sign = y == positive, 1 if positive == "b" else -1
        expected["average_precision"] = average_precision_score(truth, sign * scores)
        expected["sensitivity"] = recall_score(y, predicted, pos_label=positive)
        expected["specificity"] = np.mean(predicted[~truth] != positive)
    assert bag_measures(y, scores, classes, tuple(expected), positive) == pytest.approx(expected)
    rows = y == "a"
    assert bag_measures(y[rows], scores[rows], classes)["auc"] is None


def test_measures_of_one_class_and_unknown_names():
    classes = np.array([0, 1])
    found = bag_measures(np.zeros(3), np.ones(3), classes, ("sensitivity",))
    assert found == {"sensitivity": None}
    with pytest.raises(ValueError, match=r"no metric 'acuracy'\. Did you mean 'accuracy'"):
        bag_measures(np.zeros(3), np.ones(3), classes, ("acuracy",))
    with pytest.raises(ValueError, match="needs two classes, there are 3"):
        bag_measures(np.zeros(3), np.ones((3, 3)), np.arange(3), ("average_precision",))


@pytest.mark.parametrize("auc", [0.6, 0.9, 1.0])
def test_the_interval_of_the_auc_covers_what_it_should(auc):
    rng = np.random.default_rng(0)
    shift = 40.0 if auc == 1 else np.sqrt(2) * norm.ppf(auc)
    covered = 0
    for scores in rng.normal(size=(400, 40)):
        found = np.mean(scores[:15, None] + shift > scores[15:])
        low, high = auc_bounds(found, 15, 25)
        assert 0 <= low < found <= high <= 1
        covered += low <= auc <= high
    assert covered / 400 > 0.92


def test_an_evaluation_names_its_intervals():
    bags, y = make_gaussian_bags(60, 4, shift=2.0)
    model = WitnessSVC(kernel="linear", pos_label=0).fit(bags, y)
    found = evaluation(model, bags, y)
    predicted = model.predict(bags)
    assert found["sensitivity"][0] == np.mean(predicted[y == 0] == 0)
    assert found["specificity"][0] == np.mean(predicted[y == 1] == 1)
    for name in ("accuracy", "balanced_accuracy", "auc", "sensitivity", "specificity"):
        value, low, high = found[name]
        assert 0 <= low <= value <= high <= 1
        assert low < high
    assert np.isnan(found["f1"][1])
    with pytest.raises(ValueError, match="needs bags of both classes"):
        evaluation(model, bags[y == 1], y[y == 1])
