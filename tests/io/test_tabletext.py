"""The syntax of text tables: header, delimiter, rows, numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bagwise.io import FormatError, MixedTypeError, TruncatedFileError
from bagwise.io._assemble import Layout
from bagwise.io._tabletext import TableText, blocks, check_width, parse_numbers, sniff

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


def test_rows_know_their_lines(tmp_path):
    lines = ["bag,f", "", '"a', 'b",1', "", "c,2"]
    text = TableText(["bag", "f"], ",", 1)
    rows = list(text.rows(PATH, [line + "\n" for line in lines]))
    assert rows == [(4, ["a\nb", "1"]), (6, ["c", "2"])]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    assert [text.line_of_row(tmp_path / "a.csv", row) for row in (0, 1)] == [4, 6]


def test_a_short_last_row_means_a_truncated_file():
    check_width(PATH, 3, ["a", "b"], 2, iter(()))
    with pytest.raises(TruncatedFileError, match=r"line 3: 1 fields, expected 2 .* ends in the"):
        check_width(PATH, 3, ["a"], 2, iter(()))
    with pytest.raises(FormatError, match="line 3: 1 fields, expected 2 as in the first row"):
        check_width(PATH, 3, ["a"], 2, iter(["more"]))
    with pytest.raises(FormatError, match="3 fields, expected 2"):
        check_width(PATH, 3, ["a", "b", "c"], 2, iter(()))


def test_sequences_are_cut_into_blocks():
    assert list(blocks(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(blocks([], 2)) == []


@pytest.mark.parametrize("features", [[1, 2], [2, 0]])
def test_numbers_and_gaps(features):
    layout = Layout({}, features, None, [], ["f", "g", "h"])
    block = [(1, ["1", " 2.5", "NA"]), (2, ["-inf", "?", "1e400"])]
    table = np.array([[1, 2.5, np.nan], [-np.inf, np.nan, np.inf]])
    np.testing.assert_array_equal(parse_numbers(PATH, block, layout), table[:, features])


@pytest.mark.parametrize("text", ["x", "1_0", "1,5"])
def test_what_is_no_number_is_named_with_line_and_column(text):
    layout = Layout({}, [0, 2], None, [], ["f", "g", "h"])
    with pytest.raises(MixedTypeError) as caught:
        parse_numbers(PATH, [(7, ["1", "ignored", text])], layout)
    assert str(caught.value).startswith(f"a.csv, line 7, column 'h': {text!r} is not a number.")
