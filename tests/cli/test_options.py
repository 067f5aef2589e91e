"""What commands share: groups of options, reading of data, hints."""

import pytest
from typer.testing import CliRunner

from bagwise.cli import app
from command_line import WIDE, done, printed, refused

MODEL = ["-m", "MI-SVM", "-p", "kernel=linear", "--positive", "b"]


def test_columns_by_number_need_no_header(tmp_path):
    model = tmp_path / "m.bagwise"
    lines = ["0.5,x,a", "0.1,x,a", "3.0,y,b", "0.2,z,a", "3.5,w,b"]
    (tmp_path / "bare.csv").write_text("\n".join(lines))
    done("fit", tmp_path / "bare.csv", "--bag", "1", "--label", "2", "-o", model, *MODEL)
    assert printed("evaluate", model, tmp_path / "bare.csv")["n_bags"] == 4


@pytest.mark.parametrize(
    ("named", "guess"),
    [
        (["--bag", "0", "--label", "1"], None),
        (["--bag", "0"], "labels are in column 1. Name others with --label, counting"),
        ([], "bags are in column 0, labels are in column 1. Name others with --bag and --label,"),
    ],
)
def test_columns_that_are_guessed_are_told(tmp_path, named, guess):
    data, model = tmp_path / "bare.csv", tmp_path / "m.bagwise"
    data.write_text("\n".join(["x,a,0.5", "x,a,0.1", "y,b,3.0", "z,a,0.2"]))
    said = done("fit", data, *MODEL, "-o", model, *named).stderr
    assert ("has no header" in said) == (guess is not None)
    assert guess is None or guess in said
    told = done("predict", model, data).stderr
    assert ("bags are in column 0. Name others with --bag," in told) == ("--bag" not in named)


def test_the_shell_completes_models():
    words = {"COMP_WORDS": "bagwise fit --model MI-S", "COMP_CWORD": "3"}
    env = {**WIDE, "_BAGWISE_COMPLETE": "complete_bash", **words}
    assert "MI-SVM" in CliRunner().invoke(app, [], prog_name="bagwise", env=env).output


TABLE = "slide,dx,patient,site,note,f\n" + "".join(
    f"s{i},{'mut' if i % 2 else 'wt'},p{i // 2},{'ab'[i % 2]}{i % 3},n{i}{k},{i + k}\n"
    for i in range(12)
    for k in range(3)
)
HINTED = ["-m", "SIL", "--positive", "mut"]
ROLES = ["--bag", "slide", "--label", "dx"]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ([], "the columns may be --bag slide --label dx --groups patient."),
        (ROLES, "--drop patient, or name its role. Hint: from their values, the columns may be "),
        ([*ROLES, "--drop", "patient", "--drop", "site"], "leave the column out with --drop note,"),
        (["--bag", "slde", "--label", "dx"], "Did you mean 'slide'?"),
    ],
)
def test_hints(words, hint, tmp_path):
    (tmp_path / "t.csv").write_text(TABLE)
    refused(1, hint, "cv", tmp_path / "t.csv", *HINTED, *words)
