"""Write docs/mistakes.md: natural mistakes at the command line, and what they print.

python docs/make_mistakes.py
"""

from __future__ import annotations

import os
import shlex
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parent / "mistakes.md"
HEAD = """\
# Mistakes, and what is printed

This page shows what natural mistakes print. Each was run (`python docs/make_mistakes.py`; a test
keeps the page true). Status 2 means that the command was wrong, 1 that the work could not be done,
0 that it was done, with a warning.

`cells.csv` has the columns `slide`, `dx` (`mut` or `wt`), `patient`, `note`, `f1`, `f2` and `area`;
one `area` is missing. `model.bagwise` was fitted to it. `DATA` stands for
`cells.csv --bag slide --label dx --groups patient --drop note --impute median`.
"""
COLUMNS = "--bag slide --label dx --groups patient --drop note --impute median"
DATA = f"cells.csv {COLUMNS}"
FIT = f"fit {DATA}"

# By what one wants to do: the mistake, and what is typed.
MISTAKES: dict[str, list[tuple[str, str]]] = {
    "Data": [
        ("the file is not there", "info cels.csv"),
        ("no file, but nearly the name of a data set", "info musk3"),
        ("a file of another program", "info photo.jpg"),
        ("an empty file", "info empty.csv"),
        (
            "the sites are not named",
            "audit cells.csv --bag slide --label dx --drop patient,note --impute median",
        ),
        ("labels that are no classes", "audit numbers.csv --task numbers"),
        ("an option that is for models", "convert cells.csv cells.bags --impute median"),
        ("a name is given to look up", "models MI-SVM"),
        ("a name is given to look up", "datasets musk1"),
        ("a format that is not known", "convert cells.csv cells.docx"),
        ("the output is the input", "convert numbers.csv numbers.csv"),
        ("the output exists", "convert cells.csv numbers.csv --bag slide"),
        ("an unknown format", "convert numbers.csv numbers.bags --format cvs"),
    ],
    "Learn and compare": [
        ("no model is named", "fit cells.csv"),
        ("the model is misspelled", f"{FIT} --model MISVM"),
        ("the bag column is not named", "fit cells.csv --model MI-SVM"),
        ("the bag column is misspelled", "fit cells.csv --bag slides --label dx --model MI-SVM"),
        ("the label column is not named", "fit cells.csv --bag slide --model MI-SVM"),
        ("a text column is taken as a feature", "fit cells.csv --bag slide --label dx -m MI-SVM"),
        (
            "a text column that is no role",
            "fit cells.csv --bag slide --label dx --groups patient --model MI-SVM",
        ),
        (
            "values are missing",
            "fit cells.csv --bag slide --label dx --groups patient --drop note --model MI-SVM",
        ),
        ("the positive label is not named", f"{FIT} --model MI-SVM"),
        ("the positive label is misspelled", f"{FIT} --positive Mut --model MI-SVM"),
        ("a pattern that matches nothing", "fit cells.csv --bag slide --features 'g*' -m MI-SVM"),
        ("a parameter is misspelled", f"{FIT} --positive mut --model MI-SVM --param kernal=linear"),
        ("a value that is not allowed", f"{FIT} --positive mut --model MI-SVM --param C=-1"),
        ("a list without a search", f"{FIT} --positive mut --model MI-SVM --param 'C=[1,10]'"),
        ("a parameter without a value", f"{FIT} --positive mut --model MI-SVM --param C"),
        ("a metric is misspelled", f"{FIT} --positive mut --model MI-SVM --cv --metric acuracy"),
        ("a scale is misspelled", f"{FIT} --positive mut --model MI-SVM --scale standrad"),
        ("the output folder is not there", f"{FIT} --positive mut -m MI-SVM -o out/m.bagwise"),
        ("more folds than groups", f"{FIT} --positive mut --model MI-SVM --cv --folds 50"),
        ("one label only", "fit one.csv --model MI-SVM"),
        ("rows of a bag are not consecutive", "fit mixed.csv --model MI-SVM"),
        ("two labels in one bag", "fit twolabels.csv --model MI-SVM"),
        ("decimal commas", "fit commas.csv --model MI-SVM"),
        (
            "features on very different scales are left as they are",
            f"{FIT} --positive mut --model MI-SVM --scale raw --out scales.bagwise",
        ),
        ("an option of another command", f"cv {DATA} --model MI-SVM --cv"),
        (
            "a choice that only fit and compare make",
            f"cv {DATA} -m SIL --scale search",
        ),
        ("one fold", f"cv {DATA} --positive mut --model MI-SVM --folds 1"),
        ("the positive label is not named", f"compare {DATA}"),
        ("a model is misspelled", f"compare {DATA} --models MI-SVM,MILEZ"),
        ("an option for files with a data set", "compare musk1 --bag molecule"),
    ],
    "Use a model": [
        ("model and data are exchanged", "predict cells.csv model.bagwise"),
        ("the model file is not there", "predict modle.bagwise cells.csv"),
        ("a feature is missing in the new table", "predict model.bagwise other.csv"),
        ("an output format that is not known", "predict model.bagwise cells.csv --out p.xls"),
        ("the new table has no labels", "evaluate model.bagwise unlabeled.csv"),
        ("the new table has another label", "evaluate model.bagwise relabeled.csv"),
        ("a bag that is not there", "explain model.bagwise cells.csv --only s99"),
        ("an output format that is not known", "report model.bagwise cells.csv --out report.docx"),
        ("bags without coordinates", "heatmap model.bagwise cells.csv --out maps"),
    ],
    "Other commands": [
        ("a preset is misspelled", "bench gehler2007-table9 --out results"),
        ("the results are not there", "table results"),
        ("a figure format that is not known", "demo --out demo.docx"),
        ("a command is misspelled", "comapre cells.csv"),
        ("an option is misspelled", "fit cells.csv --modle MI-SVM"),
    ],
}


def write_files() -> None:
    """Write the tables that the commands read, in the current folder."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(20):
        for k in range(4):
            shift = 2.0 * (i % 2) * (k == 0)  # no feature alone gives the label away
            f1, f2 = (f"{rng.normal() + shift:.3f}" for _ in range(2))
            area = "" if i == k == 3 else f"{1e5 * rng.normal():.0f}"
            name = "mut" if i % 2 else "wt"
            rows.append([f"s{i}", name, f"p{i // 2}", f"n{rng.integers(5)}", f1, f2, area])
    head = ["slide", "dx", "patient", "note", "f1", "f2", "area"]
    _write("cells.csv", head, rows)
    _write("other.csv", head[:-1], [row[:-1] for row in rows])
    _write("unlabeled.csv", [head[0], *head[4:]], [[row[0], *row[4:]] for row in rows])
    _write("relabeled.csv", head, [[row[0], "het", *row[2:]] for row in rows])
    _write("numbers.csv", ["bag", "label", "f"], [["a", "1", "2"], ["b", "0", "3"]])
    _write("one.csv", ["bag", "label", "f"], [["a", "1", "2"], ["b", "1", "3"]])
    mixed = [["a", "1", "2"], ["b", "0", "3"], ["a", "1", "4"]]
    _write("mixed.csv", ["bag", "label", "f"], mixed)
    _write("twolabels.csv", ["bag", "label", "f"], [["a", "1", "2"], ["a", "0", "3"]])
    Path("commas.csv").write_text("bag;label;f\na;1;2,5\nb;0;3,5\n")
    Path("empty.csv").write_text("")
    Path("photo.jpg").write_bytes(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")
    _run(f"{FIT} --positive mut --model MI-SVM --param kernel=linear --scale --out model.bagwise")


def _write(name: str, head: list[str], rows: list[list[str]]) -> None:
    Path(name).write_text("\n".join(",".join(row) for row in [head, *rows]) + "\n")


def _run(command: str) -> Any:
    from typer.testing import CliRunner

    from bagwise.cli import app

    env = {"COLUMNS": "1000", "NO_COLOR": "1"}
    return CliRunner().invoke(app, shlex.split(command), env=env, prog_name="bagwise")


def printed(text: str) -> str:
    """Return what is printed on the standard error, without the frames of usage errors."""
    lines = [line.strip("│╭╮╰╯─ ") for line in text.splitlines()]
    kept = [line for line in lines if line and not line.startswith(("Usage:", "Try '", "Error ─"))]
    return " ".join(" ".join(line for line in kept if line != "Error").split())


def page() -> str:
    """Run all mistakes in a folder of their own, and return the page."""
    parts = [HEAD]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        write_files()
        for title, mistakes in MISTAKES.items():
            parts.append(f"\n## {title}\n\n| mistake | status | what is printed |")
            parts.append("\n|---|---|---|\n")
            for mistake, typed in mistakes:
                parts.append(_row(mistake, typed))
    return "".join(parts)


def _row(mistake: str, typed: str) -> str:
    result = _run(typed)
    said = printed(result.stderr).replace(os.getcwd() + os.sep, "")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    said = said.replace("|", "\\|").replace("<", "&lt;")
    command = f"bagwise {typed.replace(DATA, 'DATA')}"
    return f"| {mistake}: `{command}` | {result.exit_code} | {said} |\n"


if __name__ == "__main__":
    PAGE.write_text(page())
