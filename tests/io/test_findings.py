"""What is said about bags before a model sees them, on data with known defects."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from bagwise import Bags
from bagwise.io import _files
from bagwise.io.findings import find_numbers, guess_roles, has_decimal_commas, look_at, read_table


def flawed(store=np.asarray):
    X = np.random.default_rng(0).normal(size=(12, 4))
    X[:, 1] = 7.0
    X[:, 2] *= 1e5
    X[8] = X[1]  # in bags 0 and 2, of the same group
    X[11] = X[5]  # in bags 1 and 3, of two groups
    return Bags(store(X), [0, 3, 6, 9, 12], groups=["p", "p", "p", "q"], feature_names=list("abcd"))


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("block", [1, 1 << 20])
def test_defects_are_found(store, block, monkeypatch):
    monkeypatch.setattr(_files, "BLOCK_BYTES", block)
    found = look_at(flawed(store), ["x", "y", "x", "x"])
    assert (found.n_bags, found.n_instances, found.n_features) == (4, 12, 4)
    assert found.sizes == (3, 3, 3)
    assert found.labels == {"x": 3, "y": 1}
    assert found.n_groups == 2
    assert (found.missing, found.constant) == ({}, ["b"])
    assert found.far is not None
    assert found.far[1] == "c"
    assert (found.shared, found.shared_across_groups) == (4, 2)


def test_missing_values_are_counted_by_feature():
    bags = flawed()
    X = np.array(bags.X)
    X[:5, 0] = np.nan
    X[:, 3] = np.nan
    found = look_at(bags.replace(X=X))
    assert found.missing == {"a": 5, "d": 12}
    assert found.constant == ["b", "d"]
    assert found.labels == {}


def test_infinite_values_are_counted_apart():
    X = np.array(flawed().X)
    X[:5, 0], X[1, 2], X[2:4, 3] = np.inf, -np.inf, np.nan
    found = look_at(flawed().replace(X=X), ["x", "y", "x", "x"])
    assert (found.missing, found.infinite) == ({"d": 2}, {"a": 5, "c": 1})
    assert (found.constant, found.far[1]) == (["b"], "c")


def test_good_data_have_no_findings():
    found = look_at(Bags(np.random.default_rng(0).normal(size=(6, 2)), [0, 3, 6]))
    assert (found.missing, found.constant, found.far, found.shared) == ({}, [], None, 0)
    assert found.n_groups == 0


def test_a_feature_that_numbers_the_rows_of_bags_is_a_counter():
    number = np.array([1, 2, 3, 2, 1, 1, 2, 3, 4])
    almost = np.array([1, 2, 3, 2, 1, 1, 2, 4, 4])
    X = np.column_stack([number, almost, number * 1.5, np.zeros(9), number - 1])
    assert look_at(Bags(X.astype(float), [0, 3, 5, 9])).counters == ["f1", "f5"]
    assert look_at(Bags(X.astype(float), [0, 4, 5, 9])).counters == []
    assert look_at(Bags(X[:3].astype(float), [0, 1, 2, 3])).counters == []


# Roles of columns -------------------------------------------------------------------------------


def table(**more):
    rng = np.random.default_rng(0)
    slide = np.repeat(np.arange(12), 5)
    frame = pd.DataFrame({"f": rng.normal(size=60), "count": rng.integers(0, 9, 60)})
    frame["sample"] = [f"s{i}" for i in slide]
    frame["donor"] = [f"d{i // 3}" for i in slide]
    frame["outcome"] = np.array(["wt", "mut"])[slide % 2]
    return frame.assign(**more)


def test_bag_label_and_groups_are_found_and_names_of_rows_are_no_bags():
    notes = {"note": [f"n{i % 7}" for i in range(60)], "row": [f"r{i}" for i in range(60)]}
    roles = guess_roles(table(**notes))
    assert (roles.bag, roles.label, roles.groups) == ("sample", "outcome", "donor")
    assert (roles.texts, roles.instance) == (["note"], "row")
    known = guess_roles(table(), bag="donor")
    assert (known.bag, known.label) == ("donor", None)  # outcomes differ within a donor
    assert guess_roles(table()[["f", "count"]]).bag is None  # numbers alone
    ages = table(age=np.repeat(np.arange(12) // 2, 5)).drop(columns="donor")
    assert guess_roles(ages).groups is None
    assert guess_roles(ages.rename(columns={"age": "patient_id"})).groups == "patient_id"


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "xlsx"])
def test_tables_of_all_formats_are_read(suffix, tmp_path):
    path, frame = tmp_path / f"t.{suffix}", table()
    writers = {"csv": frame.to_csv, "parquet": frame.to_parquet, "xlsx": frame.to_excel}
    if suffix == "arrow":
        frame.to_feather(path)
    else:
        writers[suffix](path, index=False)
    read = read_table(path, {"xlsx": "excel"}.get(suffix, suffix), n_rows=10)
    assert (len(read), [*read.columns]) == (10, [*frame.columns])


def test_a_measured_number_is_the_label_where_no_class_is():
    frame = table().drop(columns=["outcome", "donor"])
    frame["target"] = np.repeat(np.random.default_rng(1).normal(size=12), 5)
    roles = guess_roles(frame)
    assert (roles.bag, roles.label) == ("sample", "target")


def test_numbers_with_signs_and_separators_are_no_names_of_rows():
    of_bags = {"slide": np.repeat(list("abcd"), 3), "dx": np.repeat([0, 1, 0, 1], 3)}
    count, size = [f"{i + 1},{i + 10}" for i in range(12)], np.arange(12) / 7
    frame = pd.DataFrame({**of_bags, "count": count, "day": "2024-01-05", "size": size})
    frame["share"], frame["dose"] = ["3%", "4%", "<1%"] * 4, ["1", "2", "n.d."] * 4
    roles = guess_roles(frame)
    assert (roles.instance, roles.texts) == (None, ["count", "day", "share", "dose"])
    found = {"count": "1,10", "share": "3%", "dose": "n.d."}
    assert find_numbers(frame, roles.texts) == found
    assert not has_decimal_commas(frame)  # size has points
    assert guess_roles(frame.assign(no=np.arange(12)[::-1])).instance == "no"
    assert guess_roles(frame.assign(no=2 * np.arange(12))).instance is None
    assert has_decimal_commas(frame.drop(columns="size"))


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["79", "2.001", "626", "3,5"], True),
        (["0,125", "1,125"], True),
        (["2,320", "1,100", "12"], False),  # thousands, for all one knows
        (["1,234,567", "3,5"], False),
        (["3,5", "x"], False),
    ],
)
def test_commas_before_three_digits_may_separate_thousands(texts, expected):
    assert has_decimal_commas(pd.DataFrame({"f": texts})) is expected


def test_texts_that_are_all_numbers_are_found_as_numbers():
    frame = pd.DataFrame({"f": ["1.5", "2"], "g": ["79", "2.001"], "h": ["1,5", "2.5"]})
    assert find_numbers(frame, ["f"]) == {"f": "1.5"}
    assert find_numbers(frame, ["g", "h"], ",") == {"g": "2.001", "h": "2.5"}
