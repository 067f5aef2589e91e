"""The program itself: its entry points, its version and its help."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import bagwise
from bagwise.cli import COMMANDS as MODULES, app, summarize
from command_line import COLUMNS, WIDE, call, done, rows_of

COMMANDS = [info.name for info in app.registered_commands]


@pytest.fixture(scope="module")
def command():
    """Return the installed command."""
    command = shutil.which("bagwise", path=str(Path(sys.executable).parent))
    assert command, "the entry point is not installed beside this Python"
    return command


def run(*words, folder):
    env = {**os.environ, **WIDE}
    words = [str(word) for word in words]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder, env=env, timeout=300)


def test_the_installed_command_fits_and_predicts(command, folder, tmp_path):
    data = folder / "train.csv"
    model = ["--model", "MI-SVM", "--param", "kernel=linear", "--out", "m.bagwise"]
    fitted = run(command, "fit", data, *COLUMNS, "--positive", "tumor", *model, folder=tmp_path)
    assert fitted.returncode == 0, fitted.stderr
    assert "proven gap" in fitted.stdout
    package = [sys.executable, "-m", "bagwise"]
    predicted = run(*package, "predict", "m.bagwise", data, "--out", "out.csv", folder=tmp_path)
    assert predicted.returncode == 0, predicted.stderr
    assert predicted.stdout == ""
    assert predicted.stderr == "Scores above 0 speak for tumor.\n30 rows written: out.csv\n"
    assert [row["bag"] for row in rows_of(tmp_path / "out.csv")] == [f"s{i}" for i in range(30)]


def test_a_reader_may_close_the_pipe(command, folder):
    words = "predict model.bagwise new.csv --instances --json"
    ended = run("sh", "-c", f"{command} {words} | head -1", folder=folder)
    assert ended.stdout == "[\n"
    assert ended.stderr.startswith("Scores above 0 speak for tumor.\n")
    assert "Error" not in ended.stderr


def test_the_version_is_shown():
    assert done("--version").stdout == f"bagwise {bagwise.__version__}\n"


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_names_every_command(flag):
    shown = done(flag).stdout
    for command in COMMANDS:
        assert re.search(rf"^│ {command} ", shown, re.M)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_an_example(command):
    shown = done(command, "--help").stdout.replace(f"Usage: bagwise {command}", "")
    assert f"bagwise {command} " in shown or "In Python: bagwise." in shown or "fetch(" in shown
    assert "--json" in shown


HEAVY = ("matplotlib", "numba", "pandas", "scipy", "sklearn")
LISTED = """
import sys
from bagwise.cli import app
try:
    app(sys.argv[1:])
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("words", "needed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["fit", "--help"], {"scipy"}),
        (["demo", "--help"], {"scipy"}),
    ],
)
def test_help_imports_no_heavy_library(words, needed, tmp_path):
    imported = set(run(sys.executable, "-c", LISTED, *words, folder=tmp_path).stderr.split())
    assert imported & set(HEAVY) == needed


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_is_the_first_paragraph_of_the_help(name):
    function = getattr(import_module(f"bagwise.cli.{MODULES[name]}"), name)
    assert summarize(name) == inspect.getdoc(function).split("\n\n")[0]


def test_without_a_command_it_teaches():
    result = call()
    assert "bagwise demo" in result.output
    assert result.exit_code == 2
