"""Excel workbooks are read as CSV is, with the same errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bag_helpers import full_bags
from bagwise import Bags
from bagwise.bags.forms import PER_INSTANCE
from bagwise.io import (
    CorruptFileError,
    DuplicateColumnError,
    FormatError,
    MixedTypeError,
    ShuffledBagError,
    read,
    read_excel,
    write,
)

pytest.importorskip("openpyxl")


def test_everything_comes_back(tmp_path):
    bags = full_bags([2, 1, 3])
    write(tmp_path / "b.xlsx", bags, ["x", "y", "x"])
    back, y = read(tmp_path / "b.xlsx")
    assert y.tolist() == ["x", "y", "x"]
    for name in ("X", "offsets", "groups", "priors", "bag_features", *PER_INSTANCE[1:]):
        np.testing.assert_array_equal(getattr(back, name), getattr(bags, name))
    assert back.ids.tolist() == bags.ids.tolist()
    assert back.feature_names.tolist() == ["f", "g"]


def test_columns_are_chosen_and_missing_numbers_are_nan(tmp_path):
    frame = pd.DataFrame({"slide": ["a", "a", "b"], "dx": [1, 1, 0], "f1": [1, None, 3]})
    frame = frame.assign(f2=["4", "NA", 6.5], note="x")
    frame["f2"] = [4, "NA", 6.5]
    frame.to_excel(tmp_path / "b.xlsx", index=False)
    bags, y = read_excel(tmp_path / "b.xlsx", bag="slide", label="dx", drop=["note"])
    np.testing.assert_array_equal(bags.X, [[1, 4], [np.nan, np.nan], [3, 6.5]])
    assert y.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        ({"f": [1, "x"]}, MixedTypeError, r"line 3, column 'f': 'x' is not a number"),
        ({"f": [1, 2], "bag": ["a", None]}, FormatError, r"line 3: the bag is missing"),
        ({"f": [], "bag": []}, FormatError, "holds no rows"),
    ],
)
def test_bad_cells_are_named(columns, kind, message, tmp_path):
    pd.DataFrame({"bag": ["a"] * len(columns["f"]), **columns}).to_excel(
        tmp_path / "b.xlsx", index=False
    )
    with pytest.raises(kind, match=message):
        read_excel(tmp_path / "b.xlsx")


def test_shuffled_bags_and_other_files_are_refused(tmp_path):
    pd.DataFrame({"bag": list("aba"), "f": [1, 2, 3]}).to_excel(tmp_path / "b.xlsx", index=False)
    with pytest.raises(ShuffledBagError, match="line 4: bag 'a' appears again"):
        read_excel(tmp_path / "b.xlsx")
    assert len(read_excel(tmp_path / "b.xlsx", regroup=True)[0]) == 2
    (tmp_path / "c.xlsx").write_text("bag,f\n")
    with pytest.raises(CorruptFileError, match="is not an Excel workbook"):
        read_excel(tmp_path / "c.xlsx")


def test_repeated_names_damage_and_missing_files_are_named(tmp_path):
    path = tmp_path / "b.xlsx"
    pd.DataFrame([["a", 1, 2.0, 3.0]], columns=["bag", "label", "f", "f"]).to_excel(
        path, index=False
    )
    with pytest.raises(DuplicateColumnError, match="columns 3 and 4 have the same name"):
        read_excel(path)
    with pytest.raises(CorruptFileError, match="has no such sheet"):
        read_excel(path, sheet="second")
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match=r"b\.xlsx: is not an Excel workbook"):
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
