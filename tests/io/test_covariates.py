"""Covariates of bags from a table: numbers as the user writes them, ids as texts."""

from itertools import product

import pandas as pd
import pytest

from bagwise import io
from bagwise.io import FormatError
from bagwise.io.covariates import attach_covariates


@pytest.mark.parametrize(
    ("suffix", "ids"),
    [("csv", ("NA", "x")), *product(("csv", "xlsx"), [("000", "001"), ("1.10", "1.1"), (7, 8)])],
)
def test_ids_are_those_of_the_file(suffix, ids, tmp_path):
    path, frame = tmp_path / f"t.{suffix}", pd.DataFrame({"bag": ids, "f": [1, 2], "age": [61, 72]})
    (frame.to_csv if suffix == "csv" else frame.to_excel)(path, index=False)
    bags, _ = io.read(path, drop=["age"])
    assert attach_covariates(bags, path, ["age"], None).bag_features.tolist() == [[61], [72]]
    assert attach_covariates(bags, path, ["age"], "bag").bag_features.tolist() == [[61], [72]]


def test_decimal_commas_are_numbers_and_mixtures_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("bag;f;age;stage\na;1;61,5;II\nb;2;72;III\n")
    bags, _ = io.read(path, features=["f"])
    found = attach_covariates(bags, path, ["age"], None, ",").bag_features
    assert found.tolist() == [[61.5], [72]]
    assert attach_covariates(bags, path, ["stage"], None).bag_features.tolist() == [["II"], ["III"]]
    with pytest.raises(FormatError, match=r"'age': is '61,5' for bag 'a' .*pass decimal=','"):
        attach_covariates(bags, path, ["age"], None)
    path.write_text("bag;f;age\na;1;61\nb;2;unknown\n\nc;3;59\n")
    with pytest.raises(FormatError, match=r"column 'age': is 'unknown' for bag 'b'"):
        attach_covariates(bags, path, ["age"], None)
