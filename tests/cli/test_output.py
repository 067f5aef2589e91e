"""Errors and warnings: one sentence each, in the words of the command line."""

import errno
import shutil
import time
import warnings
from contextlib import nullcontext
from unittest.mock import MagicMock

import pytest

from bagwise import AutoBagClassifier, CitationKNN, WitnessSVC
from bagwise.bench.demo import DigitTask
from bagwise.cli import output
from bagwise.cli.fit import show_iterations
from bagwise.datasets import make_gaussian_bags
from command_line import COLUMNS, call, done, refused
from faults import after_every_fault


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
        (MemoryError("2 EiB."), "Not enough memory (2 EiB): use fewer instances"),
        (ImportError("This format needs h5py: pip install x."), "needs h5py: pip install x."),
        (ModuleNotFoundError("No module", name="pyarrow"), "pip install pyarrow"),
    ],
)
def test_an_error_is_one_sentence_and_status_1(monkeypatch, error, message):
    stopped(monkeypatch, error)
    refused(1, message, "demo")
    assert call("--debug", "demo").exception is error


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


def test_a_number_that_is_not_known_is_an_empty_cell(tmp_path):
    output.deliver({"bag": ["a", "b"], "score": [1.5, float("nan")]}, tmp_path / "o.csv", False)
    assert (tmp_path / "o.csv").read_text() == "bag,score\na,1.5\nb,\n"


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


# Faults ------------------------------------------------------------------------------------------


def test_a_fault_leaves_the_old_output_or_the_new_one(folder, tmp_path):
    place = tmp_path / "place"
    out = place / "o.csv"
    words = ["predict", folder / "model.bagwise", folder / "new.csv", "-o", out, "--force"]
    place.mkdir()
    done(*words)
    found = {"old", out.read_text()}
    shutil.rmtree(place)
    place.mkdir()
    faults = ("kill", errno.ENOSPC)
    for at, fault, result in after_every_fault(
        place, lambda: out.write_text("old"), lambda: call(*words), faults
    ):
        assert out.read_text() in found, (at, fault)
        if fault != "kill":
            assert result.exit_code == 1, (at, result.output)
            assert "Error: [Errno 28] No space left on device" in result.stderr
            assert str(place) in result.stderr


# Progress of a fit -------------------------------------------------------------------------------


def test_a_fit_tells_its_iterations_objective_and_gap(monkeypatch):
    bar = MagicMock()
    monkeypatch.setattr(output, "progress", lambda: nullcontext(bar))
    bags, y = make_gaussian_bags(20, 3, shift=3.0)
    model = WitnessSVC(kernel="linear", probability="sigmoid")
    with show_iterations(model):
        model.fit(bags, y)
    said = [call.kwargs["description"] for call in bar.update.call_args_list]
    assert len(said) >= model.n_iter_
    assert all("fitting, objective" in text and "gap" in text for text in said)
    assert model.callback is None
    bar.reset_mock()
    model = AutoBagClassifier(models=["SimpleMI"], cv=2)
    with show_iterations(model):
        model.fit(bags, y)
    said = [call.kwargs["description"] for call in bar.update.call_args_list]
    assert said == ["fitting SimpleMI"] * 2


@pytest.mark.parametrize("model", [CitationKNN(), WitnessSVC(n_jobs=2)], ids=str)
def test_models_without_iterations_or_with_workers_have_a_clock(monkeypatch, model):
    clock = MagicMock()
    monkeypatch.setattr(output, "progress", lambda: nullcontext(clock))
    with show_iterations(model):
        assert model.get_params().get("callback") is None
    clock.add_task.assert_called_once_with("fitting", total=None)


def test_texts_are_on_one_line_and_items_of_lists_on_their_own():
    assert output.reword("wide\n   and  wide:\nthen\n- one\n- two  words") == (
        "wide and wide: then\n- one\n- two words"
    )


# What exists -------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["predict", "explain", "fit", "convert"])
def test_an_output_that_is_an_input_is_refused(verb, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data, link = tmp_path / "d.csv", tmp_path / "link.csv"
    shutil.copy(folder / "train.csv", data)
    link.symlink_to(data)
    words = {"fit": [data, *COLUMNS, "-m", "MI-SVM"], "convert": [data, *COLUMNS]}
    words = words.get(verb, [folder / "model.bagwise", data])
    for out in ("d.csv", link):
        named = [out] if verb == "convert" else ["--out", out]
        refused(2, f"{out} is also read", verb, *words, *named, "--force")
    assert data.read_bytes() == (folder / "train.csv").read_bytes()


def test_the_csv_of_a_folder_that_is_read_is_no_output(folder, tmp_path):
    (tmp_path / "slides.csv").write_text("slide_id,label\n")
    words = ["predict", folder / "model.bagwise", tmp_path, "--out", tmp_path / "slides.csv"]
    refused(2, "slides.csv is also read", *words, "--force")


def test_files_are_replaced_with_force_only(folder, tmp_path):
    out = tmp_path / "p.csv"
    words = ["predict", folder / "model.bagwise", folder / "new.csv", "--out", out]
    done(*words)
    out.write_text("precious")
    refused(2, "p.csv exists already; --force replaces it", *words)
    assert out.read_text() == "precious"
    done(*words, "--force")
    assert out.read_text() != "precious"


def test_the_default_output_is_a_free_name(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["fit", folder / "train.csv", *COLUMNS, "--positive", "tumor", "-m", "MI-SVM"]
    for name in ("model.bagwise", "model-2.bagwise", "model-3.bagwise"):
        assert f"Written: {name}" in done(*words).stderr
    refused(2, "model.bagwise exists already", *words, "--out", "model.bagwise")
    assert len(list(tmp_path.iterdir())) == 3


# Ctrl-C ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "where", "message"),
    [
        (["fit", "-m", "MI-SVM"], "bagwise.WitnessSVC.fit", "Interrupted. model.bagwise was not"),
        (["cv", "-m", "MI-SVM"], "bagwise.model_selection.cross_validate_bags", "No results are"),
        (["predict"], "bagwise.load", "Interrupted."),
    ],
)
def test_ctrl_c_says_what_is_left_and_ends_with_130(
    words, where, message, folder, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, stop)
    verb, *rest = words
    data = [folder / "train.csv", *COLUMNS, "--positive", "tumor"]
    if verb == "predict":
        data = [folder / "model.bagwise", folder / "new.csv"]
    refused(130, message, verb, *data, *rest)
    assert list(tmp_path.iterdir()) == []


def test_long_work_prints_lines_where_no_terminal_watches(monkeypatch, capsys):
    monkeypatch.setattr(output, "SILENCE", 0.01)
    with output.progress() as bar:
        task = bar.add_task("folds", total=4)
        bar.advance(task, 3)
        time.sleep(0.2)
    assert "folds 3 of 4, 0 s so far" in capsys.readouterr().err
