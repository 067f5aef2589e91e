"""Numbers, grades and times on the command line, from a table to the evaluation."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import call, done, rows_of

ROLES = {
    "numbers": ["--label", "pKi", "--drop", "grade,died,months"],
    "grades": ["--label", "grade", "--drop", "pKi,died,months"],
    "times": ["--duration", "months", "--event", "died", "--drop", "pKi,grade"],
}
MODELS = {
    "numbers": ["--model", "WitnessRegressor", "-p", "kernel=linear"],
    "grades": ["--model", "OrdinalBagClassifier", "--order", "mild,moderate,severe"],
    "times": ["--model", "BagSurvival", "-p", "times=2"],
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng, rows = np.random.default_rng(0), []
    for i in range(80):
        X = rng.normal(size=(rng.integers(3, 9), 3))
        worst = X[:, 0].max()
        grade = ["mild", "moderate", "severe"][int(np.digitize(worst, [1.0, 1.8]))]
        time, until = rng.exponential(np.exp(2 - 2 * worst)), rng.exponential()
        label = [f"m{i}", f"p{i // 2}", worst + 0.1 * rng.normal(), grade]
        rows += [[*label, int(time <= until), min(time, until), *x] for x in X]
    names = ["mol", "patient", "pKi", "grade", "died", "months", "a", "b", "c"]
    path = tmp_path_factory.mktemp("tasks") / "mols.csv"
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("task", ROLES)
def test_the_road(task, table, tmp_path):
    model, out = tmp_path / "m.bagwise", tmp_path / "rows.csv"
    common = ["--bag", "mol", "--groups", "patient", *ROLES[task]]
    done("fit", table, *common, *MODELS[task], "--out", model)
    found = json.loads(done("evaluate", model, table, "--json").stdout)
    metric = {"numbers": "r2", "grades": "kappa", "times": "uno_c"}[task]
    low, high = found["intervals"][metric]
    assert 0.6 < low <= found[metric] <= high
    done("predict", model, table, "--out", out)
    name = {"numbers": "number", "grades": "label", "times": "risk"}[task]
    columns = rows_of(out)[0].keys()
    assert {"bag", name, "key_instance"} <= set(columns)
    assert any(column.startswith("survival_") for column in columns) == (task == "times")
    done("predict", model, table, "--instances", "--out", out, "--force")
    page = json.loads(done("report", model, table, "--out", tmp_path / "r.html", "--json").stdout)
    assert page["n_folds"] == 5
    shown = json.loads(done("explain", model, table, "--only", "m1", "--json").stdout)
    assert {row["bag"] for row in shown} == {"m1"}
    result = done("cv", table, *common, *MODELS[task], "--folds", 3, "-j", 1, "--json")
    assert metric in json.loads(result.stdout)["metrics"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--label", "pKi", "--model", "MI-SVM"], "bagwise fit --model AutoBagRegressor"),
        (["--label", "pKi", "--model", "CoxBag"], "give --duration and --event"),
        (["--duration", "months", "--event", "died", "--model", "MeanRegressor"], "does not take"),
        (["--duration", "months", "--model", "CoxBag"], "belong together"),
        (["--label", "grade", "--model", "MI-SVM", "--order", "mild"], "--order is for grades"),
        (["--label", "grade", "--model", "OrdinalBagClassifier", "--order", "mild,severe"],
            "does not have the label moderate"),
        (["--label", "grade", "--model", "OrdinalBagClassifier"], "--order gives the order of"),
        (["--label", "grade", "--model", "OrdinalBagClassifier", "--order", "mild,mild"], "twice"),
        (["--label", "grade", "--model", "MeanRegressor"], "take a classifier"),
        (["--label", "pKi", "--model", "MeanRegressor", "--positive", "1"], "is for two classes"),
        (["--label", "pKi", "--model", "MeanRegressor", "--cv"], "AutoBagRegressor"),
    ],
)  # fmt: skip
def test_labels_of_another_kind_are_named(words, says, table, tmp_path):
    left = ",".join({"pKi", "grade", "died", "months", "patient"} - set(words))
    result = call("fit", table, "--bag", "mol", "--drop", left, *words, "--out", tmp_path / "m")
    assert result.exit_code != 0
    assert says in " ".join(result.output.replace("│", " ").split())


def test_pictures_are_for_classes(table, tmp_path):
    model = tmp_path / "m.bagwise"
    common = ["--bag", "mol", "--groups", "patient", *ROLES["numbers"]]
    done("fit", table, *common, *MODELS["numbers"],
        "--out", model)  # fmt: skip
    result = call("heatmap", model, table, "--bag", "m1", "--out", tmp_path / "x.png")
    assert result.exit_code != 0
    assert "predicts numbers" in result.output


def test_numbers_are_compared_by_their_r2(table):
    common = ["--bag", "mol", "--groups", "patient", *ROLES["numbers"], "-j", 1]
    models = ["--models", "WitnessRegressor,MeanRegressor"]
    rows = json.loads(done("compare", table, *common, *models, "--json").stdout)
    assert [row["model"] for row in rows][:2] == ["ensemble", "WitnessRegressor"]
    assert rows[0]["low"] <= rows[0]["r2"] <= rows[0]["high"]
    shown = done("compare", table, *common, *models)
    assert "95 % interval" in shown.stdout
    assert "--model AutoBagRegressor" in shown.output
    refused = call("compare", table, "--bag", "mol", "--label", "grade", "--drop",
        "pKi,died,months,patient", "--models", "MeanRegressor")  # fmt: skip
    assert "are classes" in " ".join(refused.output.split())
