"""The pyarrow engine: what it reads, and what it leaves to the csv engine."""

from __future__ import annotations

import numpy as np
import pytest

from bagwise.io import _arrowcsv
from bagwise.io._arrowcsv import Refused, parse_with_arrow
from bagwise.io._assemble import lay_out
from bagwise.io._tabletext import sniff

pytest.importorskip("pyarrow")


def parse(path, dtype=np.float64):
    text = sniff(path)
    return parse_with_arrow(path, text, lay_out(path, text.names, {}, None), np.dtype(dtype), False)


def test_features_and_texts(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("bag,f,g\na,1,NA\na,2,\nb,3,0.5\n")
    for block_bytes in (1 << 22, 16):
        monkeypatch.setattr(_arrowcsv, "_BLOCK_BYTES", block_bytes)
        X, keys = parse(tmp_path / "a.csv", np.float32)
        np.testing.assert_array_equal(X, [[1, np.nan], [2, np.nan], [3, 0.5]])
        assert X.dtype == np.float32
        assert keys["bag"].coded(exact_text=True).at(slice(None)).tolist() == ["a", "a", "b"]


@pytest.mark.parametrize("row", ["a,x", "a,1,2", ""])
def test_what_it_cannot_read_is_left_to_the_csv_engine(row, tmp_path):
    (tmp_path / "a.csv").write_text(f"bag,f\n{row}\n")
    with pytest.raises(Refused):
        parse(tmp_path / "a.csv")
