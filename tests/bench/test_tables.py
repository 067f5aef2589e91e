"""Tables: published numbers beside ours, bold where best, and notes."""

import pytest

from bagwise.bench.tables import make_report
from bench_cases import make_plan, write_results


def test_a_metric_nobody_has_gives_no_table_and_a_note(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    report = make_report(plan, ("auc", "brier"))
    assert report.numbers == ()
    assert "No numbers for brier: it needs inner folds (protocol.inner)." in report.notes
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
