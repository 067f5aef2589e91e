"""Roles of columns are guessed from their values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from bagwise.io.roles import guess_roles, read_table


def table(**more):
    rng = np.random.default_rng(0)
    slide = np.repeat(np.arange(12), 5)
    frame = pd.DataFrame({"f": rng.normal(size=60), "count": rng.integers(0, 9, 60)})
    frame["sample"] = [f"s{i}" for i in slide]
    frame["donor"] = [f"d{i // 3}" for i in slide]
    frame["outcome"] = np.array(["wt", "mut"])[slide % 2]
    return frame.assign(**more)


def test_bag_label_and_groups_are_found():
    roles = guess_roles(table(note=[f"n{i % 7}" for i in range(60)]))
    assert (roles.bag, roles.label, roles.groups) == ("sample", "outcome", "donor")
    assert roles.texts == ["note"]


def test_a_known_bag_is_kept():
    roles = guess_roles(table(), bag="donor")
    assert (roles.bag, roles.label) == ("donor", None)  # outcomes differ within a donor


def test_numbers_alone_are_no_roles():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=list("abc"))
    assert guess_roles(frame).bag is None


def test_names_of_rows_are_no_bags():
    roles = guess_roles(table(row=[f"r{i}" for i in range(60)]))
    assert roles.bag == "sample"
    assert "row" in roles.texts


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
