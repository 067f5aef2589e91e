"""Tables: published numbers beside ours, bold where best, notes, and files nothing is live in."""

import csv
import io
import json

import pytest

from bagwise.bench.escape import for_markdown, for_spreadsheet
from bagwise.bench.tables import as_csv, as_markdown, make_report, write_report
from bench_cases import make_plan, write_results

EVIL = "50 %\n\\input{/etc/passwd} | <script> [x](y) `z` _a_ a_b \x1b[2J ^^M $1$"


def test_a_metric_nobody_has_gives_no_table_and_a_note(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    report = make_report(plan, ("auc", "brier"))
    assert report.numbers == ()
    assert "No numbers for brier: the fits of this benchmark have none." in report.notes
    assert not any(note.startswith("No numbers") for note in make_report(plan).notes)


def test_before_a_round_is_whole_no_metric_is_called_impossible(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan, lambda cell, made: None if cell.split.name.endswith("f1") else made)
    notes = make_report(plan, ("accuracy", "brier")).notes
    assert any("cells have not run yet" in note for note in notes)
    assert not any(note.startswith("No numbers") for note in notes)


def test_published_numbers_stand_beside_ours(report):
    found = {(n.model, n.kind, n.data): n for n in report.numbers if n.metric == "error"}
    assert found["ALP-SVM", "published", "tiger"].value == 14.0
    assert found["AL-SVM T=0", "published", "fox"].value == 36.5
    assert found["ALP-SVM", "best", "tiger"].value == pytest.approx(100 * (1 - 0.87))
    assert ("MICA", "best", "tiger") not in found
    assert found["MICA", "published", "tiger"].value == 18.0
    printed = [number for number in found.values() if number.kind == "published"]
    assert all(number.rounds is number.points is None for number in printed)
    assert any("Gehler & Chapelle 2007, Table 2" in note for note in report.notes)


def test_the_best_of_each_kind_is_bold(report):
    best = [number for number in report.numbers if number.best and number.data == "tiger"]
    kinds = ["best", "nested"]
    assert [(n.metric, n.kind, n.model) for n in best] == [
        *(("accuracy", kind, "ALP-SVM") for kind in kinds),
        *(("error", kind, "ALP-SVM") for kind in [*kinds, "published"]),
    ]


def test_markdown(report):
    text = as_markdown(report)
    assert "| AL-SVM T=0 | best grid point | 85.0 ± 2.5 | 85.0 ± 2.5 |" in text
    assert "|  | nested |" in text
    assert "| ALP-SVM | best grid point | **87.0** ± 2.5 |" in text
    assert "| a \\| b\\* |" in text


def test_csv_has_every_number(report):
    rows = list(csv.DictReader(io.StringIO(as_csv(report))))
    row = next(
        row
        for row in rows
        if (row["metric"], row["data"], row["model"], row["kind"])
        == ("accuracy", "fox", "ALP-SVM", "best")
    )
    assert float(row["value"]) == pytest.approx(87.0)
    assert json.loads(row["points"]) == [{"C": 2}]
    assert (row["best"], row["rounds"]) == ("True", "2")


def test_all_files_are_written(report, tmp_path):
    paths = write_report(report, tmp_path / "out")
    assert [path.name for path in paths] == ["tables.md", "tables.csv"]
    assert [path.read_text() for path in paths] == [as_markdown(report), as_csv(report)]


def test_names_in_markdown():
    text = for_markdown(EVIL)
    assert text.startswith(r"50 % \\input{/etc/passwd} \| \<script\> \[x\](y) \`z\` \_a\_ a_b")
    assert "\n" not in text


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd", "@sum", " =1", "\t=1", "-1-1", "+-1"])
def test_a_text_that_looks_like_a_formula_is_text(cell):
    assert for_spreadsheet(cell)[0] in ("'", "\\")


@pytest.mark.parametrize("cell", [-1.5, -3, None, True, "-1.5", "+1e3", "a=b", "", "-inf"])
def test_numbers_and_plain_texts_stay(cell):
    assert for_spreadsheet(cell) is cell or for_spreadsheet(cell) == cell
