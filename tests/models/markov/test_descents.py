"""Descents from several starts: the lowest is kept, a small gain sought again, early stopping."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bagwise import EarlyStopping, MarkovNetworkClassifier
from bagwise.bags import Bags
from bagwise.crossfit import hold_out_part
from bagwise.errors import Parameter
from bagwise.models.markov import descents
from bagwise.models.markov.descents import find_idle, run_starts
from bagwise.procedures.heldout import HeldOut
from reference.networks import noise, planted, risk_of_bags

OPTIONS = {"tol": 1e-2, "max_iter": 20, "seed": 0}
NAME = Parameter("validation_fraction", "0.3")
EARLY = {"cardinality": "learned", "early_stopping": EarlyStopping(validation_fraction=0.3)}


def test_the_lowest_end_is_kept_and_all_are_recorded():
    risk = risk_of_bags(*planted(3, n_bags=18), n_classes=3)
    names = ["zero", "mean", "random", "instances"]
    best, records = run_starts(names, risk, 0.1, **OPTIONS)
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


def test_every_round_of_every_start_is_told():
    risk, seen = risk_of_bags(*planted(n_bags=12)), []
    _, records = run_starts(["mean", "random"], risk, 0.1, callback=seen.append, **OPTIONS)
    assert len(seen) == sum(record["rounds"] for record in records)


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


def test_bags_that_say_nothing_are_named():
    bags, y = planted(n_bags=12)
    same = Bags(np.zeros(bags.X.shape), bags.offsets)
    _, records = run_starts(["instances"], risk_of_bags(same, y), 1.0, **OPTIONS)
    assert find_idle(records) == [None]
    _, others = run_starts(["instances"], risk_of_bags(bags, y), 1.0, **OPTIONS)
    assert find_idle(others) == []
    labeled = [dict(records[0], **{"class": "a"}), dict(others[0], **{"class": "b"})]
    assert find_idle(labeled) == ["a"]
    assert find_idle([*labeled, dict(others[0], **{"class": "a"})]) == []


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


def test_it_goes_with_bag_features_alphas_and_one_against_the_rest():
    bags, y = planted(3, n_bags=45)
    model = MarkovNetworkClassifier(
        early_stopping=EarlyStopping(validation_fraction=0.2),
        bag_features="kernels",
        alphas=(0.1, 1.0),
        multi_class="ovr",
        cv=3,
    ).fit(bags, y)
    assert model.score(bags, y) > 0.9
    assert [record["class"] for record in model.starts_ if record["init"] == "instances"] == [
        0,
        1,
        2,
    ]
    assert all(0 <= record["validation_score"] <= 1 for record in model.starts_)


def test_a_class_of_one_bag_is_refused():
    bags, y = planted(n_bags=12)
    y = np.where(np.arange(12) == 3, 1, 0)
    with pytest.raises(ValueError, match=r"Class 1 has too few bags.*lower validation_fraction"):
        MarkovNetworkClassifier(early_stopping=EarlyStopping()).fit(bags, y)
