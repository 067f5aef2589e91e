"""Tables: published numbers beside ours, bold where best, ranks and notes."""

import pytest

from bagwise.bench.tables import long_form, make_report
from bench_cases import make_plan, write_results


def test_a_metric_nobody_has_gives_no_table_and_a_note(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    report = make_report(plan, ("auc", "brier"))
    assert report.tables == ()
    assert "No numbers for brier: it needs inner folds (protocol.inner)." in report.notes
    assert not any(note.startswith("No numbers") for note in make_report(plan).notes)


def test_before_a_round_is_whole_no_metric_is_called_impossible(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan, lambda cell, made: None if cell.split.name.endswith("f1") else made)
    notes = make_report(plan, ("accuracy", "brier")).notes
    assert any("cells have not run yet" in note for note in notes)
    assert not any(note.startswith("No numbers") for note in notes)


def test_published_numbers_stand_beside_ours(report):
    table = next(table for table in report.tables if table.metric == "error")
    lines = {(line.model, line.kind): line for line in table.lines}
    assert lines["ALP-SVM", "published"].numbers[0].mean == 14.0
    assert lines["AL-SVM T=0", "published"].numbers[1].mean == 36.5
    assert lines["ALP-SVM", "best"].numbers[0].mean == pytest.approx(100 * (1 - 0.87))
    assert ("MICA", "best") not in lines
    assert lines["MICA", "published"].numbers[0].mean == 18.0
    assert any("Gehler & Chapelle 2007, Table 2" in note for note in report.notes)


def test_the_best_of_each_kind_is_bold(report):
    for table in report.tables:
        for kind in ("best", "nested"):
            bold = {
                line.model
                for line in table.lines
                if line.kind == kind and all(number.best for number in line.numbers)
            }
            assert bold == {"ALP-SVM"}
    error = next(table for table in report.tables if table.metric == "error")
    tiger = {line.model: line.numbers[0] for line in error.lines if line.kind == "published"}
    assert [model for model, number in tiger.items() if number.best] == ["ALP-SVM"]


def test_average_ranks_by_hand(report):
    table = report.tables[0]
    ranks = {line.model: line.rank for line in table.lines if line.kind == "best"}
    assert ranks == {"ALP-SVM": 1.0, "AL-SVM T=0": 2.0, "a | b*": 3.0}


def test_the_long_form_has_one_record_per_number_shown(report):
    records = long_form(report)
    shown = sum(e is not None for t in report.tables for line in t.lines for e in line.numbers)
    assert len(records) == shown
    printed = [record for record in records if record["kind"] == "published"]
    assert all(record["rounds"] is record["points"] is None for record in printed)
