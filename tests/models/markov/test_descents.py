"""Descents from several starts: the lowest is kept, a small gain is sought again."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from bagwise.assumptions import AtLeastPotential, CountInference
from bagwise.bags import Bags
from bagwise.designs import matrix_design
from bagwise.models.markov import descents
from bagwise.models.markov.descents import learned_nothing, run_starts
from bagwise.oracles.markov import InstanceOperator, MarkovRisk
from reference.networks import planted

OPTIONS = {"tol": 1e-2, "max_iter": 20, "seed": 0}


def risk_of(bags, y, n_classes=2):
    return MarkovRisk(
        InstanceOperator(matrix_design(bags.X)),
        CountInference(AtLeastPotential(), bags.offsets),
        np.empty((len(bags), 0)),
        y,
        n_classes,
        np.ones(len(y)),
    )


def test_the_lowest_end_is_kept_and_all_are_recorded():
    risk = risk_of(*planted(3, n_bags=18), n_classes=3)
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
    nothing = risk_of(Bags(np.zeros(bags.X.shape), bags.offsets), y, 3)
    _, stuck = run_starts(["zero"], nothing, 1.0, **OPTIONS)
    assert [record["init"] for record in stuck] == ["zero", "mean"]
    assert stuck[0]["objective"] == stuck[1]["objective"] == 18.0
    _, moved = run_starts(["instances"], risk_of(bags, y, 3), 0.1, **OPTIONS)
    assert [record["init"] for record in moved] == ["instances"]


def test_every_round_of_every_start_is_told():
    risk, seen = risk_of(*planted(n_bags=12)), []
    _, records = run_starts(["mean", "random"], risk, 0.1, callback=seen.append, **OPTIONS)
    assert len(seen) == sum(record["rounds"] for record in records)


def test_small_gains_are_sought_again_more_finely(monkeypatch):
    tolerances, plain = [], descents.restarted_nrbm

    def watched(risk, alpha, start, *, tol, **options):
        tolerances.append(tol)
        return plain(risk, alpha, start, tol=tol, **options)

    monkeypatch.setattr(descents, "restarted_nrbm", watched)
    risk = risk_of(*planted(n_bags=12))
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
    plain, calls = descents.restarted_nrbm, []

    def first_converges(risk, alpha, start, **options):
        calls.append(options["tol"])
        return replace(plain(risk, alpha, start, **options), converged=len(calls) == 1)

    monkeypatch.setattr(descents, "restarted_nrbm", first_converges)
    best, _ = run_starts(["instances"], risk_of(*planted(n_bags=12)), 1e4, **OPTIONS)
    assert len(calls) > 1
    assert best.converged


def test_bags_that_say_nothing_are_named():
    bags, y = planted(n_bags=12)
    same = Bags(np.zeros(bags.X.shape), bags.offsets)
    _, records = run_starts(["instances"], risk_of(same, y), 1.0, **OPTIONS)
    assert learned_nothing(records) == [None]
    _, others = run_starts(["instances"], risk_of(bags, y), 1.0, **OPTIONS)
    assert learned_nothing(others) == []
    labeled = [dict(records[0], **{"class": "a"}), dict(others[0], **{"class": "b"})]
    assert learned_nothing(labeled) == ["a"]
    assert learned_nothing([*labeled, dict(others[0], **{"class": "a"})]) == []
