"""The syntax of text tables: header, delimiter, rows, numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from bagwise.io._tabletext import TableText, sniff

PATH = Path("a.csv")


@pytest.mark.parametrize(
    ("text", "names", "delimiter", "header_lines"),
    [
        ("bag,f\na,1\n", ["bag", "f"], ",", 1),
        ("bag\tf,g\th\n", ["bag", "f,g", "h"], "\t", 1),
        ("a;1;2\n", ["column 0", "column 1", "column 2"], ";", 0),
        ('bag,"two\nlines"\n', ["bag", "two\nlines"], ",", 2),
    ],
)
def test_header_and_delimiter_are_guessed(text, names, delimiter, header_lines, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    assert sniff(tmp_path / "a.csv") == TableText(names, delimiter, header_lines)


def test_header_and_delimiter_can_be_given(tmp_path):
    (tmp_path / "a.csv").write_text("1;2\n")
    assert sniff(tmp_path / "a.csv", header=True).names == ["1", "2"]
    assert sniff(tmp_path / "a.csv", delimiter=",").names == ["1;2"]
