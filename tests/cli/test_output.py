"""Errors and warnings: one sentence each, in the words of the command line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bagwise.bench.demo import DigitTask
from command_line import call, done, refused


def stopped(monkeypatch, error):
    """Let the demo end in an error."""

    def stop(*_):
        raise error

    monkeypatch.setattr(DigitTask, "draw", stop)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("A [bold] name."), "Error: A [bold] name."),
        (IsADirectoryError(21, "Is a directory", "x.png"), "Is a directory: 'x.png'"),
        (OverflowError("int too large"), "A number is too large (int too large): scale the"),
        (MemoryError(), "Not enough memory: use fewer instances, or --param kernel=linear."),
        (ImportError("This format needs h5py: pip install x."), "needs h5py: pip install x."),
        (ModuleNotFoundError("No module", name="pyarrow"), "pip install pyarrow"),
    ],
)
def test_an_error_is_one_sentence_and_status_1(monkeypatch, error, message):
    stopped(monkeypatch, error)
    refused(1, message, "demo")
    assert call("--debug", "demo").exception is error


def test_memory_that_numpy_finds_too_small_is_one_sentence(monkeypatch):
    monkeypatch.setattr(DigitTask, "draw", lambda *_: np.empty((2**28, 2**30)))
    refused(1, "Not enough memory (Unable to allocate 2.00 EiB", "demo")


@pytest.mark.parametrize(
    "error", [ImportError("cannot import name", name="bagwise.bags"), TypeError("a bug")]
)
def test_a_bug_keeps_its_traceback(monkeypatch, error):
    stopped(monkeypatch, error)
    assert call("demo").exception is error


@pytest.mark.filterwarnings("always")
def test_a_warning_is_one_line_without_code(monkeypatch, cells, tmp_path):
    def warn(*_, **__):
        warnings.warn("The solver stopped [early].\n  Too bad.", stacklevel=1)

    monkeypatch.setattr("bagwise.io.write", warn)
    before = warnings.showwarning
    result = done("convert", cells, tmp_path / "out.csv")
    assert result.stderr.splitlines()[0] == "Warning: The solver stopped [early]. Too bad."
    assert "test_output.py" not in result.stderr
    assert warnings.showwarning is before


def test_a_long_table_is_cut_on_the_screen_only(folder, tmp_path):
    lines = ["slide,f0,f1", *(f"s{i},{i},0" for i in range(205))]
    (tmp_path / "many.csv").write_text("\n".join(lines))
    shown = done("predict", folder / "model.bagwise", tmp_path / "many.csv").stdout
    assert "5 more rows; --out writes all of them" in shown
    assert " s199 " in shown
    assert " s200 " not in shown


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ("taken.csv", "taken.csv is a folder"),
        ("no/x.csv", "there is no folder no: create it first"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    folder, tmp_path, monkeypatch, out, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.csv").mkdir()
    monkeypatch.setattr("bagwise.load", lambda *_: pytest.fail("it began to work"))
    refused(2, message, "predict", folder / "model.bagwise", folder / "new.csv", "-o", out)
