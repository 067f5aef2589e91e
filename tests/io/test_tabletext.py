"""The syntax of text tables: header, delimiter, rows, numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.io._tabletext import TableText, join_blocks, sniff, type_column, type_texts


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


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=9))
def test_blocks_become_one_matrix_and_are_dropped(sizes):
    blocks = [np.arange(2.0 * size, dtype=np.float32).reshape(size, 2) for size in sizes]
    expected = np.concatenate(blocks)
    found = join_blocks(Path("a"), blocks)
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, blocks) == (np.float32, [])


@pytest.mark.parametrize(
    ("texts", "as_label", "as_id"),
    [
        (["1", "-1"], [1, -1], [1, -1]),
        (["+1", "-1"], [1, -1], ["+1", "-1"]),
        (["007", "7"], ["007", "7"], ["007", "7"]),
        (["0.5", "1.5"], [0.5, 1.5], [0.5, 1.5]),
        (["1e3"], [1000.0], ["1e3"]),
        (["1", "x"], ["1", "x"], ["1", "x"]),
        (["True", "False"], [True, False], [True, False]),
        (["1_000"], ["1_000"], ["1_000"]),
        ([str(2**70)], [float(2**70)], [str(2**70)]),
    ],
)
def test_texts_become_numbers_only_where_all_are(texts, as_label, as_id):
    assert type_texts(texts, exact_text=False).tolist() == as_label
    assert type_texts(texts, exact_text=True).tolist() == as_id
    assert type_column(texts * 2, exact_text=True).tolist() == as_id * 2
