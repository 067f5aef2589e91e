"""Descents of networks: their starts, the lowest end, early stopping, passes over the rows."""

import re
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from bagwise import EarlyStopping, MarkovNetworkClassifier
from bagwise.assumptions import AtLeastPotential, BinnedPotential
from bagwise.bags import Bags
from bagwise.crossfit import hold_out_part
from bagwise.datasets import make_slide_bags
from bagwise.errors import Parameter
from bagwise.models.markov import descents
from bagwise.models.markov.descents import begin
from bagwise.procedures.heldout import HeldOut
from bagwise.procedures.run import run
from bagwise.rows import Rows
from bagwise.rowstores.files import FileRows, FileSpan
from reference.networks import noise, planted, random_risk, risk_of_bags


def start(name, *problem):
    return run(None, begin(name, *problem))


def run_starts(*problem, **options):
    return run(None, descents.run_starts(*problem, **options))


OPTIONS = {"tol": 1e-2, "max_iter": 20, "seed": 0}
NAME = Parameter("validation_fraction", "0.3")
EARLY = {"cardinality": "learned", "early_stopping": EarlyStopping(validation_fraction=0.3)}


def test_the_lowest_end_is_kept_and_all_are_recorded():
    risk = risk_of_bags(*planted(3, n_bags=18), n_classes=3)
    names = ["zero", "mean", "random", "instances"]
    seen = []
    best, records = run_starts(names, risk, 0.1, callback=seen.append, **OPTIONS)
    assert len(seen) == sum(record["rounds"] for record in records)
    assert [record["init"] for record in records] == names
    assert best.solution.objective == min(record["objective"] for record in records)
    assert {record["objective_of_zero"] for record in records} == {18.0}
    w = best.solution.coef
    assert best.solution.objective == pytest.approx(
        risk.value(risk.forward(w)) + 0.05 * w @ w, rel=1e-9
    )


def test_the_means_are_added_only_where_nothing_was_found():
    bags, y = planted(3, n_bags=18)
    nothing = risk_of_bags(Bags(np.zeros(bags.X.shape), bags.offsets), y, 3)
    _, stuck = run_starts(["zero"], nothing, 1.0, **OPTIONS)
    assert [record["init"] for record in stuck] == ["zero", "mean"]
    assert stuck[0]["objective"] == stuck[1]["objective"] == 18.0
    _, moved = run_starts(["instances"], risk_of_bags(bags, y, 3), 0.1, **OPTIONS)
    assert [record["init"] for record in moved] == ["instances"]


def test_small_gains_are_sought_again_more_finely(monkeypatch):
    tolerances, plain = [], descents.restart_nrbm

    def watched(risk, alpha, start, *, tol, **options):
        tolerances.append(tol)
        return plain(risk, alpha, start, tol=tol, **options)

    monkeypatch.setattr(descents, "restart_nrbm", watched)
    risk = risk_of_bags(*planted(n_bags=12))
    run_starts(["instances"], risk, 0.1, **OPTIONS)
    assert tolerances == [1e-2]  # much was gained
    tolerances.clear()
    best, (record,) = run_starts(["instances"], risk, 1e4, **OPTIONS)
    assert len(tolerances) > 1
    assert all(finer <= 1e-2 * coarser for coarser, finer in pairwise(tolerances))
    gain = record["objective_of_zero"] - best.solution.objective
    assert gain > 0
    assert tolerances[-1] <= 0.1 * gain / record["objective_of_zero"]


def test_what_the_asked_tolerance_found_converged_stays_so(monkeypatch):
    plain, calls = descents.restart_nrbm, []

    def first_converges(risk, alpha, start, **options):
        calls.append(options["tol"])
        return replace(plain(risk, alpha, start, **options), converged=len(calls) == 1)

    monkeypatch.setattr(descents, "restart_nrbm", first_converges)
    best, _ = run_starts(["instances"], risk_of_bags(*planted(n_bags=12)), 1e4, **OPTIONS)
    assert len(calls) > 1
    assert best.converged


# Early stopping ----------------------------------------------------------------------------------


def stopped():
    bags, y = noise(60, 2, seed=0)
    return (
        MarkovNetworkClassifier(**EARLY, alpha=0.01).set_params(early_stopping__n_iter_no_change=3),
        bags,
        y,
    )


def test_noise_stops_early_says_so_and_warns_of_nothing():
    model, bags, y = stopped()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(bags, y)
    best = max(model.starts_, key=lambda r: (r["validation_score"], -r["validation_loss"]))
    assert best["stopped_early"]
    assert best["objective"] == model.objective_[0]
    assert model.history_[-1]["stopped_early"]
    full = MarkovNetworkClassifier(cardinality="learned", alpha=0.01)
    train, test = hold_out_part(bags, y, 0.3, 0, NAME)
    full.fit(bags[train], y[train])
    assert model.objective_[0] > 1.2 * full.objective_[0]
    assert model.gap_[0] > full.gap_[0]
    assert model.score(bags[test], y[test]) == pytest.approx(best["validation_score"])
    assert model.score(bags[test], y[test]) > full.score(bags[test], y[test])
    again = stopped()[0].fit(bags, y)
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_where_validation_never_gets_worse_it_is_the_fit_of_the_training_part(
    n_classes, monkeypatch
):
    def always_pleased(held, patience):
        return HeldOut(lambda coef: (1.0, 0.0), 1)

    monkeypatch.setattr(descents, "_judge", always_pleased)
    bags, y = planted(n_classes)
    early = MarkovNetworkClassifier(**EARLY, alpha=0.1).fit(bags, y)
    train, _ = hold_out_part(bags, y, 0.3, 0, NAME)
    full = MarkovNetworkClassifier(cardinality="learned", alpha=0.1)
    full.fit(bags[train], y[train])
    np.testing.assert_array_equal(early.coef_, full.coef_)
    np.testing.assert_array_equal(early.cardinality_weights_, full.cardinality_weights_)
    np.testing.assert_array_equal(early.gap_, full.gap_)
    assert not any(record["stopped_early"] for record in early.starts_)


def test_it_goes_with_bag_features_and_one_against_the_rest():
    bags, y = planted(3)
    options = {"bag_features": "kernels", "multi_class": "ovr", "cv": 2}
    early = EarlyStopping(validation_fraction=0.2)
    model = MarkovNetworkClassifier(early_stopping=early, **options).fit(bags, y)
    assert model.score(bags, y) > 0.9
    first = [record["class"] for record in model.starts_ if record["init"] == "instances"]
    assert first == [0, 1, 2]
    assert all(0 <= record["validation_score"] <= 1 for record in model.starts_)


def test_a_class_of_one_bag_is_refused():
    bags, y = planted(n_bags=12)
    y = np.where(np.arange(12) == 3, 1, 0)
    with pytest.raises(ValueError, match=r"Class 1 has too few bags.*lower validation_fraction"):
        MarkovNetworkClassifier(early_stopping=EarlyStopping()).fit(bags, y)


# Starts ------------------------------------------------------------------------------------------

POTENTIALS = [AtLeastPotential(), AtLeastPotential(0.5), BinnedPotential(3)]
every_potential = pytest.mark.parametrize("potential", POTENTIALS, ids=str)


def risk_of(potential, n_classes=2):
    return risk_of_bags(*planted(n_classes, n_bags=18), n_classes, potential)


def objective(risk, alpha, w):
    return risk.value(risk.forward(w)) + alpha / 2 * w @ w


@every_potential
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", ["instances", "mean"])
@pytest.mark.parametrize("alpha", [0.1, 10.0])
def test_starts_lie_below_zero(name, n_classes, potential, alpha):
    risk = risk_of(potential, n_classes)
    w = start(name, risk, alpha, 1e-3, 0)
    assert w.shape == (risk.n_coef,)
    assert objective(risk, alpha, w) < objective(risk, alpha, np.zeros(risk.n_coef))


@every_potential
def test_zero_and_random(potential):
    risk = risk_of(potential, 3)
    assert not start("zero", risk, 1.0, 1e-3, 0).any()
    one, again, other = (start("random", risk, 1.0, 1e-3, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.any(one != other)
    assert 3e-4 < one.std() < 3e-3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_means_point_in_the_direction_of_a_linear_svm(n_classes):
    bags, _ = planted(n_classes, n_bags=18)
    risk = risk_of(AtLeastPotential(), n_classes)
    w = start("mean", risk, 0.1, 1e-3, 0)
    instance, _, _ = risk.split(w)
    means = np.array([bag.mean(axis=0) for bag in bags])
    svm = LinearSVC(dual=True, max_iter=20000, random_state=0)
    svm.fit(means, risk.codes, sample_weight=risk.weight)
    lengths = instance / svm.coef_
    np.testing.assert_allclose(lengths, lengths[0, 0], rtol=1e-6)  # a multiple of it
    assert lengths[0, 0] > 0


def test_the_multiple_of_a_direction_is_the_best_tried():
    risk, alpha = risk_of(AtLeastPotential()), 0.5
    w = start("mean", risk, alpha, 1e-3, 0)
    here = objective(risk, alpha, w)
    assert all(objective(risk, alpha, t * w) >= here - 1e-9 for t in (0.1, 10**-0.25, 10**0.25, 10))


@pytest.mark.parametrize("alpha", [1e3, 1e5, 1e7])
def test_a_strong_regularizer_makes_short_steps_not_none(alpha):
    risk = risk_of(AtLeastPotential(0.5))
    w = start("mean", risk, alpha, 1e-3, 0)
    zero = objective(risk, alpha, np.zeros(risk.n_coef))
    assert zero - objective(risk, alpha, w) > 0
    assert np.abs(w).max() <= 1e3 / alpha


def test_a_network_of_another_rule_starts_one_with_learned_weights():
    """From the rule "at least half": fractions that it forbids begin a margin below."""
    risk = risk_of(BinnedPotential(4))
    w = start("half", risk, 1.0, 1e-4, 0)
    _, potential, _ = risk.split(w)
    negative, positive = potential.reshape(2, 4)
    assert positive[3] - positive[0] == pytest.approx(1.0)  # at most a quarter is forbidden
    assert negative[0] - negative[3] == pytest.approx(1.0)
    assert positive[2] == positive[3]
    assert negative[0] == negative[1]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_papers_start_scores_bags_by_their_features_alone(n_classes):
    """With a score of another model as bag feature, the first scores are a tenth of it."""
    risk = random_risk(POTENTIALS[0], n_classes)
    part = risk.parts(risk.forward(start("bag_features", risk, 1.0, 1e-3, 0)))
    assert not part.instances.any()
    assert not part.potential.any()
    expected = 0.1 * risk.bag_features.sum(axis=1)
    np.testing.assert_allclose(part.bags, np.tile(expected, (risk.n_models, 1)))


# Passes over the rows ----------------------------------------------------------------------------

RULES = ["any", "ratio", "learned"]


def draw_bags(n_bags=24, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    sizes, y = rng.integers(10, 40, n_bags), np.arange(n_bags) % n_classes
    X = rng.normal(size=(sizes.sum(), 4))
    X[np.repeat(y == 1, sizes) & (rng.random(len(X)) < 0.3), 0] += 1.5
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Bags(X, offsets, bag_features=rng.normal(size=(n_bags, 2))), y


@pytest.fixture
def always(monkeypatch):
    """Descend by passes, and by nothing else."""
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    monkeypatch.setattr(descents, "_BUNDLE_BYTES", 0)


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
        patch.setattr(descents, "MANY_ROWS", many)
        patch.setitem(descents.STARTS, "mean", note)
        network(init=["mean"]).fit(bags, y)
    return starts[0][: bags.n_features]


@pytest.mark.parametrize(
    ("rule", "bag_features"), [("any", None), ("ratio", "bags"), ("learned", "bags")]
)
def test_passes_end_no_higher_than_a_bundle_method(rule, bag_features, monkeypatch):
    bags, y = draw_bags()
    model = network(rule, bag_features=bag_features)
    bundle = model.fit(bags, y).objective_[0]
    monkeypatch.setattr(descents, "MANY_ROWS", 0)
    both = model.fit(bags, y).objective_[0]
    monkeypatch.setattr(descents, "_BUNDLE_BYTES", 0)
    model.fit(bags, y)
    best = min(bundle, model.objective_[0]) if rule == "learned" else model.objective_[0]
    assert both == best
    assert model.objective_[0] <= 1.02 * bundle  # both tolerate a hundredth
    assert model.gap_[0] <= 0.01 * model.objective_[0] * 1.0001
    parts = (model.networks_[0].instance, model.cardinality_weights_, model.bag_coef_)
    norm = sum(float(np.sum(part**2)) for part in parts)
    margins = np.where(y == 1, 1, -1) * model.decision_function(bags)
    hinge = float(np.maximum(0, 1 - margins).sum())
    assert model.objective_[0] == pytest.approx(0.5 * norm + hinge, rel=1e-6)


def test_features_that_say_nothing_end_with_a_warning(always):
    bags, y = draw_bags()
    with pytest.warns(UserWarning, match="learned nothing"):
        model = network(fit_intercept=False).fit(Bags(0 * bags.X, bags.offsets), y)
    assert model.objective_[0] == pytest.approx(len(y))


def test_weights_of_bags_and_no_intercept_count(always):
    bags, y = draw_bags()
    weight = np.where(np.arange(len(y)) < 4, 0.0, 1.0)
    whole = network(fit_intercept=False).fit(bags, y, sample_weight=weight)
    part = network(fit_intercept=False).fit(bags[4:], y[4:])
    assert whole.objective_[0] == pytest.approx(part.objective_[0])
    assert whole.intercept_[0] == 0.0


def test_bag_means_are_separated_as_in_memory(monkeypatch):
    bags, y = draw_bags()
    found, expected = (mean_start(bags, y, many, monkeypatch) for many in (0, 10**9))
    cosine = found @ expected / np.linalg.norm(found) / np.linalg.norm(expected)
    assert cosine > 0.98  # one penalizes the intercept, the other does not


def test_rounds_are_told_and_repeat_their_bits(always):
    bags, y = draw_bags()
    told = []
    model = network(callback=told.append).fit(bags, y)
    assert len(told) == sum(record["rounds"] for record in model.starts_)
    again = network().fit(bags, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)


def in_one_file(X, folder):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


def in_files(X, folder):
    for i, part in enumerate(np.array_split(X, 3)):
        np.save(folder / f"{i}.npy", part)
    return FileRows(
        [FileSpan.of(np.load(path, mmap_mode="r")) for path in sorted(folder.iterdir())]
    )


@pytest.mark.parametrize(
    ("rule", "place"), [("any", in_one_file), *((rule, in_files) for rule in RULES)]
)
def test_rows_in_files_have_the_same_bits(rule, place, always, tmp_path):
    bags, y = draw_bags()
    here = network(rule).fit(bags, y)
    there = network(rule).fit(Bags(place(bags.X, tmp_path), bags.offsets), y)
    np.testing.assert_array_equal(there.coef_, here.coef_)
    np.testing.assert_array_equal(there.gap_, here.gap_)


def test_classes_and_starts_share_passes_and_a_joint_network_takes_none(always, monkeypatch):
    bags, y = draw_bags(n_classes=3)
    looks, plain = [], Rows.run_pass
    monkeypatch.setattr(
        Rows, "run_pass", lambda self, some: looks.append(len(some)) or plain(self, some)
    )
    network(multi_class="native", init=["instances"]).fit(bags, y)
    assert not looks
    model = network(multi_class="ovr").fit(bags, y)
    assert max(looks) == 6  # of three classes and two starts
    assert len(looks) < 0.5 * sum(looks)
    alone = network(init=["instances", "half"]).fit(bags, y == 1)
    np.testing.assert_array_equal(model.coef_[1], alone.coef_[0])


def test_learned_weights_of_many_rows_say_first_what_they_cost(always):
    bags, y = draw_bags()
    order = []

    def say(message, *_, **__):
        order.append(str(message))

    model = network("learned", init=["instances", "any"], callback=lambda _: order.append("round"))
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = say
        model.fit(bags, y)
    assert order.index("round") == 1
    seconds, one_pass = re.search(r"up to (\S+) seconds .* takes (\S+)\. One", order[0]).groups()
    assert 0 < float(one_pass) < 1
    assert float(seconds) == pytest.approx(2 * 300 * float(one_pass), rel=0.05, abs=1)


def test_other_networks_say_nothing_of_costs(always):
    bags, y = draw_bags()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        network("any").fit(bags, y)


def test_networks_that_stop_early_descend_by_a_bundle_method(always, monkeypatch):
    bags, y = draw_bags()
    monkeypatch.setattr(descents, "soft_newton", None)
    network(init=["zero"], early_stopping=EarlyStopping()).fit(bags, y)


@pytest.mark.torch
@pytest.mark.parametrize("rule", RULES)
def test_passes_on_a_device_end_where_those_on_the_host_do(rule, always):
    bags, y = draw_bags()
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
