"""Tables as files: every form has the numbers, and escapes what it must."""

from __future__ import annotations

import csv
import io
import json

import pytest

from bagwise.bench.export import as_csv, as_html, as_latex, as_markdown, write_report


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
    assert r"accuracy \% (higher is better)" in tex
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
