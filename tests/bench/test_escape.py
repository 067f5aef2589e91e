"""Names from files are printed as they are: no command, no formula, no new line."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from bagwise.bench.escape import for_latex, for_markdown, for_spreadsheet
from bagwise.bench.export import as_csv, as_latex, as_markdown

EVIL = "50 %\n\\input{/etc/passwd} | <script> [x](y) `z` _a_ a_b \x1b[2J ^^M $1$"


def test_latex():
    text = for_latex(EVIL)
    assert "\n" not in text
    assert "\x1b" not in text
    assert r"\input" not in text
    assert text.startswith(r"50 \% \textbackslash{}input\{/etc/passwd\}")
    assert r"\^{}\^{}M \$1\$" in text


def test_markdown():
    text = for_markdown(EVIL)
    assert text.startswith(r"50 % \\input{/etc/passwd} \| \<script\> \[x\](y) \`z\` \_a\_ a_b")
    assert "\n" not in text


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-cmd", "@sum", " =1", "\t=1", "-1-1", "+-1"])
def test_a_text_that_looks_like_a_formula_is_text(cell):
    assert for_spreadsheet(cell)[0] in ("'", "\\")


@pytest.mark.parametrize("cell", [-1.5, -3, None, True, "-1.5", "+1e3", "a=b", "", "-inf"])
def test_numbers_and_plain_texts_stay(cell):
    assert for_spreadsheet(cell) is cell or for_spreadsheet(cell) == cell


def test_no_name_of_a_report_is_live(report):
    table = report.tables[0]
    evil = replace(table.lines[0], model=f"={EVIL}")
    table = replace(table, lines=(evil, *table.lines[1:]), columns=(EVIL, *table.columns[1:]))
    changed = replace(report, title=EVIL, notes=(EVIL,), tables=(table,))
    for line in as_latex(changed).splitlines():
        assert r"\input" not in line or line.startswith("% ")
    markdown = as_markdown(changed).splitlines()
    assert not any(line.startswith("\\input") for line in markdown)
    assert not any("<script>" in line or "[x](" in line for line in markdown)
    rows = list(csv.DictReader(io.StringIO(as_csv(changed))))
    assert {row["model"][:2] for row in rows} >= {"'="}
    assert not any(row["model"].startswith("=") for row in rows)
