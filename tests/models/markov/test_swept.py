"""Networks of many instances: passes over the rows against the bundle method."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise import Bags, EarlyStopping, MarkovNetworkClassifier
from bagwise.datasets import make_slide_bags
from bagwise.models.markov import descents
from bagwise.rowstores import memory

RULES = ["any", "ratio", "learned"]


def planted(n_bags=24, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    sizes, y = rng.integers(10, 40, n_bags), np.arange(n_bags) % n_classes
    X = rng.normal(size=(sizes.sum(), 4))
    X[np.repeat(y == 1, sizes) & (rng.random(len(X)) < 0.3), 0] += 1.5
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(X, offsets, bag_features=rng.normal(size=(n_bags, 2))), y


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(memory, "MANY_ROWS", 0)


def network(rule="any", **options):
    options = {"alpha": 1.0, "fit_intercept": True, "positive_fraction": 0.2, **options}
    return MarkovNetworkClassifier(cardinality=rule, **options)


def mean_start(bags, y, many, monkeypatch):
    """Return the instance weights that a network with so many rows starts with."""
    starts, plain = [], descents.STARTS["mean"]

    def note(*arguments):
        starts.append(plain(*arguments))
        return starts[-1]

    with monkeypatch.context() as patch:
        patch.setattr(memory, "MANY_ROWS", many)
        patch.setitem(descents.STARTS, "mean", note)
        network(init=["mean"]).fit(bags, y)
    return starts[0][: bags.n_features]


@pytest.mark.parametrize("bag_features", [None, "bags"])
@pytest.mark.parametrize("rule", RULES)
def test_passes_end_no_higher_than_a_bundle_method(rule, bag_features, monkeypatch):
    bags, y = planted()
    model = network(rule, bag_features=bag_features)
    bundle = model.fit(bags, y).objective_[0]
    monkeypatch.setattr(memory, "MANY_ROWS", 0)
    model.fit(bags, y)
    assert model.objective_[0] <= 1.02 * bundle  # both tolerate a hundredth
    assert model.gap_[0] <= 0.01 * model.objective_[0] * 1.0001
    w = np.concatenate([np.ravel(part) for part in (model.networks_[0].instance,)])
    norm = sum(float(np.sum(part**2)) for part in (w, model.cardinality_weights_, model.bag_coef_))
    margins = np.where(y == 1, 1, -1) * model.decision_function(bags)
    hinge = float(np.maximum(0, 1 - margins).sum())
    assert model.objective_[0] == pytest.approx(0.5 * norm + hinge, rel=1e-6)


@pytest.mark.parametrize(
    "rule", [pytest.param(r, marks=[pytest.mark.slow] * (r == "learned")) for r in RULES]
)
def test_features_that_say_nothing_end_with_a_warning(rule, always):
    bags, y = planted()
    with pytest.warns(UserWarning, match="learned nothing"):
        model = network(rule, fit_intercept=False).fit(Bags(0 * bags.X, bags.offsets), y)
    assert model.objective_[0] == pytest.approx(len(y))


def test_weights_of_bags_and_no_intercept_count(always):
    bags, y = planted()
    weight = np.where(np.arange(len(y)) < 4, 0.0, 1.0)
    whole = network(fit_intercept=False).fit(bags, y, sample_weight=weight)
    part = network(fit_intercept=False).fit(bags[4:], y[4:])
    assert whole.objective_[0] == pytest.approx(part.objective_[0])
    assert whole.intercept_[0] == 0.0


def test_bag_means_are_separated_as_in_memory(monkeypatch):
    bags, y = planted()
    found, expected = (mean_start(bags, y, many, monkeypatch) for many in (0, 10**9))
    cosine = found @ expected / np.linalg.norm(found) / np.linalg.norm(expected)
    assert cosine > 0.98  # one penalizes the intercept, the other does not


def test_rounds_are_told_and_repeat_their_bits(always):
    bags, y = planted()
    told = []
    model = network(callback=told.append).fit(bags, y)
    assert len(told) == sum(record["rounds"] for record in model.starts_)
    again = network().fit(bags, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_one_network_against_the_rest_is_swept_and_a_joint_one_is_not(always, monkeypatch):
    bags, y = planted(n_classes=3)
    seen, plain = [], descents.soft_newton
    monkeypatch.setattr(descents, "soft_newton", lambda *a, **k: seen.append(1) or plain(*a, **k))
    network(multi_class="native", init=["instances"]).fit(bags, y)
    assert not seen
    network(multi_class="ovr", init=["instances"]).fit(bags, y)
    assert len(seen) == 3


def test_networks_that_stop_early_are_not_swept(always, monkeypatch):
    bags, y = planted()
    monkeypatch.setattr(descents, "soft_newton", None)
    network(init=["zero"], early_stopping=EarlyStopping()).fit(bags, y)


@pytest.mark.torch
@pytest.mark.parametrize("rule", RULES)
def test_passes_on_a_device_end_where_those_on_the_host_do(rule, always):
    bags, y = planted()
    here = network(rule).fit(bags, y).objective_[0]
    there = network(rule).fit(bags.to("cpu"), y).objective_[0]
    assert there == pytest.approx(here, rel=1e-2)


def test_labelings_of_a_trained_start_are_not_blurred(always):
    """Few witnesses: only the weights of "any" know them, and all fractions are in one bin."""
    bags, y = make_slide_bags(30, 6, bag_size=(40, 60), random_state=6)
    model = network("learned", init=["any"]).fit(bags, y)
    assert model.objective_[0] < 10  # 14.2 and a score of .83 from a blurred start
    assert model.score(bags, y) == 1


@pytest.mark.parametrize(("seed", "most"), [(5, 20), (6, 7)])
def test_a_start_under_another_potential_does_not_end_near_it(seed, most, always):
    """Shares of instances decide: the weights of "any" are far from any rule on them."""
    rng = np.random.default_rng(seed)
    parts = []
    for i in range(40):
        m, share = rng.integers(20, 40), rng.uniform(0.45, 0.9) if i % 2 else rng.uniform(0, 0.35)
        parts.append(rng.normal(size=(m, 6)))
        parts[-1][rng.random(m) < share, :2] += 1.0
    y = np.arange(40) % 2
    model = network("learned", init=["any"]).fit(Bags.from_list(parts), y)
    assert model.objective_[0] < most  # 31.0 and 8.6 by hard steps from the start
    assert model.gap_[0] <= 0.01 * model.objective_[0]
