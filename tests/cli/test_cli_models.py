"""fit, predict, evaluate, explain and convert: from a table to a model file and back to tables."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner

import bagwise
from bagwise.cli import app
from bagwise.crossfit import folds
from bagwise.datasets import make_gaussian_bags
from bagwise.io import read, write
from bagwise.modelfile import describe
from bagwise.preprocessing import PerInstance
from command_line import WIDE, done, refused

COLUMNS = ["--bag", "slide", "--label", "diagnosis"]


def write_table(path, labels, label_column=True, seed=0):
    """Write bags as a user has them: own column names, an id a row, a patient a bag."""
    bags, y = make_gaussian_bags(n_bags=len(labels), shift=4.0, random_state=seed)
    y = np.array(y)
    names = np.array(["normal", "tumor"])
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        head = ["slide", "patient", "instance", *(f"f{j}" for j in range(bags.n_features))]
        writer.writerow(["diagnosis", *head] if label_column else head)
        for i in range(len(bags)):
            for k, x in enumerate(bags[i].tolist()):
                row = [f"s{i}", f"p{i // 2}", f"s{i}-{k}", *x]
                writer.writerow([names[y[i]], *row] if label_column else row)
    return names[y]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table, its labels in another order, and a model."""
    folder = tmp_path_factory.mktemp("cli")
    truth = write_table(folder / "train.csv", range(30))
    np.save(folder / "truth.npy", truth)
    write_table(folder / "new.csv", range(12), label_column=False, seed=1)
    write_table(folder / "test.csv", range(12), seed=1)
    fit(folder, "model.bagwise", "--param", "kernel=linear")
    return folder


def fit(folder, out, *more, data="train.csv"):
    ids = ["--features", "f0,f1"] if "--features" not in more else []
    return done("fit", folder / data, *COLUMNS, *ids, "-m", "MI-SVM", "-o", folder / out, *more)


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# The real entry point -----------------------------------------------------------------------------


def test_the_installed_command_fits_and_predicts(tmp_path):
    command = shutil.which("bagwise", path=str(Path(sys.executable).parent))
    assert command, "the entry point is not installed beside this Python"
    write_table(tmp_path / "cells.csv", range(20))

    def run(*arguments):
        return subprocess.run(
            [command, *arguments],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **WIDE},
            timeout=300,
        )

    fitted = run(
        "fit", "cells.csv", *COLUMNS, "--groups", "patient", "--features", "f0,f1",
        "--model", "MI-SVM", "--param", "kernel=linear", "--out", "m.bagwise",
    )  # fmt: skip
    assert fitted.returncode == 0, fitted.stderr
    assert "proven gap" in fitted.stdout
    predicted = run("predict", "m.bagwise", "cells.csv", "--bag", "slide", "--out", "out.csv")
    assert predicted.returncode == 0, predicted.stderr
    assert predicted.stdout == ""
    rows = rows_of(tmp_path / "out.csv")
    assert [row["bag"] for row in rows] == [f"s{i}" for i in range(20)]


# fit ----------------------------------------------------------------------------------------------


def test_fit_writes_the_model_that_python_fits(folder):
    model = bagwise.load(folder / "model.bagwise")
    bags, y = read(folder / "train.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    expected = bagwise.WitnessSVC(kernel="linear").fit(bags, y)
    np.testing.assert_array_equal(model.decision_function(bags), expected.decision_function(bags))
    described = describe(folder / "model.bagwise")
    assert described["classes"] == ["normal", "tumor"]
    assert described["notes"]["bag"] == "slide"


def test_fit_json_is_nothing_but_json(folder):
    result = fit(folder, "j.bagwise", "--json", "--param", "C=10")
    record = json.loads(result.stdout)
    assert record["class"] == "WitnessSVC"
    assert record["parameters"]["C"] == 10
    assert (record["n_bags"], record["n_features"]) == (30, 2)
    assert record["certificate"]["gap"][0] <= 1e-4 * record["certificate"]["objective"][0]
    assert record["cross_validation"] == []


def test_fit_takes_a_class_and_parameters_of_every_kind(folder):
    params = ["C=1e-1", "gamma=0.5", "class_weight={'tumor': 2.0, 'normal': 1.0}", "loss=hinge"]
    options = [word for text in params for word in ("--param", text)]
    done(
        "fit", folder / "train.csv", *COLUMNS, "--features", "f0,f1", "-m", "InstanceSVC",
        "-o", folder / "c.bagwise", *options,
    )  # fmt: skip
    model = bagwise.load(folder / "c.bagwise")
    assert (model.C, model.gamma, model.loss) == (0.1, 0.5, "hinge")
    assert model.class_weight == {"tumor": 2.0, "normal": 1.0}


def test_fit_with_cv_chooses_among_the_candidates(folder):
    more = ["--cv", "--param", "C=[1e-8, 1.0]", "--param", "kernel=linear", "--json"]
    record = json.loads(fit(folder, "cv.bagwise", *more, "--groups", "patient").stdout)
    tried = record["cross_validation"]
    assert [point["C"] for point in tried] == [1e-8, 1.0]
    best = max(tried, key=lambda point: point["accuracy"])
    assert record["parameters"]["C"] == best["C"]
    assert all(0 <= point["accuracy"] <= 1 for point in tried)


def test_fit_with_cv_has_candidates_of_its_own(folder):
    result = fit(folder, "cv.bagwise", "--cv", "--param", "kernel=linear")
    assert result.stdout.count("cross-validated accuracy") == 3


def test_a_search_leaves_alone_what_the_user_fixed(folder):
    base = ["fit", folder / "train.csv", *COLUMNS, "--features", "f0,f1", "-m", "ALP-SVM"]
    more = ["--cv", "-p", "C=10", "-p", "kernel=linear", "-o", folder / "alp.bagwise", "--json"]
    record = json.loads(done(*base, *more).stdout)
    assert record["parameters"]["C"] == 10
    assert [set(point) for point in record["cross_validation"]] == [{"p_star", "accuracy"}] * 3


def test_a_parameter_that_is_a_list_needs_no_search(folder):
    base = ["fit", folder / "train.csv", *COLUMNS, "--features", "f0,f1"]
    more = ["-m", "AnnealedProportionSVCCV", "-p", "Cs=[1.0]", "-p", "C2s=[1.0]", "-p", "cv=3"]
    done(*base, *more, "-p", "p_stars=[0.5]", "-o", folder / "path.bagwise")


def test_fit_scales_in_the_model(folder):
    fit(folder, "scaled.bagwise", "--scale", "--positive", "normal")
    model = bagwise.load(folder / "scaled.bagwise")
    bags, _ = read(folder / "train.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    np.testing.assert_allclose(model[:-1].transform(bags).X.std(axis=0), 1.0)
    assert model[-1].pos_label == "normal"


def test_a_search_scales_on_the_training_part_of_each_fold(folder, monkeypatch):
    fitted_on, fit_transform = [], PerInstance.fit_transform

    def watched(self, bags, *rest, **more):
        fitted_on.append(bags.ids.tolist())
        return fit_transform(self, bags, *rest, **more)

    monkeypatch.setattr(PerInstance, "fit_transform", watched)
    monkeypatch.setattr(PerInstance, "fit", lambda *_, **__: pytest.fail("fitted elsewhere"))
    more = ["--cv", "--scale", "-p", "C=[0.1, 1.0]", "-p", "kernel=linear", "--json"]
    record = json.loads(fit(folder, "clean.bagwise", *more).stdout)
    bags, y = read(folder / "train.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    splits = folds(bags, y, 5, 0)
    parts = [bags[train].ids.tolist() for train, _ in splits]
    assert fitted_on == [*parts, *parts, bags.ids.tolist()]
    for point in record["cross_validation"]:
        right = 0
        for train, test in splits:
            scaler = StandardScaler().fit(bags[train].X)
            part, rest = (b.replace(X=scaler.transform(b.X)) for b in (bags[train], bags[test]))
            model = bagwise.WitnessSVC(kernel="linear", C=point["C"]).fit(part, y[train])
            right += int(np.sum(model.predict(rest) == y[test]))
        assert point["accuracy"] == pytest.approx(right / len(bags))


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (2, "There is no method 'MI-SVN'. Did you mean", ["-m", "MI-SVN"]),
        (2, "has no parameter 'D'", ["-p", "D=1"]),
        (2, "write NAME=VALUE", ["-p", "C"]),
        (2, "the labels are ['normal', 'tumor']", ["--positive", "cancer"]),
        (2, "there is no folder", ["-o", "no/such/folder/m.bagwise"]),
        (2, "there is no format 'xls'", ["--format", "xls"]),
        (1, "has no column 'slice'", ["--bag", "slice"]),
        (1, "has no column 'grade'", ["--label", "grade"]),
        (2, "The 'C' parameter", ["-p", "C=-1"]),
        (2, "no complete list or dict", ["-p", "C=[1,2", "--cv"]),
        (2, "no complete list or dict", ["-p", "C=[1,x]", "--cv"]),
        (2, "no complete list or dict", ["-p", "class_weight={tumor: 2}"]),
        (2, "a list of candidates needs at least one", ["-p", "C=[]", "--cv"]),
        (2, "A list of candidates needs `bagwise fit --cv`", ["-p", "C=[1,2]"]),
        (2, "The 'C' parameter", ["-p", "C=[1,-2]", "--cv"]),
        (2, "--param C is given twice", ["-p", "C=1", "-p", "C=2"]),
        (2, "nothing is left to choose beside C", ["-p", "C=10", "--cv"]),
        (2, "--param cv: give the number of folds", ["-p", "cv=[1,2]"]),
        (2, "--param n_jobs must be at least 1", ["-p", "n_jobs=0"]),
        (2, "--jobs must be at least 1, or -1", ["--cv", "-j", "0"]),
        (2, "No such option", ["--kernel", "rbf"]),
    ],
)
def test_fit_refuses_bad_arguments(folder, tmp_path, status, message, more):
    base = [*COLUMNS, "--features", "f0,f1", "-m", "MI-SVM", "-o", tmp_path / "m.bagwise"]
    refused(status, message, "fit", folder / "train.csv", *base, *more)
    assert list(tmp_path.iterdir()) == []


def test_fit_names_a_text_among_the_features(folder, tmp_path):
    out = tmp_path / "m.bagwise"
    refused(1, "is not a number", "fit", folder / "train.csv", *COLUMNS, "-m", "MI-SVM", "-o", out)


@pytest.mark.parametrize("power", [150, 200])
def test_fit_on_numbers_out_of_range_says_what_helps(tmp_path, power):
    bags = [(bag, k) for bag in range(6) for k in (1, 2)]
    rows = [f"{bag},{bag % 2},{bag % 2 + 1}e{power},{k}e{power}" for bag, k in bags]
    (tmp_path / "huge.csv").write_text("\n".join(["bag,label,f,g", *rows]))
    base = ["fit", tmp_path / "huge.csv", "-m", "MI-SVM", "-p", "kernel=linear"]
    said = refused(1, "cale the features (--scale)", *base, "-o", tmp_path / "m.bagwise").stderr
    assert all(line.startswith(("warning: ", "Error: ")) for line in said.splitlines())
    if power == 150:  # beyond, even the features' variance is out of range
        done(*base, "--scale", "-o", tmp_path / "m.bagwise")


def test_fit_without_labels_asks_for_their_column(folder, tmp_path):
    base = ["--bag", "slide", "--features", "f0,f1", "-m", "MI-SVM", "-o", tmp_path / "m"]
    refused(1, "name their column with --label", "fit", folder / "new.csv", *base)


def test_fit_refuses_missing_numbers_by_name(tmp_path):
    (tmp_path / "gaps.csv").write_text("bag,label,f\na,1,0.5\nb,0,NA\n")
    refused(
        1,
        "contains NaN",
        "fit",
        tmp_path / "gaps.csv",
        "-m",
        "MI-SVM",
        "-o",
        tmp_path / "m.bagwise",
    )


def test_fit_names_a_file_that_is_not_there(tmp_path):
    message = "There is no file or folder"
    refused(1, message, "fit", tmp_path / "no.csv", "-m", "MI-SVM", "-o", tmp_path / "m.bagwise")


def test_fit_without_a_model_says_so(folder):
    refused(2, "--model", "fit", folder / "train.csv")


def test_a_search_without_candidates_says_how_to_give_them(folder, tmp_path):
    base = [*COLUMNS, "--features", "f0,f1", "--cv", "-o", tmp_path / "m.bagwise"]
    message = "EMDD has no usual candidates"
    refused(2, message, "fit", folder / "train.csv", "-m", "EM-DD", *base)


def test_options_that_a_format_lacks_are_named(folder, tmp_path):
    bags, y = read(folder / "train.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    write(tmp_path / "train.bags", bags, y)
    base = ["-m", "MI-SVM", "-o", tmp_path / "m.bagwise"]
    message = "--groups is not for files of the format bags"
    refused(2, message, "fit", tmp_path / "train.bags", "--groups", "patient", *base)
    done("fit", tmp_path / "train.bags", *base)


def test_a_search_with_too_few_groups_says_so(folder, tmp_path):
    base = [*COLUMNS, "--features", "f0,f1", "-m", "MI-SVM", "--cv", "-o", tmp_path / "m.bagwise"]
    few = tmp_path / "few.csv"
    few.write_text("".join((folder / "train.csv").read_text().splitlines(keepends=True)[:60]))
    refused(1, "5 folds need 5: take fewer folds", "fit", few, *base, "--groups", "patient")


# predict ------------------------------------------------------------------------------------------


def test_predict_gives_one_row_a_bag(folder):
    done("predict", folder / "model.bagwise", folder / "new.csv", "-o", folder / "out.csv")
    rows = rows_of(folder / "out.csv")
    bags, _ = read(folder / "new.csv", bag="slide", features=["f0", "f1"])
    model = bagwise.load(folder / "model.bagwise")
    assert list(rows[0]) == ["bag", "label", "score", "key_instance"]
    assert [row["bag"] for row in rows] == bags.ids.tolist()
    assert [row["label"] for row in rows] == model.predict(bags).tolist()
    assert [float(row["score"]) for row in rows] == model.decision_function(bags).tolist()
    keys = bags.instance_ids[bags.flat(model.key_instances(bags))]
    assert [row["key_instance"] for row in rows] == keys.tolist()


def test_predict_gives_one_row_an_instance(folder):
    done(
        "predict",
        folder / "model.bagwise",
        folder / "new.csv",
        "--instances",
        "-o",
        folder / "i.tsv",
    )
    with open(folder / "i.tsv", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    bags, _ = read(folder / "new.csv", bag="slide", features=["f0", "f1"])
    model = bagwise.load(folder / "model.bagwise")
    assert [row["instance"] for row in rows] == bags.instance_ids.tolist()
    scores = model.instance_decision_function(bags)
    assert [float(row["score"]) for row in rows] == scores.tolist()
    assert [row["label"] for row in rows] == model.predict_instances(bags).tolist()
    assert sum(row["key"] == "True" for row in rows) == len(bags)


def test_predict_shows_a_table_and_prints_json(folder):
    shown = done("predict", folder / "model.bagwise", folder / "new.csv").stdout
    assert "key_instance" in shown
    printed = done("predict", folder / "model.bagwise", folder / "new.csv", "--json").stdout
    records = json.loads(printed)
    assert [record["bag"] for record in records] == [f"s{i}" for i in range(12)]
    assert all(f" {record['bag']} " in shown for record in records)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_predict_writes_other_formats(folder, suffix):
    out = folder / f"out.{suffix}"
    done("predict", folder / "model.bagwise", folder / "new.csv", "-o", out)
    if suffix == "json":
        scores = [record["score"] for record in json.loads(out.read_text())]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        scores = parquet.read_table(out)["score"].to_pylist()
    bags, _ = read(folder / "new.csv", bag="slide", features=["f0", "f1"])
    model = bagwise.load(folder / "model.bagwise")
    assert scores == model.decision_function(bags).tolist()


def test_scores_and_probabilities_point_towards_the_positive_class(folder):
    fit(folder, "p.bagwise", "-p", "probability=sigmoid", "-p", "cv=3", "--positive", "normal")
    records = json.loads(done("predict", folder / "p.bagwise", folder / "new.csv", "--json").stdout)
    bags, _ = read(folder / "new.csv", bag="slide", features=["f0", "f1"])
    model = bagwise.load(folder / "p.bagwise")
    chances = model.predict_proba(bags)[:, 0]  # of "normal"
    assert [record["probability"] for record in records] == chances.tolist()
    assert [record["score"] for record in records] == (-model.decision_function(bags)).tolist()
    for record in records:
        assert (record["score"] > 0) == (record["label"] == "normal")


def test_three_classes_have_a_column_each(tmp_path):
    rng = np.random.default_rng(0)
    lines = ["bag,label,f,g"]
    for i in range(18):
        kind = "abc"[i % 3]
        centre = {"a": (0, 0), "b": (4, 0), "c": (0, 4)}[kind]
        for _ in range(3):
            f, g = rng.normal(centre, 0.5)
            lines.append(f"n{i},{kind},{f},{g}")
    (tmp_path / "three.csv").write_text("\n".join(lines))
    model = tmp_path / "m.bagwise"
    done("fit", tmp_path / "three.csv", "-m", "MI-SVM", "-p", "kernel=linear", "-o", model)
    (record, *_) = json.loads(done("predict", model, tmp_path / "three.csv", "--json").stdout)
    assert {"score_a", "score_b", "score_c"} < record.keys()
    assert "score" not in record
    explained = json.loads(done("explain", model, tmp_path / "three.csv", "--json").stdout)
    assert {row["label"] for row in explained} == {"a", "b", "c"}


def test_columns_that_the_model_does_not_know_are_left_alone(folder):
    with_label = done("predict", folder / "model.bagwise", folder / "test.csv", "--json").stdout
    without = done("predict", folder / "model.bagwise", folder / "new.csv", "--json").stdout
    assert with_label == without


def test_a_model_without_instance_scores_predicts_bags_only(folder):
    base = [*COLUMNS, "--features", "f0,f1", "-o", folder / "stk.bagwise"]
    done("fit", folder / "train.csv", "-m", "STK", *base)
    printed = done("predict", folder / "stk.bagwise", folder / "new.csv", "--json").stdout
    assert "key_instance" not in json.loads(printed)[0]
    for command in (["predict", "--instances"], ["explain"]):
        name, *more = command
        refused(1, "compares whole bags", name, folder / "stk.bagwise", folder / "new.csv", *more)


def test_other_formats_predict_the_same(folder, tmp_path):
    bags, y = read(folder / "test.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    bags = bags.replace(X=bags.X * [1.0, 0.0])  # svmlight does not write the last feature
    expected = bagwise.load(folder / "model.bagwise").decision_function(bags).tolist()
    for name in ("t.bags", "t.svm", "t.arff", "t.mat", "t.parquet"):
        plain = bags.replace(feature_names=None) if name == "t.svm" else bags
        write(tmp_path / name, plain, y)
        bag = ["--bag", "bag"] if name == "t.parquet" else []
        printed = done("predict", folder / "model.bagwise", tmp_path / name, *bag, "--json").stdout
        found = [record["score"] for record in json.loads(printed)]
        assert found == pytest.approx(expected, rel=1e-12), name


def test_columns_by_number_need_no_header(folder, tmp_path):
    model = tmp_path / "m.bagwise"
    lines = ["0.5,x,a", "0.1,x,a", "3.0,y,b", "0.2,z,a", "3.5,w,b"]
    (tmp_path / "bare.csv").write_text("\n".join(lines))
    base = ["fit", tmp_path / "bare.csv", "--bag", "1", "--label", "2", "-o", model]
    done(*base, "-m", "MI-SVM", "-p", "kernel=linear")
    records = json.loads(done("evaluate", model, tmp_path / "bare.csv", "--json").stdout)
    assert records["n_bags"] == 4


def test_columns_that_are_guessed_are_told(tmp_path):
    model = tmp_path / "m.bagwise"
    (tmp_path / "bare.csv").write_text("\n".join(["x,a,0.5", "x,a,0.1", "y,b,3.0", "z,a,0.2"]))
    base = ["fit", tmp_path / "bare.csv", "-m", "MI-SVM", "-o", model]
    assert "no header" not in done(*base, "--bag", "0", "--label", "1").stderr
    said = done(*base, "--bag", "0").stderr
    assert "has no header: labels are column 1; name others with --label (" in said
    said = done(*base).stderr
    assert "bags are column 0, labels are column 1; name others with --bag and --label" in said
    told = done("predict", model, tmp_path / "bare.csv", "--json")
    assert "bags are column 0; name others with --bag (" in told.stderr
    assert len(json.loads(told.stdout)) == 3
    (tmp_path / "named.csv").write_text("bag,label,f\nx,a,0.5\ny,b,3.0\nz,a,0.2\n")
    assert "no header" not in done("fit", tmp_path / "named.csv", *base[2:]).stderr


# Errors in the words of the command line ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("slide,f\na,1\n", [], "has no column 'bag'; name yours with --bag, one of"),
        ("bag,label,f,g\na,1,1,x\nb,0,2,y\n", [], "leave it out: name the others with --features."),
        ("bag,label,f\na,1,1\nb,0,2\na,1,3\n", [], "pass --regroup to bring them together"),
        ("bag,label,f\na,1,1\nb,0,NA\n", [], "or in Python put PerInstance(SimpleImputer())"),
        (
            "bag,label,f\na,1,1\nb,0,2\nc,2,3\n",
            ["--positive", "2"],
            "--positive is for two classes",
        ),
        (
            "bag,label,f\na,1,1\nb,0,2\nc,1,3\nd,0,1\n",
            ["-p", "threshold=calibrated"],
            "Lower the folds with --param cv=2 or",
        ),
        ("a\0b\n", ["--bag", "0"], "Pass --format NAME."),
    ],
)
def test_errors_name_flags(tmp_path, text, more, message):
    path = tmp_path / ("data" if "\0" in text else "data.csv")
    path.write_text(text)
    refused(1, message, "fit", path, "-m", "MI-SVM", "-o", tmp_path / "m.bagwise", *more)


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain"])
def test_a_damaged_model_is_refused(folder, tmp_path, command):
    whole = (folder / "model.bagwise").read_bytes()
    (tmp_path / "m.bagwise").write_bytes(whole.replace(b'"n_iter_": ', b'"n_iter_": 1', 1)[:-1])
    refused(1, "m.bagwise: ", command, tmp_path / "m.bagwise", folder / "test.csv")
    refused(1, "is no model file", command, folder / "train.csv", folder / "test.csv")
    refused(1, "There is no file", command, folder / "none.bagwise", folder / "test.csv")


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (2, "must end in .csv, .tsv, .json, .parquet", ["-o", "out.xls"]),
        (2, "there is no folder no/such", ["-o", "no/such/out.csv"]),
        (1, "has no column 'slice'", ["--bag", "slice"]),
        (2, "No such option", ["--model", "MI-SVM"]),
    ],
)
def test_predict_refuses_bad_arguments(folder, status, message, more):
    refused(status, message, "predict", folder / "model.bagwise", folder / "new.csv", *more)


def test_predict_names_a_missing_feature(folder, tmp_path):
    (tmp_path / "narrow.csv").write_text("slide,f0\ns1,0.5\n")
    message = "has no column 'f1'"
    refused(1, message, "predict", folder / "model.bagwise", tmp_path / "narrow.csv")


# evaluate -----------------------------------------------------------------------------------------


def test_evaluate_counts_right_and_wrong(folder):
    printed = done("evaluate", folder / "model.bagwise", folder / "test.csv", "--json").stdout
    record = json.loads(printed)
    bags, y = read(folder / "test.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    model = bagwise.load(folder / "model.bagwise")
    assert record["accuracy"] == np.mean(model.predict(bags) == y)
    assert record["n_bags"] == 12
    counts = [count for row in record["confusion"].values() for count in row.values()]
    assert sum(counts) == 12
    shown = done("evaluate", folder / "model.bagwise", folder / "test.csv").stdout
    assert f"{record['accuracy']:.4f}" in shown
    assert "true \\ predicted" in shown


def test_evaluate_judges_key_instances_where_the_truth_is_known(folder, tmp_path):
    lines = (folder / "test.csv").read_text().splitlines()
    head, rows = lines[0], lines[1:]
    truth = [head + ",instance_label"]
    truth += [f"{row},{int(i % 3 == 0)}" for i, row in enumerate(rows)]
    (tmp_path / "truth.csv").write_text("\n".join(truth))
    printed = done("evaluate", folder / "model.bagwise", tmp_path / "truth.csv", "--json").stdout
    assert {"key_instance_rate", "instance_auc"} <= json.loads(printed).keys()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("slide,f0,f1\ns1,0,1\n", "name their column with --label"),
        ("slide,diagnosis,f0,f1\ns1,cyst,0,1\n", "has the label cyst; the model knows"),
        ("slide,diagnosis,f0,f1\ns1,tumor,0,1\n", "an evaluation needs both classes"),
    ],
)
def test_evaluate_refuses_labels_that_do_not_fit(folder, tmp_path, text, message):
    (tmp_path / "odd.csv").write_text(text)
    refused(1, message, "evaluate", folder / "model.bagwise", tmp_path / "odd.csv")


# explain ------------------------------------------------------------------------------------------


def test_explain_shows_the_best_instances_of_positive_bags(folder):
    model, data = folder / "model.bagwise", folder / "new.csv"
    rows = json.loads(done("explain", model, data, "--top", "2", "--json").stdout)
    loaded = bagwise.load(model)
    bags, _ = read(data, bag="slide", features=["f0", "f1"])
    positive = bags.ids[loaded.predict(bags) == "tumor"].tolist()
    assert list(dict.fromkeys(row["bag"] for row in rows)) == positive
    keys = dict(
        zip(bags.ids, bags.instance_ids[bags.flat(loaded.key_instances(bags))], strict=True)
    )
    scores = dict(zip(bags.instance_ids, loaded.instance_decision_function(bags), strict=True))
    for row in rows:
        assert row["rank"] <= 2
        assert row["score"] == scores[row["instance"]]
        if row["rank"] == 1:
            assert row["instance"] == keys[row["bag"]]


def test_explain_names_the_features_of_a_linear_model(folder):
    model, data = folder / "model.bagwise", folder / "new.csv"
    rows = json.loads(done("explain", model, data, "--top", "1", "--json").stdout)
    loaded = bagwise.load(model)
    bags, _ = read(data, bag="slide", features=["f0", "f1"])
    place = {name: i for i, name in enumerate(bags.instance_ids)}
    for row in rows:
        shares = loaded.coef_[0] * bags.X[place[row["instance"]]]
        name, share = row["because"].split(", ")[0].split(" ")
        assert name == f"f{shares.argmax()}"
        assert float(share) == pytest.approx(shares.max(), rel=1e-2)


def test_explain_only_some_bags_or_all_of_them(folder):
    model, data = folder / "model.bagwise", folder / "new.csv"
    rows = json.loads(done("explain", model, data, "--only", "s3", "--json").stdout)
    assert {row["bag"] for row in rows} == {"s3"}
    rows = json.loads(done("explain", model, data, "--all", "--json").stdout)
    assert {row["bag"] for row in rows} == {f"s{i}" for i in range(12)}
    assert "because" in done("explain", model, data).stdout


def test_explain_refuses_bad_arguments(folder):
    base = ["explain", folder / "model.bagwise", folder / "new.csv"]
    refused(1, "There is no bag 's99'; the first ones are ['s0'", *base, "--only", "s99")
    refused(2, "--top", *base, "--top", "0")


# convert ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["bags", "arff", "svm", "mat", "tsv", "parquet"])
@pytest.mark.filterwarnings("ignore:.*no place for groups")
def test_convert_keeps_the_bags(folder, tmp_path, suffix):
    out = tmp_path / f"out.{suffix}"
    base = [*COLUMNS, "--features", "f0,f1", "--groups", "patient", "--json"]
    record = json.loads(done("convert", folder / "train.csv", out, *base).stdout)
    before, y = read(folder / "train.csv", bag="slide", label="diagnosis", features=["f0", "f1"])
    after, labels = read(out)
    X = after.X.toarray() if hasattr(after.X, "toarray") else after.X
    np.testing.assert_array_equal(X, before.X)
    np.testing.assert_array_equal(after.offsets, before.offsets)
    assert [str(label) for label in labels] == y.tolist()
    assert record == {"file": str(out), "n_bags": 30, "n_instances": before.n_instances,
                      "n_features": 2, "labels": True}  # fmt: skip


def test_convert_replaces_only_when_told(folder, tmp_path):
    out = tmp_path / "out.bags"
    base = ["convert", folder / "train.csv", out, *COLUMNS, "--features", "f0,f1"]
    assert "30 bags" in done(*base).stderr
    refused(2, "is there already; --force replaces it", *base)
    done(*base, "--force")


def test_convert_refuses_what_it_cannot_write(folder, tmp_path):
    base = ["convert", folder / "train.csv"]
    named = [*COLUMNS, "--features", "f0,f1"]
    refused(2, "must end in .csv, .tsv,", *base, tmp_path / "out.xls", *named)
    refused(1, "There is no file", "convert", tmp_path / "none.csv", tmp_path / "out.bags")
    refused(2, "Missing argument", "convert", folder / "train.csv")


def test_scattered_rows_are_brought_together_when_told(tmp_path):
    (tmp_path / "mixed.csv").write_text("bag,label,f\na,1,1\nb,0,2\na,1,3\n")
    base = ["convert", tmp_path / "mixed.csv", tmp_path / "out.csv"]
    refused(1, "appears again after other bags", *base)
    done(*base, "--regroup")
    assert read(tmp_path / "out.csv")[0].sizes.tolist() == [2, 1]


# Help ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command", ["fit", "predict", "evaluate", "explain", "convert", "cv", "compare"]
)
def test_help_teaches_by_example(command):
    result = done(command, "--help")
    assert f"bagwise {command} " in result.stdout.replace(f"Usage: bagwise {command}", "")
    assert "--json" in result.stdout


def test_the_shell_completes_models_and_data_sets():
    from bagwise.cli.options import _data_names, _method_names

    assert _method_names("MI-S") == ["MI-SVM"]
    assert "WitnessSVC" in _method_names("W")
    assert _data_names("musk") == ["musk1", "musk2"]
    script = CliRunner().invoke(
        app,
        [],
        prog_name="bagwise",
        env={**WIDE, "_BAGWISE_COMPLETE": "complete_bash", "COMP_WORDS": "bagwise fit --model MI-S",
             "COMP_CWORD": "3"},
    )  # fmt: skip
    assert "MI-SVM" in script.output
