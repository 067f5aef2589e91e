"""Runs: killed and resumed gives the same table, failures are recorded, nothing is run twice."""

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

from bagwise.bench.aggregate import numbers
from bagwise.bench.run import _write_spec, read_plan, run
from bagwise.bench.spec import load_spec, presets, read_spec
from bagwise.bench.splits import FoldsError
from bagwise.bench.tables import as_csv, as_markdown, make_report
from bagwise.io._records import ResultsError, read_records
from bench_cases import SMALL, small

KILLED = """
import os, pathlib, signal, sys
from bagwise.bench.run import run
from bench_cases import SMALL, small

def note(what, done, total):
    if done == 8:
        os.kill(os.getpid(), signal.SIGKILL)

run(small(data=SMALL["data"][:1]), pathlib.Path(sys.argv[1]), note=note)
"""


def test_killed_and_resumed_gives_the_same_table(tmp_path):
    spec, out = small(data=SMALL["data"][:1]), tmp_path / "out"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([sys.executable, "-c", KILLED, out], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    with open(out / "results.jsonl", "ab") as file:
        file.write(b'{"cell": "torn in the mid')
    (expected, whole), (_, resumed) = run(spec, tmp_path / "whole"), run(spec, out)
    assert resumed.ran == whole.total - 8
    assert as_csv(make_report(read_plan(out))) == as_csv(make_report(expected))
    assert as_markdown(make_report(read_plan(out))) == as_markdown(make_report(expected))
    records = read_records(out / "results.jsonl")
    cells = Counter(record["cell"] for record in records if "cell" in record)
    assert len(cells) == whole.total
    assert set(cells.values()) == {1}, "a finished cell ran twice"


def test_a_second_run_has_nothing_to_do(whole):
    plan, outcome = whole
    before = [record for record in read_records(plan.folder / "results.jsonl") if "cell" in record]
    again, second = run(small(), plan.folder)
    assert (second.ran, second.failed, outcome.ran) == (0, 0, outcome.total)
    after = [record for record in read_records(plan.folder / "results.jsonl") if "cell" in record]
    assert after == before
    assert as_csv(make_report(again)) == as_csv(make_report(plan))


def test_more_rounds_keep_the_first_ones(tmp_path):
    parts = {"data": SMALL["data"][:1], "models": SMALL["models"][:1]}
    rounds = [small(**parts, protocol={**SMALL["protocol"], "repeats": n}) for n in (1, 2)]
    ran = [run(spec, tmp_path)[1] for spec in rounds]
    assert [outcome.total for outcome in ran] == [ran[0].total, 2 * ran[0].total]
    assert [outcome.ran for outcome in ran] == [ran[0].total, ran[0].total]
    fewer = replace(rounds[1], models=(replace(rounds[1].models[0], rounds=1),))
    assert run(fewer, tmp_path)[1] == replace(ran[0], ran=0)


def test_rounds_without_inner_folds_count_for_the_best_point_alone(tmp_path):
    once = {**SMALL["models"][0], "nested": 1}
    spec = small(data=SMALL["data"][:1], models=[once])
    plan, outcome = run(spec, tmp_path)
    assert [cell.inner for cell in plan.cells] == [2] * 6 + [0] * 6
    found = {(n.metric, n.kind): n for n in numbers(plan, ["accuracy", "brier"])}
    assert {where: number.rounds for where, number in found.items()} == {
        ("accuracy", "best"): 2, ("accuracy", "nested"): 1,
        ("brier", "best"): 1, ("brier", "nested"): 1,
    }  # fmt: skip
    one_round, _ = run(replace(spec, protocol=replace(spec.protocol, repeats=1)), tmp_path)
    assert found["accuracy", "nested"] in numbers(one_round, ["accuracy"])
    assert "Some rounds have no inner folds" in as_markdown(make_report(plan))
    every = replace(spec, models=(replace(spec.models[0], nested=0),))
    assert run(every, tmp_path)[1] == replace(outcome, ran=6)


def test_more_models_reuse_what_there_is(tmp_path):
    data = SMALL["data"][:1]
    run(small(data=data, models=SMALL["models"][2:]), tmp_path)
    _, outcome = run(small(data=data, models=SMALL["models"][::2]), tmp_path)
    assert outcome.total - outcome.ran == 6  # SIL: two rounds of three folds


@pytest.mark.slow
def test_other_processes_give_the_same_table(tmp_path):
    spec = small(data=SMALL["data"][:1], models=SMALL["models"][2:])
    alone, elsewhere = run(spec, tmp_path / "a")[0], run(spec, tmp_path / "b", jobs=2)[0]
    assert as_csv(make_report(alone)) == as_csv(make_report(elsewhere))


def test_a_failing_cell_is_recorded_and_the_others_go_on(tmp_path):
    models = [{"method": "MI-SVM", "grid": {"C": [1.0, -1.0]}}, {"method": "InstanceSVC"}]
    plan, outcome = run(small(data=SMALL["data"][:1], models=models), tmp_path)
    assert (outcome.total, outcome.failed) == (18, 6)
    errors = [r for r in plan.records().values() if "failure" in r]
    assert all(r["point"] == {"C": -1.0} for r in errors)
    assert "The 'C' parameter of WitnessSVC must be a float in the range" in errors[0]["failure"]
    report = make_report(plan)
    assert {number.model for number in report.numbers} == {"MI-SVM", "InstanceSVC"}
    assert any("MI-SVM on near: 6 cells failed" in note for note in report.notes)


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ResultsError, match="holds no results"):
        read_plan(tmp_path)


def test_tables_need_no_data_but_the_splits(whole, tmp_path):
    plan = whole[0]
    for path in plan.folder.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(plan.folder)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    assert as_csv(make_report(read_plan(tmp_path))) == as_csv(make_report(plan))
    next((tmp_path / "folds").iterdir()).unlink()
    with pytest.raises(FoldsError, match="is missing"):
        read_plan(tmp_path)


def test_the_benchmark_is_stored_as_it_was_run(tmp_path):
    for name in presets():
        spec = load_spec(name)
        _write_spec(spec, tmp_path)
        assert read_spec(tmp_path / "spec.yaml") == spec
