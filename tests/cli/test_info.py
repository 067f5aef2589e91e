"""bagwise info: guesses the columns, counts the defects, and prints a command that runs."""

import shlex

import numpy as np
import pandas as pd
import pytest

from bagwise import io
from bagwise.datasets import make_gaussian_bags
from command_line import call, done, printed

ROWS = [
    [f"s{i}", "wm"[i % 2], f"p{i // 2}", f"n{i}{k}", f"{i % 2 + k / 10:.1f}", f"{i * k}e4"]
    for i in range(12)
    for k in range(3)
]
HEAD = ["slide", "dx", "patient", "note", "f", "area"]


def write(path, delimiter=",", decimal="."):
    lines = [HEAD, *ROWS]
    path.write_text("\n".join(delimiter.join(c.replace(".", decimal) for c in r) for r in lines))
    return path


def test_columns_are_guessed_and_the_next_command_is_complete(tmp_path):
    record = printed("info", write(tmp_path / "t.csv"))
    columns = {"bag": "slide", "label": "dx", "groups": "patient", "drop": None}
    assert record["columns"] == columns
    assert record["labels"] == {"m": 6, "w": 6}
    assert (record["n_bags"], record["n_groups"], record["n_features"]) == (12, 6, 2)
    words = shlex.split(record["next"])
    assert words[:3] == ["bagwise", "compare", str(tmp_path / "t.csv")]
    assert words[-2:] == ["--positive", "auto"]
    named = words[3:-2]
    done("cv", words[2], *named, "-m", "SIL", "--positive", "m", "--folds", 2, "-j", 1)


def test_left_out_names_with_commas_or_roles_and_few_bags_lead_to_a_report(tmp_path):
    rows = [f"s{i},{i % 2},w{k},x{k},{i + k / 7}" for i in range(4) for k in (0, 0, 1)]
    text = "\n".join(['slide,dx,"city, state",site,f', *rows])
    (tmp_path / "t.csv").write_text(text)
    record = printed("info", tmp_path / "t.csv")
    assert record["columns"]["drop"] == ["city, state", "site"]
    words = shlex.split(record["next"])[1:]
    done(*words, "--out", tmp_path / "m.bagwise")
    done("report", tmp_path / "m.bagwise", tmp_path / "t.csv", "--out", tmp_path / "r.html")


def test_a_usual_name_is_enough_for_the_bags(tmp_path):
    text = "\n".join(["slide,f", *(f"s{i},{i + k / 7}" for i in range(4) for k in range(3))])
    (tmp_path / "t.csv").write_text(text)
    assert printed("info", tmp_path / "t.csv")["columns"]["bag"] == "slide"


def test_covariates_are_no_groups(tmp_path):
    rows = [f"s{i},{'wm'[i % 2]},{50 + i // 2},{i + k / 7}" for i in range(12) for k in range(3)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["slide,dx,patient_age,f", *rows]))
    assert printed("info", path)["columns"]["groups"] == "patient_age"
    record = printed("info", path, "--covariates", "patient_age")
    assert record["columns"]["groups"] is None
    assert "--covariates patient_age" in record["next"]


@pytest.mark.parametrize("suffix", ["csv", "xlsx"])
def test_the_index_of_a_data_frame_is_no_feature(suffix, tmp_path):
    path, frame = tmp_path / f"t.{suffix}", pd.DataFrame(ROWS, columns=HEAD).astype({"f": float})
    (frame.to_csv if suffix == "csv" else frame.to_excel)(path)
    assert "column '' is the index of a data frame and left out" in call("info", path).stderr
    record = printed("info", path)
    assert record["columns"]["bag"] == "slide"
    assert "''" not in record["next"]


def test_decimal_commas_are_seen(tmp_path):
    record = printed("info", write(tmp_path / "t.csv", ";", ","))
    assert "--decimal ," in record["next"]
    assert record["n_features"] == 2


def test_what_misleads_is_said(tmp_path):
    result = done("info", write(tmp_path / "t.csv"))
    assert "very different: f and area" in result.stdout
    rows = np.array(ROWS)[:, [0, 4, 5]]
    text = "\n".join(
        ["bag,f,area,row", *(f"{','.join(row)},{2 * i}" for i, row in enumerate(rows))]
    )
    (tmp_path / "u.csv").write_text(text)
    said = done("info", tmp_path / "u.csv").stderr.replace("\n", " ")
    assert "Name the labels with --label COLUMN." in said
    assert "Rising or falling with the row number: row." in said


def test_a_table_of_numbers_and_a_data_set_are_described(tmp_path):
    (tmp_path / "bare.csv").write_text("1,0,0.5\n1,0,0.7\n2,1,0.1\n3,1,0.9\n")
    assert printed("info", tmp_path / "bare.csv")["n_bags"] == 3
    assert call("info", "nothing").exit_code == 2


def test_features_are_named_and_counters_among_them_are_seen(tmp_path):
    rows = [f"m{i},{i % 2},{k},{i + k / 7}" for i in range(6) for k in range(3)]
    (tmp_path / "m.csv").write_text("molecule,active,conformer,charge\n" + "\n".join(rows) + "\n")
    result = done("info", tmp_path / "m.csv", "--bag", "molecule", "--label", "active")
    assert "2 (float64): conformer, charge" in result.stdout
    assert "Feature 'conformer' numbers the instances" in result.stderr
    assert "leave it out with --drop conformer" in result.stderr


def test_cells_by_patient_are_described(tmp_path):
    pytest.importorskip("anndata")
    bags, y = make_gaussian_bags(n_bags=12, random_state=0)
    io.write(tmp_path / "cells.h5ad", bags.replace(ids=[f"p{i}" for i in range(12)]), y)
    result = done("info", tmp_path / "cells.h5ad")
    assert "--bag bag --label label" in result.stdout
    assert result.stderr.splitlines()[-1].startswith("Next: bagwise compare")


def test_a_folder_without_labels_says_where_they_may_be(tmp_path):
    bags = make_gaussian_bags(n_bags=4, random_state=0)[0]
    io.write(tmp_path / "slides", bags.replace(ids=list("abcd")), format="slides")
    (tmp_path / "l.csv").write_text("slide_id,dx\na,1\nb,0\nc,1\nd,0\n")
    told = done("info", tmp_path / "slides", "--labels", tmp_path / "l.csv").stderr
    assert "Name the labels with --label: slide_id, dx." in told
    assert "--labels CSV" in done("info", tmp_path / "slides").stderr
