"""Markov networks: planted counts, starts, inferred instance labels, bag features, many classes."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from bagwise import Bags, LabelSVC, MarkovNetworkClassifier
from bagwise.cardinality import AtLeastPotential, CountInference, CountPotential
from bagwise.datasets import load_digits_bags
from bagwise.models.markov_inputs import NetworkInputs
from bagwise.preprocessing import BagStatistics, IntersectionMap, PerInstance
from bagwise.segments import segment_sum

CARDINALITIES = ["any", "ratio", "learned"]


def planted(n_classes=2, n_bags=30, fraction=0.5, seed=0):
    """Draw bags in which a fraction of the instances points in the direction of the class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_bags) % n_classes)
    sizes = rng.integers(3, 7, n_bags)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    X = rng.normal(scale=0.5, size=(offsets[-1], 5))
    for bag in range(n_bags):
        marked = offsets[bag] + np.arange(max(1, round(fraction * sizes[bag])))
        X[marked, y[bag]] += 2.0
    return Bags(X, offsets), y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_planted_bags_are_learned_and_shapes_hold(cardinality, n_classes):
    bags, y = planted(n_classes)
    model = MarkovNetworkClassifier(cardinality, lambda_=0.1, n_bins=3).fit(bags, y)
    assert model.score(bags, y) > 0.9
    n_models = 1 if n_classes == 2 else n_classes
    n_weights = 6 if cardinality == "learned" else 2
    assert model.coef_.shape == (n_models, 5)
    assert model.cardinality_weights_.shape == (n_models, n_weights)
    assert model.bag_coef_.shape == (n_models, 0)
    assert np.all(model.gap_ <= 0.03 * model.objective_)
    labels = model.predict_instances(bags)
    assert labels.shape == ((bags.n_instances,) if n_models == 1 else (bags.n_instances, n_models))


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_objective_is_that_of_the_weights(cardinality):
    bags, y = planted()
    model = MarkovNetworkClassifier(cardinality, lambda_=0.3, unit_norm=False).fit(bags, y)
    margin = np.where(y == 1, 1, -1) * model.decision_function(bags)
    norm = sum(float(np.sum(w**2)) for w in (model.coef_, model.cardinality_weights_))
    expected = np.maximum(0, 1 - margin).sum() + 0.15 * norm
    assert model.objective_[0] == pytest.approx(expected, rel=1e-9)


def test_rho_to_zero_gives_the_network_of_any():
    bags, y = planted(fraction=0.2)
    any_ = MarkovNetworkClassifier("any").fit(bags, y)
    ratio = MarkovNetworkClassifier("ratio", rho=1e-6).fit(bags, y)
    np.testing.assert_array_equal(any_.coef_, ratio.coef_)


@pytest.mark.parametrize("base", [CountPotential, object])
def test_a_potential_of_ones_own_equals_the_named_one(base):
    class Own(base):
        n_weights = 2

        def table(self, size):
            return AtLeastPotential(0.5).table(size)

        def bins(self, size):
            return AtLeastPotential(0.5).bins(size)

    bags, y = planted()
    own = MarkovNetworkClassifier(Own()).fit(bags, y)
    named = MarkovNetworkClassifier("ratio", rho=0.5).fit(bags, y)
    np.testing.assert_allclose(
        own.decision_function(bags), named.decision_function(bags), rtol=1e-6
    )
    assert clone(own).fit(bags, y).objective_ == own.objective_


def test_a_table_alone_is_a_potential():
    class AllOrNothing:
        def table(self, size):
            return [[0.0] + [-np.inf] * size, [-np.inf] * size + [0.0]]

    bags, y = planted(fraction=1.0)
    model = MarkovNetworkClassifier(AllOrNothing(), lambda_=0.1).fit(bags, y)
    expected = segment_sum(bags.X @ model.coef_[0], bags.offsets)  # F(-1) = 0
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-9)
    assert model.cardinality_weights_.shape == (1, 0)
    with pytest.raises(TypeError, match="make an instance"):
        MarkovNetworkClassifier(AllOrNothing).fit(bags, y)
    with pytest.raises(ValueError, match="cardinality"):
        MarkovNetworkClassifier(3).fit(bags, y)


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_many_classes_never_end_at_the_objective_of_zero(cardinality):
    bags, y = planted(4, n_bags=32)
    for lambda_ in (0.3, 3.0):
        model = MarkovNetworkClassifier(cardinality, lambda_=lambda_).fit(bags, y)
        assert np.all(model.objective_ < 0.99 * len(bags))
        assert {record["start"] for record in model.starts_} >= {"whole", "means"}
        assert model.objective_[0] == min(record["objective"] for record in model.starts_)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_what_is_gained_over_zero_is_in_proportion_to_one_over_lambda(cardinality, n_classes):
    # Near w = 0 the risk is N + t slope along every ray: the least objective is N - const/lambda.
    bags, y = planted(n_classes, n_bags=20)
    gain = []
    for lambda_ in (1e4, 1e6):
        model = MarkovNetworkClassifier(cardinality, lambda_=lambda_).fit(bags, y)
        gain.append(lambda_ * (len(bags) - model.objective_[0]))
        assert model.score(bags, y) > 0.5
    assert gain[0] > 1
    assert gain[1] == pytest.approx(gain[0], rel=0.1)


def noise(n_bags, n_classes, seed, n_features=4, sizes=(2, 6)):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(*sizes, n_bags))])
    y = rng.permutation(np.arange(n_bags) % n_classes)
    return Bags(rng.normal(size=(offsets[-1], n_features)), offsets), y


@pytest.mark.parametrize("seed", [4, 9])
def test_noise_gains_over_zero_too(seed):
    bags, y = noise(12, 3, seed)
    model = MarkovNetworkClassifier("learned", lambda_=1000.0).fit(bags, y)
    assert model.objective_[0] < 12 - 1e-3
    assert np.any(model.coef_)


@pytest.mark.parametrize("start", ["whole", "zero"])
@pytest.mark.parametrize(("n_features", "seed"), [(4, 3), (2, 3)])
def test_a_single_start_does_not_stay_at_zero(start, n_features, seed):
    bags, y = noise(20, 4, seed, n_features, sizes=(3, 7))
    model = MarkovNetworkClassifier("ratio", starts=[start]).fit(bags, y)
    assert [record["start"] for record in model.starts_] == [start, "means"]
    assert model.objective_[0] < 19.999
    assert len(set(model.predict(bags))) > 1
    assert model.starts_[0]["objective_of_zero"] == 20.0


@pytest.mark.parametrize("multiclass", ["native", "one-vs-rest"])
def test_a_network_that_learns_nothing_says_so(multiclass):
    bags, y = planted(3, n_bags=12)
    same = bags.replace(X=np.zeros(bags.X.shape))
    weight = np.array([1.0, 1.0, 2.0])[y]  # against the rest, the third class is balanced
    model = MarkovNetworkClassifier("ratio", lambda_=2.0, multiclass=multiclass)
    weight = weight if multiclass == "one-vs-rest" else None
    which = "" if weight is None else " of class 2"
    with pytest.warns(ConvergenceWarning, match=f"learned nothing{which} at lambda_=2: .*Lower"):
        model.fit(same, y, sample_weight=weight)
    assert np.all(model.objective_[-1] == (12 if weight is None else 16))


def test_every_start_is_run_and_recorded():
    bags, y = planted(3)
    starts = ["whole", "means", "any", "half", "centroids", "random", "zero"]
    model = MarkovNetworkClassifier(starts=starts).fit(bags, y)
    assert [record["start"] for record in model.starts_] == starts
    one = MarkovNetworkClassifier(starts=["means"]).fit(bags, y)
    assert one.objective_[0] == model.starts_[1]["objective"]


def test_one_vs_rest_is_a_binary_network_a_class():
    bags, y = planted(3)
    model = MarkovNetworkClassifier(multiclass="one-vs-rest").fit(bags, y)
    single = MarkovNetworkClassifier().fit(bags, y == 1)
    scores = model.decision_function(bags)[:, 1]
    np.testing.assert_allclose(scores, single.decision_function(bags), rtol=1e-12)
    assert model.objective_.shape == (3,)
    assert model.score(bags, y) > 0.9
    assert [(r["class"], r["start"]) for r in model.starts_] == [
        (label, start) for label in range(3) for start in ("whole", "half")
    ]
    named = np.array(["a", "b", "c"], dtype=object)[y]
    starts = MarkovNetworkClassifier(multiclass="one-vs-rest").fit(bags, named).starts_
    assert {record["class"] for record in starts} == {"a", "b", "c"}


@pytest.mark.parametrize("rho", [0.3, 0.5])
def test_inferred_labels_keep_the_counts_of_the_rule(rho):
    bags, y = planted(fraction=0.5)
    model = MarkovNetworkClassifier("ratio", rho=rho, lambda_=5.0).fit(bags, y)
    positive = model.predict(bags) == 1
    counts = segment_sum(1 * (model.predict_instances(bags) == 1), bags.offsets)
    least = AtLeastPotential(rho).least(bags.offsets)
    assert np.all(counts[positive] >= least[positive])
    assert np.all(counts[~positive] < least[~positive])
    flipped = MarkovNetworkClassifier("ratio", rho=rho, lambda_=5.0, pos_label=0).fit(bags, 1 - y)
    np.testing.assert_array_equal(
        flipped.predict_instances(bags), 1 - model.predict_instances(bags)
    )


def test_inferred_labels_of_many_classes_follow_the_predicted_class():
    bags, y = planted(3)
    model = MarkovNetworkClassifier("any", lambda_=0.1).fit(bags, y)
    labels = model.predict_instances(bags)
    counts = segment_sum(1 * labels, bags.offsets)
    predicted = model.predict(bags)
    assert np.all(counts[np.arange(len(bags)), predicted] >= 1)
    counts[np.arange(len(bags)), predicted] = 0
    assert not counts.any()  # MIMN: no instance of any other class


def test_bag_features_on_the_bags_are_used_and_checked():
    bags, y = planted(n_bags=20)
    rng = np.random.default_rng(0)
    bags = bags.replace(X=rng.normal(size=bags.X.shape))  # nothing to learn from instances
    told = bags.replace(bag_features=np.column_stack([2.0 * y - 1, np.ones(len(y))]))
    model = MarkovNetworkClassifier(bag_features="bags").fit(told, y)
    assert model.bag_coef_[0, 0] > 0.5
    assert model.score(told, y) == 1.0
    with pytest.raises(ValueError, match="these have none"):
        MarkovNetworkClassifier(bag_features="bags").fit(bags, y)
    with pytest.raises(ValueError, match="have 1 bag features, those of fit had 2"):
        model.predict(bags.replace(bag_features=np.ones((len(y), 1))))
    holed = np.ones((len(y), 2))
    holed[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"Bag 3 \(id 3\) has nan as bag feature 1"):
        model.predict(bags.replace(bag_features=holed))


def test_scores_of_other_models_are_out_of_fold_on_training_bags():
    bags, y = planted(n_bags=20)
    noise = np.random.default_rng(0).normal(size=(bags.n_instances, 40))
    bags = Bags(noise, bags.offsets)
    options = {"unit_norm": True, "bias": False, "cv": 4, "random_state": 0, "n_jobs": None}
    inputs = NetworkInputs(None, LabelSVC(C=100.0), **options)
    _, inside = inputs.fit(bags, y, np.ones(len(y)))
    outside = inputs.bag_columns(bags)  # by the machine that saw all bags: in-sample
    assert np.mean((outside[:, 0] > 0) == (y == 1)) == 1.0
    assert np.mean((inside[:, 0] > 0) == (y == 1)) < 0.9


def test_kernels_and_lists_of_estimators_as_bag_features():
    bags, y = planted(n_bags=16)
    three = MarkovNetworkClassifier(bag_features="kernels", cv=3).fit(bags, y)
    assert three.bag_coef_.shape == (1, 3)
    machines = [LabelSVC(), MarkovNetworkClassifier()]
    two = MarkovNetworkClassifier(bag_features=machines, cv=3).fit(bags, y)
    assert two.bag_coef_.shape == (1, 2)
    many, labels = planted(3, n_bags=18)
    nine = MarkovNetworkClassifier(bag_features="kernels", cv=3).fit(many, labels)
    assert nine.bag_coef_.shape == (3, 9)
    with pytest.raises(ValueError, match="no bag estimator"):
        MarkovNetworkClassifier(bag_features=[3]).fit(bags, y)


WRAPPED = [
    make_pipeline(PerInstance(StandardScaler()), LabelSVC()),
    GridSearchCV(LabelSVC(), {"C": [0.1, 1.0]}, cv=2),
    GridSearchCV(make_pipeline(PerInstance(StandardScaler()), LabelSVC()), {}, cv=2),
    CalibratedClassifierCV(LabelSVC(), cv=2),
]


@pytest.mark.parametrize("machine", WRAPPED, ids=["pipeline", "search", "both", "calibrated"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_wrapped_bag_estimators_are_bag_features(machine, n_classes, weighted):
    bags, y = planted(n_classes, n_bags=18)
    weight = 1.0 + np.arange(len(y)) % 2 if weighted else None
    model = MarkovNetworkClassifier(bag_features=machine, cv=2).fit(bags, y, weight)
    width = 1 if n_classes == 2 else 3
    assert model.bag_coef_.shape == (width, width)
    assert np.any(model.bag_coef_)
    assert model.score(bags, y) > 0.8


def test_an_estimator_without_weights_is_named_where_bags_have_some():
    bags, y = planted(n_bags=18)
    machine = make_pipeline(BagStatistics(), KNeighborsClassifier())
    model = MarkovNetworkClassifier(bag_features=[machine], cv=2)
    assert model.fit(bags, y).score(bags, y) > 0.8
    message = r"KNeighborsClassifier.* takes no sample_weight .* choose an estimator"
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        model.set_params(class_weight={1: 2.0}).fit(bags, y)


@pytest.mark.parametrize(
    "feature_map",
    [
        make_pipeline(MinMaxScaler(clip=True), IntersectionMap(2)),
        Nystroem(n_components=20, random_state=0),
    ],
    ids=["intersection", "nystroem"],
)
def test_feature_maps_are_fitted_on_training_instances(feature_map):
    bags, y = planted()
    model = MarkovNetworkClassifier(feature_map=feature_map, lambda_=0.01).fit(bags[:20], y[:20])
    mapped = clone(feature_map).fit(bags[:20].X).transform(bags[20:].X)
    scores = mapped @ model.coef_[0]
    np.testing.assert_allclose(model.instance_decision_function(bags[20:]), scores, atol=1e-9)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_feature_maps_give_arrays_whatever_scikit_learn_is_told(kind):
    bags, y = planted()
    feature_map = make_pipeline(MinMaxScaler(clip=True), Nystroem(n_components=5, random_state=0))
    model = MarkovNetworkClassifier(feature_map=feature_map)
    expected = model.fit(bags, y).decision_function(bags)
    with config_context(transform_output=kind):
        found = clone(model).fit(bags, y).decision_function(bags)
    np.testing.assert_array_equal(found, expected)
    model.feature_map.set_output(transform=kind)
    np.testing.assert_array_equal(model.fit(bags, y).decision_function(bags), expected)


def test_bias_is_a_constant_feature():
    bags, y = planted()
    model = MarkovNetworkClassifier(bias=True, lambda_=0.1).fit(bags, y)
    scores = bags.X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.instance_decision_function(bags), scores, atol=1e-9)
    assert model.intercept_[0] != 0


def test_unit_norm_makes_lambda_independent_of_the_units():
    bags, y = planted()
    model = MarkovNetworkClassifier().fit(bags, y)
    other = MarkovNetworkClassifier().fit(bags.replace(X=1000.0 * bags.X), y)
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-6)
    raw = MarkovNetworkClassifier(unit_norm=False).fit(bags, y)
    assert abs(raw.objective_[0] - model.objective_[0]) > 1e-3


def test_path_averages_scaled_scores_or_takes_the_best():
    bags, y = planted(fraction=0.3)
    options = {"lambda_path": (0.1, 10.0), "cv": 3}
    average = MarkovNetworkClassifier(**options).fit(bags, y)
    spread = [record["deviation"] for record in average.lambda_ranking_]
    parts = [MarkovNetworkClassifier(lambda_=v).fit(bags, y) for v in (0.1, 10.0)]
    scores = np.stack([part.decision_function(bags) for part in parts])
    np.testing.assert_allclose(average.path_decision_function(bags), scores, rtol=1e-12)
    expected = np.mean(scores / np.array(spread)[:, None], axis=0)
    np.testing.assert_allclose(average.decision_function(bags), expected, rtol=1e-9)
    best = MarkovNetworkClassifier(combine="best", **options).fit(bags, y)
    accuracy = [record["accuracy"] for record in best.lambda_ranking_]
    chosen = parts[int(np.argmax(accuracy))]
    np.testing.assert_array_equal(best.coef_, chosen.coef_)
    again = best.set_params(lambda_path=None).fit(bags, y)
    assert not hasattr(again, "lambda_ranking_")


@pytest.mark.parametrize(
    "path", [(), (1.0, -1.0), [np.inf], [np.nan], [[1, 2]], [1, None], ["1"], np.zeros(0)]
)
def test_a_bad_path_is_refused(path):
    bags, y = planted(n_bags=6)
    with pytest.raises(ValueError, match=r"lambda_path must be a sequence of .* positive numbers"):
        MarkovNetworkClassifier(lambda_path=path).fit(bags, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambda_path": (0.1, 1.0)}, "4 bags, fewer than the 5 inner folds of cv. Lower cv to 4"),
        ({"bag_features": "kernels"}, "4 bags, fewer than the 5 inner folds of cv. Lower cv to 4"),
        (
            {"bag_features": LabelSVC(), "threshold": "calibrated", "cv": 4},
            r"4 bags, too few for the 4 .* 2 times within each other. Lower cv to 2",
        ),
    ],
)
def test_too_few_bags_are_refused_before_the_fit(options, message, monkeypatch):
    monkeypatch.setattr(NetworkInputs, "fit", None)
    bags, y = planted(n_bags=20)
    few = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4]]))
    with pytest.raises(ValueError, match=f"Class 'yes' has {message}"):
        MarkovNetworkClassifier(**options).fit(bags[few], np.array(["no", "yes"])[y[few]])


@pytest.mark.parametrize("starts", [["here"], [["whole"]], [None], [], ["whole", 3]])
def test_bad_starts_are_refused(starts):
    bags, y = planted(n_bags=6)
    with pytest.raises(ValueError, match=r"starts must name some of .*'whole'"):
        MarkovNetworkClassifier(starts=starts).fit(bags, y)


def test_learned_cardinality_finds_the_majority():
    bags, y = load_digits_bags(rule="majority", n_bags=80, random_state=1)
    model = MarkovNetworkClassifier("learned", n_bins=4, lambda_=0.3).fit(bags, y)
    negative, positive = model.cardinality_weights_.reshape(2, 4)
    preference = positive - negative
    assert preference[2:].mean() > preference[:2].mean()


def test_several_labels_a_bag_by_scikit_learns_wrapper():
    bags, first = planted()
    second = (np.random.default_rng(0).permutation(len(first)) % 2).astype(int)
    both = np.column_stack([first, second])
    model = MultiOutputClassifier(MarkovNetworkClassifier(lambda_=0.1)).fit(bags, both)
    predicted = model.predict(bags)
    assert predicted.shape == both.shape
    assert np.mean(predicted[:, 0] == first) == 1.0


def test_parameters_can_be_searched():
    bags, y = planted(n_bags=20)
    search = GridSearchCV(MarkovNetworkClassifier("ratio"), {"rho": [0.3, 0.9]}, cv=2)
    assert search.fit(bags, y).best_score_ > 0.5


def test_a_stopped_descent_warns_with_its_gap():
    bags, y = planted(fraction=0.2)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped before .* max_iter=1\).* gap .*Raise max"
    ):
        MarkovNetworkClassifier(max_iter=1, starts=["random"], tol=1e-4).fit(bags, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MarkovNetworkClassifier().fit(bags, y)


@pytest.mark.parametrize("unit_norm", [True, False])
def test_the_warning_of_a_bundles_last_step_is_true(unit_norm, monkeypatch):
    monkeypatch.setattr("bagwise.procedures.descend._BUNDLE_STEPS", 1)
    bags, y = planted(fraction=0.2)
    model = MarkovNetworkClassifier(unit_norm=unit_norm, tol=1e-6, max_iter=10**4)
    with pytest.warns(
        ConvergenceWarning, match=r"most steps of its bundle .* gap .*Raise tol"
    ) as w:
        model.fit(bags, y)
    assert ("scale the features" in str(w[0].message)) == (not unit_norm)


def test_zero_weight_bags_leave_no_trace():
    bags, y = planted()
    weight = np.arange(len(y)) % 3 > 0
    model = MarkovNetworkClassifier(bag_features="kernels", cv=3).fit(bags, y, sample_weight=weight)
    alone = MarkovNetworkClassifier(bag_features="kernels", cv=3).fit(bags[weight], y[weight])
    np.testing.assert_allclose(model.coef_, alone.coef_)
    unused = np.repeat(~weight, bags.sizes)
    assert not model.instance_weights_[unused].any()


def test_negative_bags_of_a_ratio_may_hold_positives():
    bags, y = planted(fraction=0.6)
    model = MarkovNetworkClassifier("ratio", rho=0.6, lambda_=0.1).fit(bags, y)
    inference = CountInference(model.potential_, bags.offsets)
    scores = (bags.X @ model.coef_.T).T
    best = inference.best(scores, model.cardinality_weights_)
    expected = best.value[0, 1] - best.value[0, 0]
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-9)
