"""``bagwise bench`` and ``bagwise table``: what they print, write and refuse."""

import pytest
import yaml

import bagwise.bench.run as running
from bench_cases import make_plan, write_results
from command_line import call, done, printed, refused

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
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done")
    result = done("bench", write(folder / "tiny.yaml", TINY), "--out", folder / "out")
    return folder / "out", result


def test_bench_prints_the_table_and_says_where_it_is(finished):
    out, result = finished
    assert "accuracy % (higher is better)" in result.stdout
    assert "InstanceSVC" in result.stdout
    assert "2 of 2 cells ran now, 0 have failed" in result.stderr
    assert str(out / "tables.md") in result.stderr


def test_table_makes_the_same_table_again(finished, tmp_path):
    out, _ = finished
    done("table", out, "--out", tmp_path)
    assert (tmp_path / "tables.md").read_text() == (out / "tables.md").read_text()


def test_table_of_another_metric_as_json(finished):
    out, _ = finished
    before = (out / "tables.md").read_text()
    record = printed("table", out, "--metric", "f1", "--out", out / "other")
    assert {number["metric"] for number in record["numbers"]} == {"f1"}
    assert (out / "tables.md").read_text() == before


def test_a_failed_cell_ends_in_status_one_after_the_tables(tmp_path):
    spec = {**TINY, "models": [{"method": "InstanceSVC", "params": {"C": -1.0}}, "MI-SVM"]}
    result = call("bench", write(tmp_path / "x.yaml", spec), "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "4 of 4 cells ran now, 2 have failed" in result.stderr
    assert "InstanceSVC on toy: 2 cells failed (The 'C' parameter" in result.stderr
    assert "MI-SVM" in (tmp_path / "out" / "tables.md").read_text()


@pytest.mark.parametrize(
    ("status", "message", "arguments"),
    [
        (2, "there is no file or preset 'gehler2008'.", ["bench", "gehler2008", "--out", "x"]),
        (2, "Did you mean 'avolio2021'?", ["bench", "avolio2012", "--out", "x"]),
        (1, "my.yaml is neither a file nor a preset", ["bench", "my.yaml", "--out", "x"]),
        (2, "--out", ["bench", "avolio2021"]),
        (2, "at least 1", ["bench", "avolio2021", "--out", "x", "--jobs", "0"]),
        (2, "--jobs", ["bench", "avolio2021", "--out", "x", "--jobs", "-2"]),
        (2, "bench --dask was removed in version 0.3. Use --jobs", ["bench", "x", "--dask=local"]),
        (1, "holds no results", ["table", "no/such/folder"]),
        (2, "no metric 'acuracy'. Did you mean 'accuracy'?", ["table", ".", "--metric", "acuracy"]),
    ],
)
def test_bad_arguments_are_named(arguments, status, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(status, message, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_bad_file_is_named_before_anything_is_written(tmp_path):
    path = write(tmp_path / "x.yaml", {**TINY, "metrics": ["acuracy"]})
    refused(1, "metrics[0]: must be one of accuracy", "bench", path, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_ctrl_c_says_how_to_resume_and_the_same_command_does(tmp_path, monkeypatch):
    real, calls = running.judge, []

    def interrupt_the_second(data, cell, until):
        calls.append(cell)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(data, cell, until)

    monkeypatch.setattr(running, "judge", interrupt_the_second)
    words = ["bench", write(tmp_path / "tiny.yaml", TINY), "--out", tmp_path / "out"]
    said = f"The finished cells are in {tmp_path / 'out'}: give the same command again to resume."
    refused(130, said, *words)
    assert "1 of 2 cells ran now, 0 have failed" in done(*words).stderr


@pytest.mark.parametrize("width", [60, 80, 300])
def test_tables_fit_any_width(width, tmp_path, monkeypatch):
    data = [f"data{i}" for i in range(9)]
    plan = make_plan(tmp_path, data=tuple(data))
    write_results(plan)
    monkeypatch.setattr(running, "read_plan", lambda _: plan)
    text = done("table", tmp_path, COLUMNS=str(width)).stdout
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert "selection" in text
    assert all(name in text for name in data)  # no name is broken over two lines
    assert "…" not in text  # and none is cut
    assert text.count("± 2.5") == 2 * len(data)
    assert ("continued" in text) == (width < 100)
