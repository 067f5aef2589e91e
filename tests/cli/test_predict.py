"""bagwise predict, evaluate and explain: what the library says, in every format."""

import json

import numpy as np
import pandas as pd
import pytest

import bagwise
from bagwise.io import read, write
from bagwise.persistence import describe
from command_line import done, printed, read_slides, refused, rows_of


@pytest.fixture
def expected(folder):
    """Return the bags to predict and the model, as Python reads them."""
    bags, _ = read_slides(folder / "new.csv", label=None)
    return bags, bagwise.load(folder / "model.bagwise")


def test_predict_gives_one_row_per_bag(folder, tmp_path, expected):
    done("predict", folder / "model.bagwise", folder / "new.csv", "-o", tmp_path / "out.csv")
    rows, (bags, model) = rows_of(tmp_path / "out.csv"), expected
    assert list(rows[0]) == ["bag", "label", "score", "key_instance"]
    assert [row["bag"] for row in rows] == bags.ids.tolist()
    assert [row["label"] for row in rows] == model.predict(bags).tolist()
    assert [float(row["score"]) for row in rows] == model.decision_function(bags).tolist()
    keys = bags.instance_ids[bags.flat(model.key_instances(bags))]
    assert [row["key_instance"] for row in rows] == keys.tolist()


def test_predict_gives_one_row_per_instance(folder, tmp_path, expected):
    out = tmp_path / "instances.tsv"
    done("predict", folder / "model.bagwise", folder / "new.csv", "--instances", "-o", out)
    rows, (bags, model) = rows_of(out, delimiter="\t"), expected
    assert [row["instance"] for row in rows] == bags.instance_ids.tolist()
    scores = model.instance_decision_function(bags)
    assert [float(row["score"]) for row in rows] == scores.tolist()
    assert [row["label"] for row in rows] == model.predict_instances(bags).tolist()
    assert sum(row["key"] == "True" for row in rows) == len(bags)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_predict_writes_other_formats(folder, tmp_path, expected, suffix):
    out = tmp_path / f"out.{suffix}"
    done("predict", folder / "model.bagwise", folder / "new.csv", "-o", out)
    if suffix == "json":
        scores = [record["score"] for record in json.loads(out.read_text())]
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        scores = parquet.read_table(out)["score"].to_pylist()
    bags, model = expected
    assert scores == model.decision_function(bags).tolist()


def test_scores_and_probabilities_point_toward_the_positive_class(folder, fit, expected):
    params = ["-m", "SimpleMI", "-p", "probability=sigmoid", "-p", "calibration_cv=3"]
    _, out = fit(*params, "--positive", "normal")
    records = printed("predict", out, folder / "new.csv")
    bags, model = expected[0], bagwise.load(out)
    chances = model.predict_proba(bags)[:, 0]  # of "normal"
    assert [record["probability"] for record in records] == chances.tolist()
    assert [record["score"] for record in records] == (-model.decision_function(bags)).tolist()
    for record in records:
        assert (record["score"] > 0) == (record["label"] == "normal")


def test_three_classes_have_a_column_each(tmp_path):
    rng, y = np.random.default_rng(0), np.arange(24) % 3
    centers = 4.0 * np.array([[0, 0], [1, 0], [0, 1]])
    bags = bagwise.Bags.from_list([rng.normal(centers[label], 0.5, (3, 2)) for label in y])
    data, model = tmp_path / "three.csv", tmp_path / "m.bagwise"
    bagwise.io.write(data, bags, np.array(list("abc"))[y])
    probable = ["-p", "probability=sigmoid", "-p", "calibration_cv=3"]
    done("fit", data, "-m", "MI-SVM", "-p", "kernel=linear", *probable, "-o", model)
    (record, *_) = printed("predict", model, data)
    assert {f"{what}_{name}" for what in ("score", "probability") for name in "abc"} < record.keys()
    assert "score" not in record
    assert {row["label"] for row in printed("explain", model, data)} == {"a", "b", "c"}
    record = printed("evaluate", model, data)
    low, high = record["intervals"]["accuracy"]
    assert low < record["accuracy"] <= high
    assert {"sensitivity of a", "sensitivity of b", "sensitivity of c"} <= record.keys()


def test_a_model_of_whole_bags_points_at_instances_without_labeling_them(folder, fit):
    _, out = fit("-m", "STK")
    assert "key_instance" in printed("predict", out, folder / "new.csv")[0]
    rows = printed("predict", out, folder / "new.csv", "--instances")
    assert rows[0].keys() == {"bag", "instance", "score", "key"}
    assert printed("explain", out, folder / "new.csv")


def test_evaluate_counts_right_and_wrong(folder):
    record = printed("evaluate", folder / "model.bagwise", folder / "test.csv")
    bags, y = read_slides(folder / "test.csv")
    predicted = bagwise.load(folder / "model.bagwise").predict(bags)
    assert record["accuracy"] == np.mean(predicted == y)
    assert record["n_bags"] == 12
    wrong = int(np.sum((y == "tumor") & (predicted == "normal")))
    assert record["confusion"]["tumor"]["normal"] == wrong
    assert sum(count for row in record["confusion"].values() for count in row.values()) == 12
    shown = done("evaluate", folder / "model.bagwise", folder / "test.csv").stdout
    assert f"{record['accuracy']:.4f}" in shown
    assert "true \\ predicted" in shown


def test_evaluate_judges_key_instances_where_the_truth_is_known(folder, tmp_path):
    head, *rows = (folder / "test.csv").read_text().splitlines()
    truth = [head + ",instance_label"]
    truth += [f"{row},{int(i % 3 == 0)}" for i, row in enumerate(rows)]
    (tmp_path / "truth.csv").write_text("\n".join(truth))
    record = printed("evaluate", folder / "model.bagwise", tmp_path / "truth.csv")
    assert {"key_instance_rate", "instance_auc"} <= record.keys()


def test_evaluate_refuses_one_class(folder, tmp_path):
    (tmp_path / "odd.csv").write_text("slide,diagnosis,f0,f1\ns1,tumor,0,1\n")
    message = "an evaluation needs both classes"
    refused(1, message, "evaluate", folder / "model.bagwise", tmp_path / "odd.csv")


@pytest.fixture
def command(folder):
    return ["explain", folder / "model.bagwise", folder / "new.csv"]


def test_explain_shows_the_best_instances_of_positive_bags(command, expected):
    rows, (bags, model) = printed(*command, "--top", "2"), expected
    positive = bags.ids[model.predict(bags) == "tumor"].tolist()
    assert list(dict.fromkeys(row["bag"] for row in rows)) == positive
    keys = bags.instance_ids[bags.flat(model.key_instances(bags))]
    key_of = dict(zip(bags.ids, keys, strict=True))
    scores = dict(zip(bags.instance_ids, model.instance_decision_function(bags), strict=True))
    for row in rows:
        assert row["rank"] <= 2
        assert row["score"] == scores[row["instance"]]
        if row["rank"] == 1:
            assert row["instance"] == key_of[row["bag"]]


def test_explain_names_the_features_of_a_linear_model(command, expected):
    rows, (bags, model) = printed(*command, "--top", "1"), expected
    place = {name: i for i, name in enumerate(bags.instance_ids)}
    assert rows
    for row in rows:
        shares = model.coef_[0] * (bags.X[place[row["instance"]]] - bags.X.mean(axis=0))
        name, share = row["because"].split(", ")[0].split(" ")
        largest = np.abs(shares).argmax()
        assert name == f"f{largest}"
        assert float(share) == pytest.approx(shares[largest], rel=1e-2)


def test_explain_and_predict_only_some_bags_or_all_of_them(command):
    assert {row["bag"] for row in printed(*command, "--only", "s3")} == {"s3"}
    rows = printed("predict", *command[1:])
    some = ["predict", *command[1:], "--only", "s3,s5", "--only", "s7"]
    assert printed(*some) == [row for row in rows if row["bag"] in ("s3", "s5", "s7")]
    assert {row["bag"] for row in printed(*some, "--instances")} == {"s3", "s5", "s7"}
    assert {row["bag"] for row in printed(*command, "--all")} == {f"s{i}" for i in range(12)}
    assert "because" in done(*command).stdout


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".feather"])
def test_columns_named_by_digits_are_no_positions(suffix, cells, tmp_path):
    bags, y = read(cells)
    numbered, other = tmp_path / f"n{suffix}", tmp_path / f"o{suffix}"
    names = [str(j) for j in (*range(1, bags.n_features), 0)]
    write(numbered, bags.replace(feature_names=names), y)
    write(other, bags.replace(feature_names=["70", *names[1:]]), y)
    model = tmp_path / "m.bagwise"
    done("fit", numbered, "--drop", "0", "-m", "MI-SVM", "--no-calibration", "-o", model)
    assert describe(model)["feature_names"] == names[:-1]
    labels = [row["label"] for row in printed("predict", model, numbered)]
    seen = bags.replace(X=bags.X[:, :-1], feature_names=names[:-1])
    assert labels == bagwise.load(model).predict(seen).tolist()
    refused(1, "has no column '1'", "predict", model, other)


def test_columns_without_names_stay_out(tmp_path):
    rows = (f"s{i // 2},{i // 2 % 2},9.5,{i / 3},0.5\n" for i in range(24))
    (tmp_path / "t.csv").write_text("".join(rows))
    model = ["-m", "MI-SVM", "--no-calibration", "--drop", "2", "-o", tmp_path / "m.bagwise"]
    done("fit", tmp_path / "t.csv", *model)
    assert len(printed("predict", tmp_path / "m.bagwise", tmp_path / "t.csv")) == 12


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".parquet", ".feather", ".h5ad"])
def test_groups_of_the_fit_may_be_missing(suffix, cells, tmp_path):
    bags, y = read(cells)
    frame = bags.to_frame(y).rename(columns={"group": "patient"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    write(alone := tmp_path / f"alone{suffix}", bags.replace(groups=None), y)
    model = ["--positive", "present", "--groups", "patient", "-m", "MI-SVM", "--no-calibration"]
    done("fit", tmp_path / "t.csv", *model, "-o", tmp_path / "m.bagwise")
    done("evaluate", tmp_path / "m.bagwise", alone)


@pytest.mark.parametrize("command", ["predict", "evaluate", "explain", "report"])
def test_remedies_are_options_that_the_command_has(command, folder, tmp_path):
    frame = pd.read_csv(folder / "test.csv")
    words = [command, folder / "model.bagwise", tmp_path / "t.csv"]
    words += ["--out", tmp_path / "r.html"] if command == "report" else []
    for value, remedy in ((None, "fit --impute median`."), ("high", "fit --features NAMES`.")):
        frame.assign(f0=frame["f0"].astype(object).where(frame.index > 0, value)).to_csv(
            tmp_path / "t.csv", index=False
        )
        said = refused(1, f"with `bagwise {remedy}", *words).stderr
        assert "Hint" not in said
    frame.to_csv(tmp_path / "t.csv", index=False, decimal=",", sep=";")
    refused(1, "pass --decimal ','", *words)
    done(*words, "--decimal", ",")


def test_no_positive_bag_is_said(folder, tmp_path):
    (tmp_path / "empty.csv").write_text("slide,f0,f1\ns1,-99,-99\n")
    command = ["explain", folder / "model.bagwise", tmp_path / "empty.csv"]
    result = done(*command, "--json")
    assert result.stdout.strip() == "[]"
    assert "No bag is predicted positive; --all explains the others too." in result.stderr
    assert len(printed(*command, "--all")) == 1
