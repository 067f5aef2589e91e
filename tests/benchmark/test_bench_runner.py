"""Runs: killed and resumed gives the same table, failures are recorded, nothing is run twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import numpy as np
import pytest
import yaml
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from bagwise import (
    AnnealedProportionSVC,
    InstanceSVC,
    KeyInstanceSVC,
    LabelSVC,
    OptimalMarginSVC,
    WitnessSVC,
)
from bagwise.benchmark.protocol import FoldsError
from bagwise.benchmark.results import ResultsError, ResultsFile, read_records
from bagwise.benchmark.runner import read_plan, run
from bagwise.benchmark.sharing import GramCache, can_share
from bagwise.benchmark.spec import parse_spec
from bagwise.benchmark.tables import make_report
from bagwise.benchmark.writing import as_csv, as_markdown
from bagwise.datasets import make_gaussian_bags
from bagwise.metrics import bag_report

SMALL = {
    "name": "small",
    "data": [
        {"name": "near", "source": "gaussian", "options": {"n_bags": 30, "shift": 1.5}},
        {"name": "far", "source": "gaussian", "options": {"n_bags": 30, "shift": 3.0}},
    ],
    "models": [
        {"method": "MI-SVM", "grid": {"C": [0.1, 10.0]}},
        {"method": "ALP-SVM", "grid": {"C": [1.0], "p_star": [0.2, 0.6]}},
        {"name": "SIL", "method": "InstanceSVC"},
    ],
    "protocol": {"kind": "kfold", "folds": 3, "repeats": 2, "inner": 2},
    "metrics": ["accuracy", "auc", "brier", "key_instance_rate"],
}


def small(**changes):
    return parse_spec({**SMALL, **changes})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a finished run of the small benchmark."""
    folder = tmp_path_factory.mktemp("whole")
    return run(small(), folder)


# Killed and resumed -------------------------------------------------------------------------------


def bench(spec_file, out):
    command = [sys.executable, "-m", "bagwise", "bench", str(spec_file), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def count_lines(path):
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def kill_after(process, results, n_lines):
    give_up = time.monotonic() + 240
    while count_lines(results) < n_lines:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < give_up
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_killed_and_resumed_gives_the_same_table(tmp_path, whole):
    spec_file, out = tmp_path / "small.yaml", tmp_path / "out"
    spec_file.write_text(yaml.safe_dump(SMALL))
    results = out / "results.jsonl"
    kill_after(bench(spec_file, out), results, 8)
    left = count_lines(results)
    total = len(whole[0].cells)
    assert 8 <= left < total, "the kill came too late to test anything"
    with open(results, "ab") as file:
        file.write(b'{"cell": "torn in the mid')
    resumed = bench(spec_file, out)
    assert resumed.wait(timeout=240) == 0, resumed.stderr.read()

    expected = make_report(whole[0])
    assert (out / "tables.csv").read_text() == as_csv(expected)
    assert as_markdown(make_report(read_plan(out))) == as_markdown(expected)
    cells = Counter(record["cell"] for record in read_records(results) if "cell" in record)
    assert len(cells) == total
    assert set(cells.values()) == {1}, "a finished cell ran twice"


def test_a_second_run_has_nothing_to_do(whole):
    plan, outcome = whole
    before = [record for record in read_records(plan.folder / "results.jsonl") if "cell" in record]
    again, second = run(small(), plan.folder)
    assert (second.ran, second.failed, outcome.ran) == (0, 0, outcome.total)
    after = [record for record in read_records(plan.folder / "results.jsonl") if "cell" in record]
    assert after == before
    assert as_csv(make_report(again)) == as_csv(make_report(plan))


def test_more_models_reuse_what_there_is(tmp_path):
    run(small(models=SMALL["models"][2:]), tmp_path)
    _, outcome = run(small(models=SMALL["models"][1:]), tmp_path)
    assert outcome.total - outcome.ran == 12  # SIL: two data sets, two rounds of three folds


def test_two_processes_give_the_same_table(tmp_path, whole):
    models = SMALL["models"][:1]
    plans = [run(small(models=models), tmp_path / str(jobs), jobs=jobs)[0] for jobs in (1, 2)]
    assert as_csv(make_report(plans[0])) == as_csv(make_report(plans[1]))


def test_a_local_dask_cluster_gives_the_same_table(tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed")
    models = SMALL["models"][2:]
    plans = [
        run(small(models=models), tmp_path / str(dask), dask=dask)[0] for dask in (None, "local")
    ]
    assert as_csv(make_report(plans[0])) == as_csv(make_report(plans[1]))


# What goes wrong ----------------------------------------------------------------------------------


def test_a_failing_cell_is_recorded_and_the_others_go_on(tmp_path):
    models = [{"method": "MI-SVM", "grid": {"C": [1.0, -1.0]}}, {"method": "InstanceSVC"}]
    plan, outcome = run(small(models=models), tmp_path)
    assert (outcome.total, outcome.failed) == (36, 12)
    errors = [r for r in plan.records().values() if "error" in r]
    assert all(r["point"] == {"C": -1.0} for r in errors)
    assert "The 'C' parameter of WitnessSVC must be a float in the range" in errors[0]["error"]
    report = make_report(plan)
    assert {line.model for line in report.tables[0].lines} == {"MI-SVM", "InstanceSVC"}
    assert any("MI-SVM on near: 6 cells failed" in note for note in report.notes)


def test_failed_cells_are_tried_again(tmp_path):
    models = [{"method": "MI-SVM", "grid": {"C": [-1.0]}}]
    assert run(small(models=models), tmp_path)[1].ran == 12
    _, again = run(small(models=models), tmp_path)
    assert (again.ran, again.failed) == (12, 12)


def test_a_graph_that_is_not_there_fails_with_its_name(tmp_path):
    models = [{"method": "GraphSVC", "params": {"bag_graph": {"graph": "links"}}}]
    plan, outcome = run(small(models=models), tmp_path)
    assert outcome.failed == outcome.total
    assert "no graph 'links'; there are: none" in next(iter(plan.records().values()))["error"]


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"cell": 1}\n{"cell\n{"cell": 2}\n')
    with pytest.raises(ResultsError, match=r"results.jsonl, line 2 is no JSON"):
        read_records(path)
    path.write_text("3\n")
    with pytest.raises(ResultsError, match="line 1 is no record"):
        read_records(path)


def test_a_torn_last_line_is_cut_off_before_the_next_record(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"cell": 1}\n{"cel')
    assert read_records(path) == [{"cell": 1}]
    with ResultsFile(path) as file:
        file.append({"cell": 2})
    assert path.read_text() == '{"cell": 1}\n{"cell": 2}\n'


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


# What is measured ---------------------------------------------------------------------------------


def test_a_cell_says_what_the_model_says(whole):
    plan = whole[0]
    cell = next(c for c in plan.cells if c.model.name == "MI-SVM" and c.data.name == "far")
    metrics = plan.records()[cell.id]["metrics"]
    bags, y = make_gaussian_bags(n_bags=30, shift=3.0)
    train, test = cell.split.train(30), list(cell.split.test)
    model = WitnessSVC(C=cell.point["C"]).fit(bags[train], y[train])
    for name, value in bag_report(model, bags[test], y[test]).items():
        assert metrics[name] == pytest.approx(value), name
    assert metrics["objective"] == pytest.approx(model.objective_[0])
    assert metrics["gap"] == pytest.approx(model.gap_[0], abs=1e-12)
    assert metrics["fit_seconds"] > 0


def test_calibration_is_what_the_estimator_does_itself(tmp_path):
    models = [{"name": "KI", "method": "Ins-KI-SVM", "params": {"cv": 3}}]
    protocol = {"kind": "half", "repeats": 1, "inner": 3}
    plan, _ = run(small(models=models, protocol=protocol), tmp_path)
    cell = plan.cells[0]
    metrics = plan.records()[cell.id]["metrics"]
    bags, y = make_gaussian_bags(n_bags=30, shift=1.5)
    train, test = cell.split.train(30), list(cell.split.test)
    model = KeyInstanceSVC("instances", cv=3, probability="sigmoid").fit(bags[train], y[train])
    assert metrics["accuracy"] == metrics["calibrated_accuracy"]
    assert metrics["accuracy"] == pytest.approx(model.score(bags[test], y[test]))
    chance = model.predict_proba(bags[test])[:, 1]
    assert metrics["brier"] == pytest.approx(np.mean((chance - y[test]) ** 2), abs=1e-6)


def test_leave_one_out_pools_its_scores(tmp_path):
    spec = small(
        data=[{"name": "d", "source": "gaussian", "options": {"n_bags": 16, "shift": 2.0}}],
        models=[{"method": "InstanceSVC", "params": {"kernel": "linear"}}],
        protocol={"kind": "leave_one_out", "inner": 0},
        metrics=["accuracy", "auc", "f1"],
    )
    report = make_report(run(spec, tmp_path)[0])
    values = {number.metric: number for number in report.numbers if number.kind == "best"}
    bags, y = make_gaussian_bags(n_bags=16, shift=2.0)
    model = InstanceSVC(kernel="linear")
    scores = cross_val_predict(model, bags, y, cv=LeaveOneOut(), method="decision_function")
    assert values["auc"].mean == pytest.approx(roc_auc_score(y, scores))
    assert values["f1"].mean == pytest.approx(f1_score(y, scores > 0))
    assert values["accuracy"].mean == pytest.approx(np.mean((scores > 0) == y))
    assert values["accuracy"].error is None


def test_without_inner_folds_nothing_is_called_nested_or_left_out_silently(tmp_path):
    spec = small(
        data=SMALL["data"][:1],
        models=SMALL["models"][2:],  # without a grid: the only point is no choice of inner folds
        protocol={"kind": "kfold", "folds": 2, "inner": 0},
        metrics=["accuracy", "calibrated_accuracy", "brier"],
    )
    report = make_report(run(spec, tmp_path)[0])
    assert {number.kind for number in report.numbers} == {"best"}
    text = as_markdown(report)
    assert "| nested |" not in text
    assert "Nested selection needs inner folds, and there are none." in text
    for metric in ("calibrated_accuracy: it needs two classes and", "brier: it needs"):
        assert f"No numbers for {metric} inner folds (protocol.inner)." in text


def test_drawn_data_differ_between_rounds(tmp_path):
    data = [{"name": "toy", "source": "toy2d", "options": {"fraction": 0.5}}]
    protocol = {"kind": "fresh", "train": 20, "test": 10, "repeats": 3, "inner": 0}
    spec = small(data=data, models=SMALL["models"][2:], protocol=protocol, metrics=["error"])
    plan, outcome = run(spec, tmp_path)
    assert outcome.failed == 0
    objectives = [record["metrics"]["objective"] for record in plan.records().values()]
    assert len(set(objectives)) == 3


def test_bags_drawn_with_a_wrong_option_are_named(tmp_path):
    data = [{"name": "toy", "source": "toy2d", "options": {"colour": 1}}]
    with pytest.raises(ValueError, match=r"options of data set 'toy' are wrong: .*colour"):
        run(small(data=data), tmp_path)


# Shared Gram matrices -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        AnnealedProportionSVC(0.3, C=5.0),
        LabelSVC(C=5.0, class_weight="balanced"),
        WitnessSVC(),
        OptimalMarginSVC(threshold=0.0),
        KeyInstanceSVC(threshold=0.0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_shared_fits_have_the_same_bits(model):
    bags, y = make_gaussian_bags(n_bags=20)
    cache = GramCache()
    assert can_share(model)
    for C in (1.0, 5.0):  # what ran before must leave no trace
        cache.fit(AnnealedProportionSVC(0.7, C=C), bags, y, ("d",))
    shared = type(model)(**model.get_params())
    assert cache.fit(shared, bags, y, ("d",)) > 0
    alone = model.fit(bags, y)
    assert np.array_equal(shared.decision_function(bags), alone.decision_function(bags))
    assert len(cache.kept) == (2 if model.class_weight else 1)


def test_benchmarks_in_one_process_share_no_matrix_of_other_splits(tmp_path):
    bags, y = make_gaussian_bags(n_bags=30, shift=1.5)
    for seed in (0, 1):
        protocol = {"kind": "kfold", "folds": 3, "inner": 2, "seed": seed}
        spec = small(data=SMALL["data"][:1], models=SMALL["models"][2:], protocol=protocol)
        plan, outcome = run(spec, tmp_path / str(seed))
        assert outcome.failed == 0
        for cell in plan.cells:
            train = cell.split.train(30)
            alone = InstanceSVC().fit(bags[train], y[train]).objective_.sum()
            assert plan.records()[cell.id]["metrics"]["objective"] == alone


def test_the_cache_forgets_the_oldest():
    bags, y = make_gaussian_bags(n_bags=20)
    cache = GramCache(most_bytes=3 * 8 * bags.n_instances**2)
    for key in "abcd":
        cache.fit(WitnessSVC(), bags, y, (key,))
    assert [key[0] for key in cache.kept] == ["b", "c", "d"]


def test_what_is_on_the_disk_is_json(whole):
    for line in (whole[0].folder / "results.jsonl").read_text().splitlines():
        assert json.loads(line)
