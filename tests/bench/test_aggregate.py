"""The numbers of a table against cases computed by hand."""

import numpy as np
import pytest

from bagwise.bench.aggregate import find_missing, numbers
from bagwise.bench.tables import make_report
from bench_cases import make_plan, write_results


def test_best_and_nested_by_hand(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    best, nested = numbers(plan, ["accuracy"])
    # C = 1: rounds .75 and .8; C = 2: rounds (.8 x 10 + .9 x 30) / 40 = .875 and .825
    assert (best.kind, best.points, best.rounds) == ("best", [{"C": 2}], 2)
    assert best.value == pytest.approx(85)
    assert best.error == pytest.approx(np.std([87.5, 82.5], ddof=1) / np.sqrt(2))
    # inside: 2 (.7), 1 (.9), 1 (a tie goes to the first), 1 (.7)
    assert nested.points == [{"C": 2}, {"C": 1}]
    rounds = [(80 * 10 + 70 * 30) / 40, 80]
    assert nested.value == pytest.approx(np.mean(rounds))
    assert nested.error == pytest.approx(np.std(rounds, ddof=1) / np.sqrt(2))


def test_rounding_in_packed_records_decides_no_tie(tmp_path):
    plan = make_plan(tmp_path, ["first", "second"])

    def round_differently(cell, made):
        noise = 1e-10 * (cell.point["C"] - 1) + 1e-10 * (cell.model.name == "second")
        return {**made, "metrics": {"accuracy": 0.8 + noise}}

    write_results(plan, round_differently)
    found = [number for number in make_report(plan).numbers if number.kind == "best"]
    assert all(number.points == [{"C": 1}] for number in found)
    assert all(number.best for number in found)


def test_an_error_is_one_minus_an_accuracy(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    accuracy, error = (numbers(plan, [metric])[0] for metric in ("accuracy", "error"))
    assert error.value == pytest.approx(100 - accuracy.value)
    assert error.error == pytest.approx(accuracy.error)


def test_of_one_round_the_error_is_over_folds(tmp_path):
    plan = make_plan(tmp_path, repeats=1)
    write_results(plan)
    best = numbers(plan, ["accuracy"])[0]
    assert best.value == pytest.approx(87.5)
    assert best.error == pytest.approx(np.std([80, 90], ddof=1) / np.sqrt(2))


def test_only_whole_rounds_count(tmp_path):
    plan = make_plan(tmp_path)
    late = plan.cells[-1].id
    write_results(plan, lambda cell, made: None if cell.id == late else made)
    assert {number.rounds for number in numbers(plan, ["accuracy"])} == {1}
    assert find_missing(plan) == ["Not finished: 1 cells have not run yet."]
    assert any("1 of 2 finished" in note for note in make_report(plan).notes)
    assert find_missing(plan)[0] in make_report(plan).notes


def test_a_point_that_failed_is_out_and_said(tmp_path):
    plan = make_plan(tmp_path)
    bad = next(cell.id for cell in plan.cells if cell.point["C"] == 2)
    write_results(plan, lambda cell, made: {"error": "ValueError: no"} if cell.id == bad else made)
    best = numbers(plan, ["accuracy"])[0]
    assert best.points == [{"C": 1}]
    notes = " ".join(make_report(plan).notes)
    assert "MI-SVM on tiger: 1 cells failed (ValueError: no)" in notes


def test_the_last_record_of_a_cell_counts(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan, lambda cell, made: {"error": "ValueError: no"})
    failed = (tmp_path / "results.jsonl").read_text()
    write_results(plan)
    good = (tmp_path / "results.jsonl").read_text()
    (tmp_path / "results.jsonl").write_text(failed + good)
    assert find_missing(plan) == []
    assert numbers(plan, ["accuracy"])[0].value == pytest.approx(85)


def test_without_inner_scores_there_is_no_nested_number(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan, lambda cell, made: {k: v for k, v in made.items() if k != "inner"})
    assert {number.kind for number in numbers(plan, ["accuracy"])} == {"best"}
