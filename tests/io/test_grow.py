"""Growing matrices and columns of texts, and the types that texts get."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.io import FormatError, LabelError, MixedTypeError
from bagwise.io._grow import (
    GrowingRows,
    TextColumn,
    is_number,
    typed,
    typed_column,
    typed_columns,
)

PATH = Path("a.csv")


@given(sizes=st.lists(st.integers(0, 9), max_size=9), total=st.integers(1, 200))
def test_blocks_are_kept_whatever_the_estimate_of_the_size(sizes, total):
    rows, done, blocks = GrowingRows(2, np.float32), 0, []
    for size in sizes:
        done += size
        blocks.append(np.arange(2.0 * size).reshape(size, 2) + done)
        rows.reserve(size, done / total)[:] = blocks[-1]
    expected = np.concatenate([np.empty((0, 2)), *blocks])
    found = rows.finish()
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float32


@given(blocks=st.lists(st.lists(st.sampled_from("abc"), max_size=4), min_size=1, max_size=4))
def test_texts_come_back_however_they_are_appended(blocks):
    one, other = TextColumn(), TextColumn()
    for texts in blocks:
        one.extend(texts)
        distinct, codes = np.unique(np.array(texts, dtype=str), return_inverse=True)
        other.extend_coded(codes.astype(int), distinct.tolist())
    joined = [text for texts in blocks for text in texts]
    for column in (one, other):
        assert column.coded(exact_text=True).at(slice(None)).tolist() == joined
        for text in "abcd":
            expected = joined.index(text) if text in joined else None
            assert column.first_row(text) == expected


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
    assert typed(texts, exact_text=False).tolist() == as_label
    assert typed(texts, exact_text=True).tolist() == as_id
    assert typed_column(texts * 2, exact_text=True).tolist() == as_id * 2


def column(*texts):
    made = TextColumn()
    made.extend(list(texts))
    return made


def test_columns_are_typed_by_their_role():
    keys = {"bag": column("07", "07"), "label": column("1", "0"), "priors": column("1", "0.5")}
    columns = typed_columns(PATH, keys, str)
    assert columns["bag"].at(slice(None)).tolist() == ["07", "07"]
    assert columns["label"].at([1]).tolist() == [0]
    assert columns["priors"].tolist() == [1.0, 0.5]


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ({"label": column("1", "")}, LabelError, "line 7: the label is missing"),
        ({"bag": column("", "a")}, FormatError, "line 6: the bag is missing"),
        ({"priors": column("1", "x")}, MixedTypeError, "line 7, column 'priors': 'x' is not a"),
    ],
)
def test_bad_values_are_named_by_their_line(keys, error, message):
    with pytest.raises(error, match=message):
        typed_columns(PATH, keys, lambda row: row + 6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1", True), (" 2.5 ", True), ("-inf", True), ("nan", True), ("1_0", False), ("", False)],
)
def test_numbers_are_recognized(text, expected):
    assert is_number(text) is expected
