"""Selection, tables and ranks against cases computed by hand, and against scipy."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from scipy.stats import friedmanchisquare

from bagwise.benchmark.cells import Cell
from bagwise.benchmark.protocol import Protocol, Split
from bagwise.benchmark.ranks import rank_methods
from bagwise.benchmark.runner import Plan
from bagwise.benchmark.selection import missing, numbers
from bagwise.benchmark.spec import DataEntry, ModelEntry, Spec
from bagwise.benchmark.tables import make_report
from bagwise.benchmark.writing import as_csv, as_html, as_latex, as_markdown, write_report

# accuracy of C = 1 and C = 2 on the two folds of two rounds, and on inner folds
OUTER = {1: [[0.9, 0.7], [0.8, 0.8]], 2: [[0.8, 0.9], [0.9, 0.8]]}
INNER = {1: [[0.6, 0.9], [0.5, 0.7]], 2: [[0.7, 0.8], [0.5, 0.6]]}
N_TEST = [10, 30]


def record(accuracy, inner, n_test):
    metrics = {"accuracy": accuracy, "auc": None, "fit_seconds": 1.0}
    return {"n_test": n_test, "metrics": metrics, "inner": {"accuracy": inner}}


def make_plan(folder, models=("MI-SVM",), data=("tiger",), published="", repeats=2):
    grid = {"C": [1, 2]}
    spec = Spec(
        name="t",
        title="Title",
        data=tuple(DataEntry(name) for name in data),
        models=tuple(ModelEntry(name, "MI-SVM", grid=grid) for name in models),
        protocol=Protocol("kfold", folds=2, repeats=repeats),
        metrics=("accuracy", "error"),
        published=published,
    )
    cells = [
        Cell(entry, model, point, Split(f"r{r}f{f}", r, "", (f,)), "sha", 2)
        for r in range(repeats)
        for entry in spec.data
        # names of rows are no part of a cell's id: parameters keep the models apart
        for model in (
            ModelEntry(m.name, m.method, {"degree": i}, m.grid) for i, m in enumerate(spec.models)
        )
        for f in range(2)
        for point in model.points(entry)
    ]
    return Plan(spec, folder, cells)


def write_results(plan, change=lambda cell, record: record):
    lines = []
    for cell in plan.cells:
        r, f, C = cell.split.repeat, int(cell.split.name[-1]), cell.point["C"]
        made = change(cell, record(OUTER[C][r][f], INNER[C][r][f], N_TEST[f]))
        if made is not None:
            lines.append(json.dumps({**cell.head, **made}))
    (plan.folder / "results.jsonl").write_text("\n".join(lines) + "\n")


def test_best_and_nested_by_hand(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    best, nested = numbers(plan, ["accuracy"])
    # C = 1: rounds .75 and .8; C = 2: rounds (.8 x 10 + .9 x 30) / 40 = .875 and .825
    assert (best.kind, best.points, best.rounds) == ("best", [{"C": 2}], 2)
    assert best.mean == pytest.approx(0.85)
    assert best.error == pytest.approx(np.std([0.875, 0.825], ddof=1) / np.sqrt(2))
    # inside: 2 (.7), 1 (.9), 1 (a tie goes to the first), 1 (.7)
    assert nested.points == [{"C": 2}, {"C": 1}]
    rounds = [(0.8 * 10 + 0.7 * 30) / 40, 0.8]
    assert nested.mean == pytest.approx(np.mean(rounds))
    assert nested.error == pytest.approx(np.std(rounds, ddof=1) / np.sqrt(2))


def test_an_error_is_one_minus_an_accuracy(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan)
    accuracy, error = (numbers(plan, [metric])[0] for metric in ("accuracy", "error"))
    assert error.mean == pytest.approx(1 - accuracy.mean)
    assert error.error == pytest.approx(accuracy.error)


def test_of_one_round_the_error_is_over_folds(tmp_path):
    plan = make_plan(tmp_path, repeats=1)
    write_results(plan)
    best = numbers(plan, ["accuracy"])[0]
    assert best.mean == pytest.approx(0.875)
    assert best.error == pytest.approx(np.std([0.8, 0.9], ddof=1) / np.sqrt(2))


def test_only_whole_rounds_count(tmp_path):
    plan = make_plan(tmp_path)
    late = plan.cells[-1].id
    write_results(plan, lambda cell, made: None if cell.id == late else made)
    assert {number.rounds for number in numbers(plan)} == {1}
    (left,) = missing(plan)
    assert (left.open, left.failed) == (1, 0)
    assert any("1 of 2 were finished" in note for note in make_report(plan).notes)
    assert any("1 cells have not run yet" in note for note in make_report(plan).notes)


def test_a_point_that_failed_is_out_and_said(tmp_path):
    plan = make_plan(tmp_path)
    bad = next(cell.id for cell in plan.cells if cell.point["C"] == 2)
    write_results(plan, lambda cell, made: {"error": "ValueError: no"} if cell.id == bad else made)
    best = numbers(plan, ["accuracy"])[0]
    assert best.points == [{"C": 1}]
    notes = " ".join(make_report(plan).notes)
    assert "MI-SVM on tiger: 1 cells failed (ValueError: no)" in notes


def test_the_last_record_of_a_cell_counts(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan, lambda cell, made: {"error": "ValueError: no"})
    failed = (tmp_path / "results.jsonl").read_text()
    write_results(plan)
    good = (tmp_path / "results.jsonl").read_text()
    (tmp_path / "results.jsonl").write_text(failed + good)
    assert missing(plan) == []
    assert numbers(plan, ["accuracy"])[0].mean == pytest.approx(0.85)


def test_without_inner_scores_there_is_no_nested_number(tmp_path):
    plan = make_plan(tmp_path)
    write_results(plan, lambda cell, made: {k: v for k, v in made.items() if k != "inner"})
    assert {number.kind for number in numbers(plan)} == {"best"}


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


@pytest.fixture
def report(tmp_path):
    """Three models on two data sets; the second is two points better everywhere."""
    plan = make_plan(
        tmp_path,
        ["AL-SVM T=0", "ALP-SVM", "a | b*"],
        ["tiger", "fox"],
        published="gehler2007-table2",
    )

    def change(cell, made):
        made["metrics"]["accuracy"] += {"ALP-SVM": 0.02, "a | b*": -0.01}.get(cell.model.name, 0.0)
        return made

    write_results(plan, change)
    return make_report(plan)


def test_published_numbers_stand_beside_ours(report):
    table = next(table for table in report.tables if table.metric == "error")
    lines = {(line.model, line.kind): line for line in table.lines}
    assert lines["ALP-SVM", "published"].entries[0].mean == 14.0
    assert lines["AL-SVM T=0", "published"].entries[1].mean == 36.5
    assert lines["ALP-SVM", "best"].entries[0].mean == pytest.approx(100 * (1 - 0.87))
    assert ("MICA", "best") not in lines
    assert lines["MICA", "published"].entries[0].mean == 18.0
    assert any("Gehler & Chapelle 2007, Table 2" in note for note in report.notes)


def test_the_best_of_each_kind_is_bold(report):
    for table in report.tables:
        for kind in ("best", "nested"):
            bold = {
                line.model
                for line in table.lines
                if line.kind == kind and all(entry.bold for entry in line.entries)
            }
            assert bold == {"ALP-SVM"}
    error = next(table for table in report.tables if table.metric == "error")
    tiger = {line.model: line.entries[0] for line in error.lines if line.kind == "published"}
    assert [model for model, entry in tiger.items() if entry.bold] == ["ALP-SVM"]


def test_average_ranks_by_hand(report):
    table = report.tables[0]
    ranks = {line.model: line.rank for line in table.lines if line.kind == "best"}
    assert ranks == {"ALP-SVM": 1.0, "AL-SVM T=0": 2.0, "a | b*": 3.0}


def test_markdown(report):
    text = as_markdown(report)
    assert "| AL-SVM T=0 | best grid point | 85.0 ± 2.5 | 85.0 ± 2.5 | 2.00 |" in text
    assert "|  | nested |" in text
    assert "| ALP-SVM | best grid point | **87.0** ± 2.5 |" in text
    assert "| a \\| b\\* |" in text
    assert "Friedman chi2 = 4.00, p = 0.135" in text


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
    assert (row["best"], row["rounds"], row["average_rank"]) == ("True", "2", "1.0")


def test_latex_and_html_escape(report):
    tex, page = as_latex(report), as_html(report)
    assert r"\textbf{87.0} $\pm$ 2.5" in tex
    assert r"accuracy \% (more is better)" in tex
    assert tex.count(r"\begin{tabular}") == tex.count(r"\end{tabular}") == 2
    assert "<b>87.0</b> ± 2.5" in page
    assert "Gehler &amp; Chapelle" in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_all_files_are_written(report, tmp_path):
    names = [path.name for path in write_report(report, tmp_path / "out")]
    assert names == [
        *("tables.md", "tables.csv", "tables.tex", "tables.html"),
        *("ranks-accuracy-nested.png", "ranks-error-nested.png"),
    ]
    assert (tmp_path / "out" / names[-1]).read_bytes().startswith(b"\x89PNG")
    assert "](ranks-error-nested.png)" in (tmp_path / "out" / "tables.md").read_text()


# Ranks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_friedman_is_that_of_scipy(seed):
    values = np.random.default_rng(seed).integers(0, 6, size=(7, 4)).astype(float)
    ranking = rank_methods(list("abcd"), values)
    expected = friedmanchisquare(*values.T)
    assert ranking.statistic == pytest.approx(expected.statistic)
    assert ranking.p_value == pytest.approx(expected.pvalue)
    assert sum(ranking.ranks) == pytest.approx(10)


def test_friedman_by_its_formula_without_ties():
    values = np.random.default_rng(1).random((6, 5))
    ranking = rank_methods(list("abcde"), values)
    squares = np.sum(np.square(ranking.ranks))
    assert ranking.statistic == pytest.approx(12 * 6 / 30 * (squares - 5 * 36 / 4))


def test_ties_share_their_ranks_and_less_can_be_better():
    values = [[1.0, 2.0, 2.0], [1.0, 2.0, 3.0]]
    assert dict(zip(*_ranks(values, 1), strict=True)) == {"a": 3.0, "b": 1.75, "c": 1.25}
    assert dict(zip(*_ranks(values, -1), strict=True)) == {"a": 1.0, "b": 2.25, "c": 2.75}


def _ranks(values, better):
    ranking = rank_methods(["a", "b", "c"], values, better=better)
    return ranking.names, ranking.ranks


@pytest.mark.parametrize(("k", "q"), [(3, 2.343), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_has_demsars_quantiles(k, q):
    values = np.random.default_rng(0).random((14, k))
    ranking = rank_methods([str(i) for i in range(k)], values)
    expected = q * np.sqrt(k * (k + 1) / (6 * 14))
    assert ranking.critical_difference == pytest.approx(expected, rel=1e-3)


def test_all_tied_is_no_difference():
    ranking = rank_methods(["a", "b", "c"], np.ones((4, 3)))
    assert (ranking.statistic, ranking.p_value, ranking.ranks) == (0.0, 1.0, (2.0, 2.0, 2.0))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1, 2, 3]], "two data sets or more"),
        ([[1, 2], [2, 3]], "one column for each of the 3"),
        ([[1, 2, np.nan], [1, 2, 3]], "must be finite"),
    ],
)
def test_ranks_of_bad_values_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        rank_methods(["a", "b", "c"], values)
