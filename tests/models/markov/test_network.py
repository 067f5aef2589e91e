"""Markov networks: planted counts, starts, inferred instance labels, bag features, many classes."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from bagwise import LabelSVC, MarkovNetworkClassifier
from bagwise.assumptions import AtLeastPotential, CountPotential
from bagwise.bags.segments import segment_sum
from bagwise.datasets import load_digits_bags
from bagwise.models.markov.inputs import NetworkInputs
from reference.networks import noise, planted

CARDINALITIES = ["any", "ratio", "learned"]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_planted_bags_are_learned_and_shapes_hold(cardinality, n_classes):
    bags, y = planted(n_classes)
    model = MarkovNetworkClassifier(cardinality=cardinality, alpha=0.1, n_bins=3).fit(bags, y)
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
    model = MarkovNetworkClassifier(cardinality=cardinality, alpha=0.3, unit_norm=False).fit(
        bags, y
    )
    margin = np.where(y == 1, 1, -1) * model.decision_function(bags)
    norm = sum(float(np.sum(w**2)) for w in (model.coef_, model.cardinality_weights_))
    expected = np.maximum(0, 1 - margin).sum() + 0.15 * norm
    assert model.objective_[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("base", [CountPotential, object])
def test_a_potential_of_ones_own_equals_the_named_one(base):
    class Own(base):
        n_weights = 2

        def table(self, size):
            return AtLeastPotential(0.5).table(size)

        def bins(self, size):
            return AtLeastPotential(0.5).bins(size)

    bags, y = planted()
    own = MarkovNetworkClassifier(cardinality=Own()).fit(bags, y)
    named = MarkovNetworkClassifier(cardinality="ratio", positive_fraction=0.5).fit(bags, y)
    np.testing.assert_allclose(
        own.decision_function(bags), named.decision_function(bags), rtol=1e-6
    )
    assert clone(own).fit(bags, y).objective_ == own.objective_


def test_a_table_alone_is_a_potential():
    class AllOrNothing:
        def table(self, size):
            return [[0.0] + [-np.inf] * size, [-np.inf] * size + [0.0]]

    bags, y = planted(fraction=1.0)
    model = MarkovNetworkClassifier(cardinality=AllOrNothing(), alpha=0.1).fit(bags, y)
    expected = segment_sum(bags.X @ model.coef_[0], bags.offsets)  # F(-1) = 0
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-9)
    assert model.cardinality_weights_.shape == (1, 0)
    with pytest.raises(TypeError, match="pass an instance"):
        MarkovNetworkClassifier(cardinality=AllOrNothing).fit(bags, y)
    with pytest.raises(ValueError, match="cardinality"):
        MarkovNetworkClassifier(cardinality=3).fit(bags, y)


@pytest.mark.parametrize(("cardinality", "n_classes"), [("any", 4), ("ratio", 2), ("learned", 2)])
def test_what_is_gained_over_zero_is_in_proportion_to_one_over_alpha(cardinality, n_classes):
    # Near w = 0 the risk is N + t slope along every ray: the least objective is N - const/alpha.
    bags, y = planted(n_classes, n_bags=20)
    gain = []
    for alpha in (1e4, 1e6):
        model = MarkovNetworkClassifier(cardinality=cardinality, alpha=alpha).fit(bags, y)
        gain.append(alpha * (len(bags) - model.objective_[0]))
        assert model.score(bags, y) > 0.5
    assert gain[0] > 1
    assert gain[1] == pytest.approx(gain[0], rel=0.1)


def test_noise_gains_over_zero_too():
    bags, y = noise(12, 3, seed=4)
    model = MarkovNetworkClassifier(cardinality="learned", alpha=1000.0).fit(bags, y)
    assert model.objective_[0] < 12 - 1e-3
    assert np.any(model.coef_)


@pytest.mark.parametrize("start", ["instances", "zero"])
@pytest.mark.parametrize(("n_features", "seed"), [(4, 3), (2, 3)])
def test_a_single_start_does_not_stay_at_zero(start, n_features, seed):
    bags, y = noise(20, 4, seed, n_features, sizes=(3, 7))
    model = MarkovNetworkClassifier(cardinality="ratio", init=[start]).fit(bags, y)
    assert [record["init"] for record in model.starts_] == [start, "mean"]
    assert model.objective_[0] < 20 - 1e-4
    assert len(set(model.predict(bags))) > 1
    assert model.starts_[0]["objective_of_zero"] == 20.0


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_a_network_that_learns_nothing_says_so(multi_class):
    bags, y = planted(3, n_bags=12)
    same = bags.replace(X=np.zeros(bags.X.shape))
    weight = np.array([1.0, 1.0, 2.0])[y]  # against the rest, the third class is balanced
    model = MarkovNetworkClassifier(cardinality="ratio", alpha=2.0, multi_class=multi_class)
    weight = weight if multi_class == "ovr" else None
    which = "" if weight is None else " of class 2"
    with pytest.warns(ConvergenceWarning, match=f"learned nothing{which} at alpha=2: .*Lower"):
        model.fit(same, y, sample_weight=weight)
    assert np.all(model.objective_[-1] == (12 if weight is None else 16))


def test_one_vs_rest_is_one_binary_network_per_class():
    bags, y = planted(3)
    model = MarkovNetworkClassifier(multi_class="ovr").fit(bags, y)
    single = MarkovNetworkClassifier().fit(bags, y == 1)
    scores = model.decision_function(bags)[:, 1]
    np.testing.assert_allclose(scores, single.decision_function(bags), rtol=1e-12)
    assert model.objective_.shape == (3,)
    assert model.score(bags, y) > 0.9
    assert [(r["class"], r["init"]) for r in model.starts_] == [
        (label, start) for label in range(3) for start in ("instances", "half")
    ]
    named = np.array(["a", "b", "c"], dtype=object)[y]
    starts = MarkovNetworkClassifier(multi_class="ovr").fit(bags, named).starts_
    assert {record["class"] for record in starts} == {"a", "b", "c"}


@pytest.mark.parametrize("positive_fraction", [0.3, 0.5])
def test_inferred_labels_keep_the_counts_of_the_rule(positive_fraction):
    bags, y = planted(fraction=0.5)
    model = MarkovNetworkClassifier(
        cardinality="ratio", positive_fraction=positive_fraction, alpha=5.0
    ).fit(bags, y)
    positive = model.predict(bags) == 1
    counts = segment_sum(1 * (model.predict_instances(bags) == 1), bags.offsets)
    least = AtLeastPotential(positive_fraction).least(bags.offsets)
    assert np.all(counts[positive] >= least[positive])
    assert np.all(counts[~positive] < least[~positive])
    flipped = MarkovNetworkClassifier(
        cardinality="ratio", positive_fraction=positive_fraction, alpha=5.0, pos_label=0
    ).fit(bags, 1 - y)
    np.testing.assert_array_equal(
        flipped.predict_instances(bags), 1 - model.predict_instances(bags)
    )


def test_the_intercept_is_a_constant_feature():
    bags, y = planted()
    model = MarkovNetworkClassifier(fit_intercept=True, alpha=0.1).fit(bags, y)
    scores = bags.X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.instance_decision_function(bags), scores, atol=1e-9)
    assert model.intercept_[0] != 0


STARTS = [["here"], [["instances"]], [None], [], ["instances", 3]]


@pytest.mark.parametrize("init", STARTS, ids=str)
def test_bad_starts_are_refused(init):
    bags, y = planted(n_bags=6)
    with pytest.raises(ValueError, match=r"init must name some of .*'instances'"):
        MarkovNetworkClassifier(init=init).fit(bags, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bag_features": "kernels"}, "4 bags, fewer than the 5 inner folds of cv. Lower cv to 4"),
        (
            {"bag_features": LabelSVC(), "threshold": "calibrated", "cv": 4, "calibration_cv": 4},
            r"4 bags, too few for the 4 inner folds of cv within the 4 .* Lower cv to 3",
        ),
    ],
)
def test_too_few_bags_are_refused_before_the_fit(options, message, monkeypatch):
    monkeypatch.setattr(NetworkInputs, "fit", None)
    bags, y = planted(n_bags=20)
    few = np.sort(np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4]]))
    with pytest.raises(ValueError, match=f"Class 'yes' has {message}"):
        MarkovNetworkClassifier(**options).fit(bags[few], np.array(["no", "yes"])[y[few]])


def test_learned_cardinality_finds_the_majority():
    bags, y = load_digits_bags(rule="majority", n_bags=80, random_state=1)
    model = MarkovNetworkClassifier(cardinality="learned", n_bins=4, alpha=0.3).fit(bags, y)
    negative, positive = model.cardinality_weights_.reshape(2, 4)
    preference = positive - negative
    assert preference[2:].mean() > preference[:2].mean()


def test_a_stopped_descent_warns_with_its_gap():
    bags, y = planted(fraction=0.2)
    with pytest.warns(ConvergenceWarning, match=r"stopped by max_iter=1 before .* gap .*Raise max"):
        MarkovNetworkClassifier(max_iter=1, init=["random"], tol=1e-4).fit(bags, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MarkovNetworkClassifier().fit(bags, y)


@pytest.mark.parametrize("unit_norm", [True, False])
def test_the_warning_of_a_solvers_last_step_is_true(unit_norm, monkeypatch):
    monkeypatch.setattr("bagwise.procedures.nrbm.MAX_STEPS", 1)
    bags, y = planted(fraction=0.2)
    model = MarkovNetworkClassifier(unit_norm=unit_norm, tol=1e-6, max_iter=10**4)
    with pytest.warns(ConvergenceWarning, match=r"most steps of its solver.* gap .*Raise tol") as w:
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
