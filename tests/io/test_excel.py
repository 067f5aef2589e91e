"""Excel workbooks are read as CSV is, with the same errors."""

import numpy as np
import pandas as pd
import pytest

from bagwise import Bags
from bagwise.io import CorruptFileError, DuplicateColumnError, FormatError, read, read_excel, write

pytest.importorskip("openpyxl")


def test_columns_are_chosen_and_missing_numbers_are_nan(tmp_path):
    frame = pd.DataFrame({"slide": ["a", "a", "b"], "dx": [1, 1, 0], "f1": [1, None, 3]})
    frame = frame.assign(f2=[4, "NA", 6.5], flag=[True, False, True], note="x")
    frame.to_excel(tmp_path / "b.xlsx", index=False)
    bags, y = read_excel(tmp_path / "b.xlsx", bag="slide", label="dx", drop=["note"])
    np.testing.assert_array_equal(bags.X, [[1, 4, 1], [np.nan, np.nan, 0], [3, 6.5, 1]])
    assert y.tolist() == [1, 0]


def test_repeated_names_damage_and_missing_files_are_named(tmp_path):
    path = tmp_path / "b.xlsx"
    pd.DataFrame([["a", 1, 2.0, 3.0]], columns=["bag", "label", "f", "f"]).to_excel(
        path, index=False
    )
    with pytest.raises(DuplicateColumnError, match="columns 3 and 4 have the same name"):
        read_excel(path)
    with pytest.raises(CorruptFileError, match="not an Excel workbook with this sheet"):
        read_excel(path, sheet="second")
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"b\.xlsx: is truncated or not an Excel"):
        read_excel(path)
    with pytest.raises(FileNotFoundError):
        read_excel(tmp_path / "c.xlsx")


def test_texts_come_back_as_they_are_or_are_refused(tmp_path):
    bags = Bags.from_list([[[1.0]], [[2.0]]], ids=["NA", "null"])
    write(tmp_path / "b.xlsx", bags, ["None", "-"])
    again, y = read(tmp_path / "b.xlsx")
    assert (again.ids.tolist(), y.tolist()) == (["NA", "null"], ["None", "-"])
    for text in ("=1+1", "a\x01", ""):
        odd = Bags.from_list([[[1.0]], [[2.0]]], ids=[text, "b"])
        with pytest.raises(FormatError, match="cannot be written in Excel"):
            write(tmp_path / "c.xlsx", odd, [1, 0])
    assert not (tmp_path / "c.xlsx").exists()
