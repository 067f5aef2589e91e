"""bagwise convert, bagwise datasets and bagwise models."""

import numpy as np
import pytest

from bagwise.catalog import EVERY
from bagwise.datasets import catalog
from bagwise.io import read
from command_line import COLUMNS, done, printed, read_slides, refused


@pytest.mark.parametrize("suffix", ["bags", "arff", "svm", "mat", "tsv", "parquet"])
@pytest.mark.filterwarnings("ignore:.*cannot store groups")
def test_convert_keeps_the_bags(folder, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    record = printed("convert", folder / "train.csv", out, *COLUMNS, "--groups", "patient")
    before, y = read_slides(folder / "train.csv")
    after, labels = read(out)
    X = after.X.toarray() if hasattr(after.X, "toarray") else after.X
    np.testing.assert_array_equal(X, before.X)
    np.testing.assert_array_equal(after.offsets, before.offsets)
    assert [str(label) for label in labels] == y.tolist()
    counts = {"n_bags": 30, "n_instances": before.n_instances, "n_features": 2}
    assert record == {"file": str(out), **counts, "labels": True}


def test_convert_replaces_only_when_told(folder, tmp_path):
    base = ["convert", folder / "train.csv", tmp_path / "out.bags", *COLUMNS]
    assert "30 bags" in done(*base).stderr
    refused(2, "exists already; --force replaces it", *base)
    done(*base, "--force")


def test_scattered_rows_are_brought_together_when_told(tmp_path):
    (tmp_path / "mixed.csv").write_text("bag,label,f\na,1,1\nb,0,2\na,1,3\n")
    base = ["convert", tmp_path / "mixed.csv", tmp_path / "out.csv"]
    refused(1, "appears again after other bags", *base)
    done(*base, "--regroup")
    assert read(tmp_path / "out.csv")[0].sizes.tolist() == [2, 1]


@pytest.mark.parametrize("flag", [["--impute", "median"], ["--order", "a,b"], ["--task", "grades"]])
def test_what_convert_would_ignore_is_refused(flag, folder, tmp_path):
    message = f"{flag[0]} is for models"
    refused(2, message, "convert", folder / "train.csv", tmp_path / "out.csv", *COLUMNS, *flag)


def test_datasets_lists_every_set_with_its_counts(tmp_path):
    nothing = {"BAGWISE_DATA": str(tmp_path), "BAGWISE_CACHE": str(tmp_path)}
    result = done("datasets", **nothing)
    for entry in catalog():
        line = next(line for line in result.stdout.splitlines() if f"│ {entry.name} " in line)
        assert f" {entry.n_bags:,} " in line
        assert f" {entry.n_instances:,} " in line
        assert " no " in line
    assert f"0 of {len(catalog())} data sets are present" in result.stderr


def test_models_lists_every_method_with_its_paper():
    shown, listed = done("models").stdout, printed("models")
    methods = [method for entry in EVERY for method in entry.methods]
    for method in methods:
        line = next(line for line in shown.splitlines() if f"│ {method.name} " in line)
        for text in (method.code, method.purpose, method.paper.short):
            assert text in line
    assert [entry["name"] for entry in listed] == [method.name for method in methods]
    majority = next(entry for entry in listed if entry["name"] == "SVM-Majority")
    assert (majority["class"], majority["options"]) == ("InstanceSVC", {"vote": "majority"})
