"""``bagwise bench`` and ``bagwise table``: what they print, write and refuse."""

from __future__ import annotations

import json

import pytest
import yaml

from command_line import call

TINY = {
    "name": "tiny",
    "data": [{"name": "toy", "source": "gaussian", "options": {"n_bags": 20, "shift": 3.0}}],
    "models": ["InstanceSVC"],
    "protocol": {"kind": "kfold", "folds": 2, "inner": 0},
    "metrics": ["accuracy"],
}


def write(path, content):
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done")
    result = call("bench", write(folder / "tiny.yaml", TINY), "--out", str(folder / "out"))
    assert result.exit_code == 0, result.output
    return folder / "out", result


def test_bench_prints_the_table_and_says_where_it_is(done):
    out, result = done
    assert "accuracy % (more is better)" in result.stdout
    assert "InstanceSVC" in result.stdout
    assert "2 of 2 cells ran now, 0 have failed" in result.stderr
    assert str(out / "tables.md") in result.stderr


def test_table_makes_the_same_table_again(done, tmp_path):
    out, _ = done
    result = call("table", str(out), "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "tables.md").read_text() == (out / "tables.md").read_text()


def test_table_of_another_metric_as_json(done):
    out, _ = done
    before = (out / "tables.md").read_text()
    result = call("table", str(out), "--metric", "f1", "--json", "--out", str(out / "other"))
    assert {number["metric"] for number in json.loads(result.stdout)["numbers"]} == {"f1"}
    assert (out / "tables.md").read_text() == before


def test_a_failed_cell_ends_in_status_one_after_the_tables(tmp_path):
    spec = {**TINY, "models": [{"method": "InstanceSVC", "params": {"C": -1.0}}, "MI-SVM"]}
    result = call("bench", write(tmp_path / "x.yaml", spec), "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "4 of 4 cells ran now, 2 have failed" in result.stderr
    assert "InstanceSVC on toy: 2 cells failed (InvalidParameterError" in result.stderr
    assert "MI-SVM" in (tmp_path / "out" / "tables.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["bench", "gehler2008", "--out", "x"], 1, "neither a file nor a preset"),
        (["bench", "gehler2007-table1"], 2, "--out"),
        (["bench", "gehler2007-table1", "--out", "x", "--jobs", "0"], 2, "at least 1"),
        (["bench", "gehler2007-table1", "--out", "x", "--jobs", "-2"], 2, "--jobs"),
        (["table", "no/such/folder"], 1, "holds no results"),
        (["table", ".", "--metric", "acuracy"], 2, "there is no metric 'acuracy'"),
    ],
)
def test_bad_input_is_named(arguments, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(*arguments)
    assert result.exit_code == status
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_named_before_anything_is_written(tmp_path):
    path = write(tmp_path / "x.yaml", {**TINY, "metrics": ["acuracy"]})
    result = call("bench", path, "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "metrics[0]: must be one of accuracy" in result.stderr
    assert not (tmp_path / "out").exists()


def test_dask_that_does_not_answer_is_named(tmp_path):
    pytest.importorskip("distributed", reason="dask is not installed")
    path = write(tmp_path / "x.yaml", TINY)
    result = call("bench", path, "--out", str(tmp_path / "out"), "--dask", "tcp://127.0.0.1:9")
    assert result.exit_code == 1
    assert "127.0.0.1:9" in result.stderr
