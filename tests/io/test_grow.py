"""Growing matrices and columns of texts, and the types that texts get."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bagwise.io._grow import (
    GrowingRows,
    type_column,
    type_texts,
)

PATH = Path("a.csv")


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=9), total=st.integers(1, 200))
def test_blocks_are_kept_whatever_the_estimate_of_the_size(sizes, total):
    rows, done, blocks = GrowingRows(Path("a"), 2, np.float32), 0, []
    for size in sizes:
        done += size
        blocks.append(np.arange(2.0 * size).reshape(size, 2) + done)
        rows.reserve(size, done / total)[:] = blocks[-1]
    expected = np.concatenate([np.empty((0, 2)), *blocks])
    found = rows.finish()
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float32


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
