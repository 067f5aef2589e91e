"""The command line: once as a process, then command by command, with bad input for each."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import bagwise
from bagwise import WitnessSVC
from bagwise.benchmark.demo import DigitTask, demo_models
from bagwise.cli import demo
from bagwise.datasets import catalogue
from bagwise.papers import METHODS
from command_line import WIDE, call, refused

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def quick(monkeypatch):
    """Let the demo train one linear model on few bags."""
    few = DigitTask.draw(n_bags=40)
    monkeypatch.setattr(demo, "demo_models", _one_model)
    monkeypatch.setattr(DigitTask, "draw", classmethod(lambda cls, seed: few))


def _one_model():
    return [WitnessSVC(kernel="linear")]


# The real entry point -----------------------------------------------------------------------------


def test_the_installed_command_runs_the_demo(tmp_path):
    command = shutil.which("bagwise", path=str(Path(sys.executable).parent))
    assert command, "the entry point is not installed beside this Python"
    out = tmp_path / "digits.png"
    run = subprocess.run(
        [command, "demo", "--out", str(out)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, **WIDE},
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    assert out.read_bytes().startswith(PNG)
    assert [path.name for path in tmp_path.iterdir()] == ["digits.png"]
    for column in ("accuracy", "AUC", "9 found", "seconds"):
        assert column in run.stdout
    rows = re.findall(r"([\d.]+)% │ ([\d.]+) │ +([\d.]+)% │ +([\d.]+) ", run.stdout)
    assert len(rows) == len(demo_models())
    accuracy, auc, found = ([float(row[i]) for row in rows] for i in range(3))
    assert max(accuracy) > 90
    assert min(auc) > 0.9
    assert min(found) > 90
    assert str(out) in run.stderr
    assert "Traceback" not in run.stderr


def test_the_package_is_runnable():
    run = subprocess.run(
        [sys.executable, "-m", "bagwise", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"bagwise {bagwise.__version__}\n"


# demo ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_demo_json_is_nothing_but_json(tmp_path):
    out = tmp_path / "figure.svg"
    result = call("demo", "--json", "--out", str(out), "--seed", "3")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["figure"] == str(out)
    assert (record["seed"], record["train_bags"], record["test_bags"]) == (3, 40, 40)
    assert [entry["model"] for entry in record["models"]] == ["WitnessSVC(kernel='linear')"]
    assert set(record["models"][0]) == {"model", "bag_accuracy", "bag_auc", "found", "seconds"}
    assert "<svg" in out.read_text()


@pytest.mark.usefixtures("quick")
def test_demo_saves_where_it_says_even_under_an_odd_name(tmp_path):
    out = tmp_path / "[bold]x.png"
    result = call("demo", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert out.read_bytes().startswith(PNG)
    assert str(out) in result.stderr


def test_the_seed_reaches_the_draw(monkeypatch, tmp_path):
    few, seeds = DigitTask.draw(n_bags=40), []
    draw = classmethod(lambda cls, seed: seeds.append(seed) or few)
    monkeypatch.setattr(DigitTask, "draw", draw)
    monkeypatch.setattr(demo, "demo_models", _one_model)
    assert call("demo", "--seed", "5", "--out", str(tmp_path / "x.png")).exit_code == 0
    assert seeds == [5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x.txt"], "x.txt must end in .png, .pdf, .svg"),
        (["--out", "no/such/folder/x.png"], "there is no folder no/such/folder"),
        (["--seed", "-1"], "--seed"),
        (["--seed", "many"], "--seed"),
        (["--frames"], "--frames"),
        (["digits"], "digits"),
    ],
)
def test_demo_refuses_bad_arguments_before_it_works(monkeypatch, arguments, message):
    monkeypatch.setattr(DigitTask, "draw", lambda *_: pytest.fail("it began to work"))
    result = call("demo", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("quick")
def test_a_file_that_cannot_be_written_is_one_sentence_and_status_1(tmp_path):
    folder = tmp_path / "taken.png"
    folder.mkdir()
    result = call("demo", "--out", str(folder))
    assert result.exit_code == 1
    assert "Error:" in result.stderr
    assert str(folder) in result.stderr
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.usefixtures("quick")
def test_debug_shows_where_an_error_came_from(tmp_path):
    folder = tmp_path / "taken.png"
    folder.mkdir()
    result = call("--debug", "demo", "--out", str(folder))
    assert isinstance(result.exception, IsADirectoryError)


def test_a_fault_of_ours_keeps_its_traceback(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(DigitTask, "draw", broken)
    assert isinstance(call("demo").exception, ZeroDivisionError)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (FloatingPointError("Left the range. Scale the features."), "Scale the features (--scale)"),
        (OverflowError("int too large"), "A number is too large (int too large): scale"),
        (MemoryError(), "The memory is too small: take fewer instances"),
        (MemoryError("It needs 9 GiB. Use kernel='linear'."), "Error: It needs 9 GiB. Use"),
        (ImportError("This format needs h5py: pip install x."), "needs h5py: pip install x."),
        (ModuleNotFoundError("No module", name="pyarrow"), "pip install pyarrow"),
    ],
)
def test_what_is_too_large_or_missing_is_one_sentence_and_status_1(monkeypatch, error, message):
    def stop(*_):
        raise error

    monkeypatch.setattr(DigitTask, "draw", stop)
    refused(1, message, "demo")
    assert call("--debug", "demo").exception is error


def test_a_memory_that_numpy_finds_too_small_is_one_sentence(monkeypatch):
    def enormous(*_):
        return np.empty((2**28, 2**30))

    monkeypatch.setattr(DigitTask, "draw", enormous)
    refused(1, "The memory is too small (Unable to allocate 2.00 EiB", "demo")


@pytest.mark.parametrize(
    "error", [ImportError("cannot import name", name="bagwise.bags"), TypeError("ours")]
)
def test_our_own_imports_and_types_keep_their_traceback(monkeypatch, error):
    def broken(*_):
        raise error

    monkeypatch.setattr(DigitTask, "draw", broken)
    assert call("demo").exception is error


# Warnings -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("always")
@pytest.mark.usefixtures("quick")
def test_a_warning_is_one_line_without_code(monkeypatch, tmp_path):
    def warn():
        warnings.warn("The solver stopped [early].\n  Scale the features.", stacklevel=1)
        return _one_model()

    monkeypatch.setattr(demo, "demo_models", warn)
    before = warnings.showwarning
    result = call("demo", "--out", str(tmp_path / "x.png"))
    expected = "warning: The solver stopped [early]. Scale the features (--scale)."
    assert result.stderr.splitlines()[0] == expected
    assert "test_cli.py" not in result.stderr
    assert warnings.showwarning is before


# datasets and models ------------------------------------------------------------------------------


def test_datasets_lists_every_set_with_its_counts(tmp_path):
    nothing = {"BAGWISE_DATA": str(tmp_path), "BAGWISE_CACHE": str(tmp_path)}
    result = call("datasets", **nothing)
    assert result.exit_code == 0
    for entry in catalogue():
        line = next(line for line in result.stdout.splitlines() if f"│ {entry.name} " in line)
        assert f" {entry.n_bags:,} " in line
        assert f" {entry.n_instances:,} " in line
        assert " no " in line
    assert f"0 of {len(catalogue())} data sets are here" in result.stderr


def test_datasets_finds_what_lies_in_the_data_folder(tmp_path):
    (tmp_path / "fox.csv.gz").write_bytes(b"")
    env = {"BAGWISE_DATA": str(tmp_path), "BAGWISE_CACHE": str(tmp_path / "cache")}
    listed = json.loads(call("datasets", "--json", **env).stdout)
    assert [entry["name"] for entry in listed if entry["present"]] == ["fox"]
    assert len(listed) == len(catalogue())
    assert next(entry for entry in listed if entry["name"] == "fox")["n_bags"] == 200


def test_models_lists_every_method_with_its_paper():
    result = call("models")
    assert result.exit_code == 0
    for method in METHODS:
        line = next(line for line in result.stdout.splitlines() if f"│ {method.name} " in line)
        for text in (method.code, method.purpose, method.paper.short):
            assert text in line


def test_models_as_json():
    listed = json.loads(call("models", "--json").stdout)
    assert [entry["name"] for entry in listed] == [method.name for method in METHODS]
    majority = next(entry for entry in listed if entry["name"] == "SVM-Majority")
    assert (majority["class"], majority["options"]) == ("InstanceSVC", {"vote": "majority"})


@pytest.mark.parametrize("command", ["datasets", "models"])
@pytest.mark.parametrize("argument", ["musk1", "--csv"])
def test_lists_refuse_what_they_do_not_know(command, argument):
    result = call(command, argument)
    assert result.exit_code == 2
    assert argument in result.stderr
    assert "Traceback" not in result.output


# The program itself -------------------------------------------------------------------------------


def test_version():
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"bagwise {bagwise.__version__}\n")


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_names_every_command(arguments):
    result = call(*arguments)
    assert result.exit_code == 0
    for command in ("demo", "datasets", "models"):
        assert re.search(rf"^│ {command} ", result.stdout, re.M)


def test_without_a_command_it_teaches():
    result = call()
    assert "bagwise demo" in result.output
    assert result.exit_code == 2


def test_an_unknown_command_is_named():
    result = call("frobnicate")
    assert result.exit_code == 2
    assert "frobnicate" in result.stderr


@pytest.mark.parametrize("command", ["demo", "datasets", "models"])
def test_help_of_a_command_shows_an_example(command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert "bagwise." in result.stdout or "bagwise demo --out" in result.stdout
    assert "--json" in result.stdout
