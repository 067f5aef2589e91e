"""cv and compare: the numbers are those of the library, and bad input ends before the work."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from bagwise import InstanceSVC, WitnessSVC
from bagwise.bags import Bags
from bagwise.comparison import Ranking, candidates, compare_models, grid_points, search
from bagwise.datasets import make_gaussian_bags
from bagwise.io import write
from bagwise.papers import METHODS
from bagwise.testing._problems import planted_bags
from command_line import done, refused

LINEAR = ["--param", "kernel=linear"]
ONE = ["--jobs", "1"]


@pytest.fixture(scope="module")
def problem():
    return make_gaussian_bags(n_bags=36, shift=4.0, random_state=0)


@pytest.fixture(scope="module")
def data(problem, tmp_path_factory):
    path = tmp_path_factory.mktemp("judging") / "cells.csv"
    bags, y = problem
    bags = Bags(bags.X, bags.offsets, groups=np.arange(len(bags)) // 2)
    write(path, bags, np.array(["absent", "present"])[y])
    return path


# cv -----------------------------------------------------------------------------------------------


def test_cv_gives_the_accuracy_of_the_folds(problem, tmp_path):
    bags, y = problem
    write(tmp_path / "plain.bags", bags, y)
    printed = done(
        "cv", tmp_path / "plain.bags", "-m", "MI-SVM", *LINEAR, "--folds", 3, *ONE, "--json"
    )
    metrics = json.loads(printed.stdout)["metrics"]
    folds = StratifiedKFold(3, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    model = WitnessSVC(kernel="linear")
    scores = [model.fit(bags[a], y[a]).score(bags[b], y[b]) for a, b in folds]
    assert metrics["accuracy"]["mean"] == pytest.approx(np.mean(scores))
    assert metrics["accuracy"]["error"] == pytest.approx(np.std(scores, ddof=1) / np.sqrt(3))
    assert {"balanced_accuracy", "auc"} < metrics.keys()


def test_cv_shows_a_table(data):
    base = ["cv", data, "-m", "MI-SVM", *LINEAR, "--folds", 3, "--repeats", 2, "--scale", *ONE]
    shown = done(*base, "--groups", "group", "--positive", "absent").stdout
    assert "3 folds, 2 times" in shown
    assert "standard error" in shown
    assert "pos_label='absent'" in shown


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (2, "There is no method 'MISVM'", ["-m", "MISVM"]),
        (2, "no parameter 'negatives'", ["-p", "negatives=bags"]),
        (2, "--folds", ["--folds", "1"]),
        (2, "--jobs must be at least 1, or -1", ["-j", "0"]),
        (1, "folds need 19", ["--folds", "19"]),
        (1, "has no column 'x'", ["--bag", "x"]),
        (2, "the labels are", ["--positive", "x"]),
        (2, "The 'C' parameter", ["-p", "C=none"]),
        (2, "A list of candidates needs `bagwise fit --cv`", ["-p", "C=[1,2]"]),
    ],
)
def test_cv_refuses_bad_arguments(data, status, message, more):
    refused(status, message, "cv", data, "-m", "MI-SVM", *more)


# compare ------------------------------------------------------------------------------------------


def test_compare_ranks_the_named_models(data):
    base = ["compare", data, "--models", "SIL,MI-SVM", "--folds", 3, *ONE]
    result = done(*base, "--json")
    record = json.loads(result.stdout)
    accuracies = [model["accuracy"] for model in record["models"]]
    assert sorted(model["name"] for model in record["models"]) == ["MI-SVM", "SIL"]
    assert accuracies == sorted(accuracies, reverse=True)
    assert all(len(model["chosen"]) == 3 for model in record["models"])
    assert record["most_frequent_class"] == 0.5
    shown = done(*base)
    assert "right on 50.0%" in shown.stdout
    winner = record["models"][0]["name"]
    line = next(line for line in shown.stdout.splitlines() if " 1 " in line)
    assert winner in line


def test_the_command_for_the_winner_works(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = ["compare", data, "--models", "MI-SVM", "--folds", 3, "--groups", "group", *ONE]
    said = done(*base, "--scale", "--positive", "present").stderr
    words = shlex.split(said.partition("Build the winner: ")[2])
    assert words[:2] == ["bagwise", "fit"]
    done(*words[1:])
    assert (tmp_path / "model.bagwise").is_file()


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (2, "there are accuracy, balanced_accuracy, auc", ["--metric", "f2"]),
        (2, "There is no method 'MISVM'", ["--models", "MI-SVM,MISVM"]),
        (2, "--folds", ["--folds", "0"]),
        (1, "has no column 'x'", ["--label", "x"]),
        (1, "folds need 40", ["--folds", "40"]),
    ],
)
def test_compare_refuses_bad_arguments(data, status, message, more):
    refused(status, message, "compare", data, *more)


def test_a_data_set_has_no_columns(data):
    refused(2, "--bag is for files", "compare", "musk1", "--bag", "molecule")


def test_nothing_to_compare_is_an_error(tmp_path):
    (tmp_path / "one.csv").write_text("bag,label,f\na,1,1\nb,1,2\nc,1,2\n")
    refused(1, "All bags are of the class 1", "compare", tmp_path / "one.csv", "--folds", "2", *ONE)


def test_compare_runs_every_candidate(dataset, tmp_path):
    bags, y = dataset("musk1")
    small = np.argsort(bags.sizes, kind="stable")[:24]
    write(tmp_path / "small.bags", bags[small], y[small])
    printed = done("compare", tmp_path / "small.bags", "--folds", 2, "--json", *ONE).stdout
    record = json.loads(printed)
    assert [model["failure"] for model in record["models"] if model["failure"]] == []
    assert len(record["models"]) + len(record["left_out"]) == len(METHODS)


# The library behind it ----------------------------------------------------------------------------


def test_candidates_are_all_methods_but_for_reasons(problem):
    bags, _ = problem
    models, left_out = candidates(bags)
    assert models.keys() | left_out.keys() == {method.name for method in METHODS}
    assert left_out["SVM-AtLeastOne"] == "is SIL"
    assert len({repr(model) for model in models.values()}) == len(models)


def test_large_data_gets_linear_kernels():
    bags = Bags(np.zeros((6000, 1)), np.arange(0, 6001, 10))
    models, left_out = candidates(bags)
    assert models["MI-SVM"].kernel == "linear"
    assert "all pairs of the 6000 instances" in left_out["MI-Kernel"]
    assert repr(models["SIL"]) == "InstanceSVC(kernel='linear')"


def test_a_grid_of_the_users_own():
    assert grid_points(WitnessSVC(), {"C": [1], "kernel": ["linear", "rbf"]}) == [
        {"C": 1, "kernel": "linear"},
        {"C": 1, "kernel": "rbf"},
    ]


def test_what_is_fixed_leaves_the_grid():
    assert grid_points(WitnessSVC(C=7), fixed=["C"]) == [{}]
    assert grid_points(WitnessSVC(), fixed=["kernel"]) == grid_points(WitnessSVC())


def test_the_search_calibrates_on_held_out_scores():
    bags, y = planted_bags(n_bags=40)
    model, points = InstanceSVC(), [{"C": 0.5}, {"C": 5.0}]
    plain = search(model, points, bags, y)
    calibrated = search(model, points, bags, y, calibrate=True)
    for one, other in zip(plain, calibrated, strict=True):
        assert one.threshold == 0.0
        assert other.value >= one.value
    assert any(choice.threshold != 0.0 for choice in calibrated)


def test_test_bags_take_no_part_in_the_choice():
    """Bags without any signal: honest accuracy is chance, the best of the grid's is not."""
    rng = np.random.default_rng(0)
    bags = Bags(rng.normal(size=(240, 3)), np.arange(0, 241, 3))
    y = rng.permutation(np.arange(80) % 2)
    (ranking,) = compare_models({"SIL": InstanceSVC()}, bags, y, cv=4)
    assert abs(ranking.mean("accuracy") - 0.5) < 0.15
    inner = max(
        choice.value
        for choice in search(InstanceSVC(), grid_points(InstanceSVC()), bags, y, calibrate=True)
    )
    assert inner > 0.5


def test_a_model_that_refuses_is_ranked_last_with_its_reason(problem):
    bags, y = problem
    models = {"bad": WitnessSVC(gamma=-1.0), "good": WitnessSVC(kernel="linear")}
    first, last = compare_models(models, bags, y, cv=3)
    assert (first.name, first.failure) == ("good", "")
    assert "gamma" in last.failure
    assert last.folds == []


def test_a_ranking_sums_up_its_folds():
    folds = [{"accuracy": 0.5, "auc": None}, {"accuracy": 1.0, "auc": 0.7}]
    ranking = Ranking("m", None, folds, [{"C": 1}, {"C": 2}, {"C": 2}])
    assert ranking.mean("accuracy") == 0.75
    assert ranking.error("accuracy") == pytest.approx(0.25)
    assert ranking.mean("auc") == 0.7
    assert ranking.usual_point() == {"C": 2}
    assert np.isnan(Ranking("empty", None).mean("auc"))
