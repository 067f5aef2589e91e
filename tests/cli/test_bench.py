"""``bagwise bench`` and ``bagwise table``: what they print, write and refuse."""

import pytest
import yaml

import bagwise.bench.run as running
from bagwise.bench import spec
from command_line import call, done, printed, refused

TINY = {
    "name": "tiny",
    "data": [{"name": "toy", "source": "gaussian", "options": {"n_bags": 20, "shift": 3.0}}],
    "models": [{"method": "InstanceSVC"}],
    "protocol": {"kind": "kfold", "folds": 2, "inner": 0},
    "metrics": ["accuracy"],
}


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Return a function that makes TINY, with changes, the only preset."""

    def write(**changes):
        (tmp_path / "tiny.yaml").write_text(yaml.safe_dump({**TINY, **changes}))
        monkeypatch.setattr(spec, "_PRESETS", tmp_path)
        return "tiny"

    return write


@pytest.fixture
def finished(tmp_path, tiny):
    return tmp_path / "out", done("bench", tiny(), "--out", tmp_path / "out")


def test_bench_prints_the_table_and_says_where_it_is(finished):
    out, result = finished
    assert "accuracy % (higher is better)" in result.stdout
    assert "InstanceSVC" in result.stdout
    assert "2 of 2 cells ran now, 0 have failed" in result.stderr
    assert str(out / "tables.md") in result.stderr


def test_table_makes_the_same_table_again(finished, tmp_path):
    out, _ = finished
    done("table", out, "--out", tmp_path / "again")
    assert (tmp_path / "again" / "tables.md").read_text() == (out / "tables.md").read_text()


def test_table_of_another_metric_as_json(finished):
    out, _ = finished
    before = (out / "tables.md").read_text()
    record = printed("table", out, "--metric", "f1", "--out", out / "other")
    assert {number["metric"] for number in record["numbers"]} == {"f1"}
    assert (out / "tables.md").read_text() == before


def test_a_failed_cell_ends_in_status_one_after_the_tables(tmp_path, tiny):
    models = [{"method": "InstanceSVC", "params": {"C": -1.0}}, {"method": "MI-SVM"}]
    result = call("bench", tiny(models=models), "--out", str(tmp_path / "out"))
    assert result.exit_code == 1
    assert "4 of 4 cells ran now, 2 have failed" in result.stderr
    assert "InstanceSVC on toy: 2 cells failed (The 'C' parameter" in result.stdout
    assert "MI-SVM" in (tmp_path / "out" / "tables.md").read_text()


def test_ctrl_c_says_how_to_resume_and_the_same_command_does(tmp_path, tiny, monkeypatch):
    real, calls = running.judge, []

    def interrupt_the_second(data, cell, until):
        calls.append(cell)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(data, cell, until)

    monkeypatch.setattr(running, "judge", interrupt_the_second)
    words = ["bench", tiny(), "--out", tmp_path / "out"]
    said = f"The finished cells are in {tmp_path / 'out'}: give the same command again to resume."
    refused(130, said, *words)
    assert "1 of 2 cells ran now, 0 have failed" in done(*words).stderr
