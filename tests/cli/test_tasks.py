"""Numbers, grades and times on the command line: every task with every command."""

import json

import numpy as np
import pandas as pd
import pytest

from bagwise import CoxBag, OrdinalBagClassifier, WitnessRegressor, save
from bagwise.datasets import make_slide_bags
from bagwise.io import read, write_slides
from bagwise.persistence import describe
from command_line import call, done, refused, rows_of

ROLES = {
    "numbers": ["--label", "pKi", "--drop", "grade,died,months,score"],
    "grades": ["--label", "grade", "--drop", "pKi,died,months,score"],
    "times": ["--duration", "months", "--event", "died", "--drop", "pKi,grade,score"],
}
ORDER = ["--order", "mild,moderate,severe"]
MODELS = {
    "numbers": ["--model", "WitnessRegressor", "-p", "kernel=linear"],
    "grades": ["--model", "MI-SVM", "-p", "kernel=linear", *ORDER],
    "times": ["--model", "MI-SVM", "-p", "kernel=linear"],
}
COMPARED = {
    "numbers": "WitnessRegressor,MeanRegressor",
    "grades": "MI-SVM,SimpleMI",
    "times": "MI-SVM,CoxBag",
}
NAMES = {"numbers": "number", "grades": "label", "times": "risk"}
METRICS = {"numbers": "r2", "grades": "kappa", "times": "harrell_c"}
CLASSES = {
    "numbers": "WitnessRegressor", "grades": "OrdinalBagClassifier", "times": "BagSurvival"
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng, rows = np.random.default_rng(0), []
    for i in range(80):
        X = rng.normal(size=(rng.integers(3, 9), 3))
        worst = X[:, 0].max()
        code = int(np.digitize(worst, [1.0, 1.8]))
        time, until = rng.exponential(np.exp(2 - 2 * worst)), rng.exponential()
        label = [f"m{i}", f"p{i // 2}", worst + 0.1 * rng.normal()]
        label += [["mild", "moderate", "severe"][code], code, int(time <= until), min(time, until)]
        rows += [[*label, *x] for x in X]
    names = ["mol", "patient", "pKi", "grade", "score", "died", "months", "a", "b", "c"]
    path = tmp_path_factory.mktemp("tasks") / "mols.csv"
    pd.DataFrame(rows, columns=names).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module", params=ROLES)
def fitted(request, table, tmp_path_factory):
    """A task, the options that read its labels, and a model file."""
    task, model = request.param, tmp_path_factory.mktemp("models") / "m.bagwise"
    common = ["--bag", "mol", "--groups", "patient", *ROLES[task]]
    done("fit", table, *common, *MODELS[task], "--out", model)
    return task, common, model


def check_info(task, common, model, table, folder):
    found = json.loads(done("info", table, *common, *ORDER * (task == "grades"), "--json").stdout)
    assert found["task"] == task
    assert found["next"].startswith("bagwise compare")
    done("info", table, *common, *ORDER * (task == "grades"))


def check_fit(task, common, model, table, folder):
    assert describe(model)["class"] == CLASSES[task]
    grid = ["--cv", "-p", "C=[0.1,1]", "--folds", 3]
    words = ["fit", table, *common, *MODELS[task], *grid, "--out", folder / "n", "--json"]
    tried = json.loads(done(*words).stdout)["cross_validation"]
    assert [row[METRICS[task]] > 0.5 for row in tried] == [True, True]


def check_cv(task, common, model, table, folder):
    result = done("cv", table, *common, *MODELS[task], "--folds", 3, "-j", 1, "--json")
    assert METRICS[task] in json.loads(result.stdout)["metrics"]


def check_compare(task, common, model, table, folder):
    words = ["compare", table, *common, *ORDER * (task == "grades"), "--models", COMPARED[task]]
    words += ["--folds", 3, "--repeats", 1, "--time", "none", "-j", 1]
    words += ["--report", folder / "c.html"]
    found = done(*words, "--json")
    record = json.loads(found.stdout)
    best, *_ = record["models"]
    assert record["recommendation"] in COMPARED[task]
    assert best[f"{METRICS[task]}_low"] < best[METRICS[task]] < best[f"{METRICS[task]}_high"]
    assert "Next: bagwise fit" in found.stderr
    assert "chance" in (folder / "c.html").read_text()


def check_auto(task, common, model, table, folder):
    models = COMPARED[task].replace("MI-SVM", "BagSurvival" if task == "times" else "MI-SVM")
    models = models.split(",")
    words = [*common, *ORDER * (task == "grades"), "--model", "auto", "-p", f"models={models}"]
    done("fit", table, *words, "--out", folder / "a.bagwise")
    done("predict", folder / "a.bagwise", table, "--out", folder / "a.csv")


def check_evaluate(task, common, model, table, folder):
    found = json.loads(done("evaluate", model, table, "--json").stdout)
    low, high = found["intervals"][METRICS[task]]
    assert 0.6 < low <= found[METRICS[task]] <= high


def check_predict(task, common, model, table, folder):
    done("predict", model, table, "--out", folder / "p.csv")
    columns = rows_of(folder / "p.csv")[0].keys()
    assert {"bag", NAMES[task], "key_instance"} <= set(columns)
    assert any(column.startswith("survival_") for column in columns) == (task == "times")
    done("predict", model, table, "--instances", "--out", folder / "i.csv")


def check_report(task, common, model, table, folder):
    page = json.loads(done("report", model, table, "--out", folder / "r.html", "--json").stdout)
    assert page["n_folds"] == 5
    assert page[METRICS[task]][0] > 0.6


def check_explain(task, common, model, table, folder):
    shown = json.loads(done("explain", model, table, "--only", "m1", "--json").stdout)
    assert {row["bag"] for row in shown} == {"m1"}
    assert NAMES[task] in shown[0]


COMMANDS = {name.removeprefix("check_"): run for name, run in globals().items() if "check_" in name}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_task_with_every_command(command, fitted, table, tmp_path):
    COMMANDS[command](*fitted, table, tmp_path)


def fit(table, words, tmp_path):
    every = {"pKi", "grade", "score", "died", "months", "patient", "bad"}
    left = ",".join((every & set(pd.read_csv(table, nrows=1))) - set(words))
    return call("fit", table, "--bag", "mol", "--drop", left, *words, "--out", tmp_path / "m")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--label", "pKi", "--model", "MI-SVM"], "bagwise fit --model AutoBagRegressor"),
        (["--label", "pKi", "--model", "CoxBag"], "for other labels take --model auto"),
        (["--duration", "months", "--event", "died", "--model", "MeanRegressor"],
            "MeanRegressor predicts numbers, and the labels are times: take BagSurvival or CoxBag"),
        (["--duration", "months", "--model", "CoxBag"], "belong together"),
        (["--label", "grade", "--model", "MI-SVM", "--order", "mild"], "is not in --order GRADES"),
        (["--label", "grade", "--model", "OrdinalBagClassifier"], "--order gives the order of"),
        (["--label", "grade", "--model", "OrdinalBagClassifier", "--order", "mild,mild"], "twice"),
        (["--label", "grade", "--model", "MeanRegressor"], "take a classifier"),
        (["--label", "pKi", "--model", "MeanRegressor", "--positive", "1"], "is for two classes"),
        (["--label", "pKi", "--task", "grades", "--model", "MI-SVM"], "AutoBagRegressor"),
        (["--label", "score", "--model", "MeanRegressor"], "--task numbers to predict them"),
        (["--label", "died", "--model", "AutoBagRegressor"], "--task classes"),
        (["--label", "pKi", "--task", "grade", "--model", "MI-SVM"], "there is no task 'grade'"),
        (["--duration", "months", "--event", "grade", "--model", "CoxBag"], "--event grade=WORD"),
        (["--duration", "months", "--event", "grade=dire", "--model", "CoxBag"], "column has mild"),
        (["--duration", "months", "--event", "twice", "--model", "CoxBag"], "1, 2: name the one"),
    ],
)  # fmt: skip
def test_labels_of_another_kind_are_named(words, says, table, tmp_path):
    if "twice" in words:
        frame = pd.read_csv(table)
        frame.assign(twice=frame["died"] + 1).to_csv(table := tmp_path / "t.csv", index=False)
    result = fit(table, words, tmp_path)
    assert result.exit_code != 0
    assert says in " ".join(result.output.replace("│", " ").split())


def test_a_word_of_a_column_may_be_the_event(table, tmp_path):
    frame = pd.read_csv(table, float_precision="round_trip")
    frame["bad"] = frame["died"].map({0: "alive", 1: "dead"})
    frame.to_csv(tmp_path / "words.csv", index=False)
    written = []
    for data, event in ((table, "died"), (tmp_path / "words.csv", "bad=dead")):
        words = ["--duration", "months", "--event", event, "--model", "CoxBag", "--force"]
        words += ["--drop", "patient,pKi,grade,score" + ",died" * (event != "died")]
        done("fit", data, "--bag", "mol", *words, "--out", tmp_path / "m")
        written.append(done("evaluate", tmp_path / "m", data, "--json").stdout)
    assert written[0] == written[1]


@pytest.mark.parametrize("other", ["Dead", "DEAD "])
def test_words_like_the_event_are_refused_and_others_counted(other, tmp_path):
    path, words = tmp_path / "t.csv", ["--duration", "months", "--event", "status=dead"]
    text = "bag,months,status,f\na,1,dead,1\nb,2,{},2\nc,3,alive,3\n"
    path.write_text(text.format("lost"))
    said = done("convert", path, tmp_path / "t.bags", *words).stderr
    assert "Event: dead (1); censored: alive (1), lost (1)." in said
    path.write_text(text.format(other))
    refused(2, f"the column also has {other!r}", "info", path, *words)


def test_whole_numbers_may_be_grades(table):
    said = done("info", table, "--bag", "mol", "--label", "score").stderr
    assert "if they are grades, --task grades" in said


def test_classes_in_disguise_are_numbers_if_somebody_says_so(table, tmp_path):
    words = ["--label", "score", "--model", "MeanRegressor"]
    assert fit(table, words, tmp_path).exit_code == 2
    assert fit(table, [*words, "--task", "numbers"], tmp_path).exit_code == 0


@pytest.mark.parametrize(
    ("column", "change", "words", "says"),
    [
        ("pKi", "inf", ["--label", "bad", "--model", "MeanRegressor"], "m0') is inf"),
        ("pKi", "", ["--label", "bad", "--model", "MeanRegressor"], "bad"),
        ("pKi", "low", ["--label", "bad", "--model", "MeanRegressor"], "take a classifier"),
        ("pKi", ">10", ["--label", "bad", "--cut", "1", "--model", "MI-SVM"],
            "--cut is for numbers; the label of Bag 0 (id 'm0') is '>10'. Correct it."),
        ("months", "4,6", ["--duration", "bad", "--event", "died", "--model", "CoxBag"],
            "that of Bag 0 (id 'm0') is '4,6'. For decimal commas give --decimal ','."),
        ("months", "", ["--duration", "bad", "--event", "died", "--model", "CoxBag"],
            "line 2, column 'bad': the label is missing"),
        ("months", "-1", ["--duration", "bad", "--event", "died", "--model", "CoxBag"],
            "m0') is -1"),
        ("died", "2", ["--duration", "months", "--event", "bad", "--model", "CoxBag"],
            "0 (censored) or 1"),
        ("died", None, ["--duration", "months", "--event", "bad", "--model", "CoxBag"],
            "All bags are censored"),
        ("score", None, ["--label", "bad", "--task", "grades", "--model", "MI-SVM"],
            "grades need two"),
    ],
)  # fmt: skip
def test_bad_labels_are_named_with_their_bag(column, change, words, says, table, tmp_path):
    frame = pd.read_csv(table, dtype=str)
    frame["bad"] = "0" if change is None else frame[column].where(frame["mol"] != "m0", change)
    frame.to_csv(tmp_path / "bad.csv", index=False)
    result = fit(tmp_path / "bad.csv", words, tmp_path)
    assert result.exit_code == 1, result.output
    assert says in " ".join(result.output.replace("│", " ").split())


@pytest.mark.parametrize("task", ROLES)
def test_heat_maps_show_numbers_grades_and_risks_of_patches(task, tmp_path):
    bags, worst = make_slide_bags(24, 4, bag_size=(9, 12), random_state=0)
    worst = worst + np.linspace(0, 0.5, 24)
    y = {"numbers": worst, "grades": np.digitize(worst, [0.5, 1.2]), "times": None}[task]
    if y is None:
        y = np.column_stack([np.arange(24) % 3 > 0, 3 - worst])
    model = {"numbers": WitnessRegressor(), "grades": OrdinalBagClassifier(), "times": CoxBag()}
    write_slides(tmp_path / "slides", bags)
    save(model[task].fit(bags, y), tmp_path / "m.bagwise")
    name = str(read(tmp_path / "slides")[0].ids[0])
    done("heatmap", tmp_path / "m.bagwise", tmp_path / "slides", "--bag", name,
        "--out", tmp_path / "map.png", "--geojson", tmp_path / "map.geojson")  # fmt: skip
    assert (tmp_path / "map.png").stat().st_size > 10_000


def test_a_folder_of_slides_may_have_times(tmp_path):
    bags, worst = make_slide_bags(24, 4, bag_size=(9, 12), random_state=0)
    write_slides(tmp_path / "slides", bags)
    died = np.arange(24) % 3 > 0
    frame = pd.DataFrame({"slide_id": bags.ids, "months": 3.5 - worst, "died": died})
    how = {"index": False, "sep": ";", "decimal": ","}
    frame.astype({"died": int}).to_csv(tmp_path / "times.csv", **how)
    model, data = tmp_path / "m.bagwise", [tmp_path / "slides", "--labels", tmp_path / "times.csv"]
    words = [*ROLES["times"][:4], "--decimal", ",", "--model", "CoxBag", "--out", model]
    done("fit", *data, *words)
    assert json.loads(done("evaluate", model, *data, "--json").stdout)["n_bags"] == 24


def test_intervals_of_evaluate_count_patients(fitted, table, tmp_path):
    """Every patient has the same two bags: twice the bags would give a narrower interval."""
    task, _, model = fitted
    frame = pd.read_csv(table)
    twin = frame[frame["mol"].isin([f"m{i}" for i in range(0, 80, 2)])]
    both = pd.concat([twin, twin.assign(mol=twin["mol"] + "-again")])
    both.to_csv(tmp_path / "both.csv", index=False)
    both.drop(columns="patient").to_csv(tmp_path / "alone.csv", index=False)
    width = {}
    for name in ("both", "alone"):
        found = json.loads(done("evaluate", model, tmp_path / f"{name}.csv", "--json").stdout)
        low, high = found["intervals"][METRICS[task]]
        width[name] = high - low
    assert width["both"] > 1.1 * width["alone"]
