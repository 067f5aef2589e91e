"""bagwise compare: the ranking, and the command that builds the best model."""

from __future__ import annotations

import shlex

import numpy as np
import pytest

from bagwise.catalog import METHODS
from bagwise.io import write
from command_line import COLUMNS, done, printed, refused

ONE = ["--jobs", "1"]


def test_compare_ranks_the_named_models(cells):
    base = ["compare", cells, "--models", "SIL,MI-SVM", "--folds", 3, *ONE]
    record = printed(*base)
    accuracies = [model["accuracy"] for model in record["models"]]
    assert sorted(model["name"] for model in record["models"]) == ["MI-SVM", "SIL"]
    assert accuracies == sorted(accuracies, reverse=True)
    assert all(len(model["chosen"]) == 3 for model in record["models"])
    assert record["most_frequent_class"] == 0.5
    shown = done(*base)
    assert "right for 50.0%" in shown.stdout
    line = next(line for line in shown.stdout.splitlines() if " 1 " in line)
    assert record["models"][0]["name"] in line


def test_the_command_for_the_best_model_works(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = [*COLUMNS, "--groups", "patient", "--format", "csv", "--positive", "normal"]
    base = ["compare", folder / "train.csv", *named, "--models", "MI-SVM", "--folds", 3, "--scale"]
    words = shlex.split(done(*base, *ONE).stderr.partition("To build the best model: ")[2])
    assert words[:2] == ["bagwise", "fit"]
    assert {"--features", "--format", "--groups", "--positive", "--scale"} < set(words)
    done(*words[1:])
    assert (tmp_path / "model.bagwise").is_file()


@pytest.mark.parametrize(
    ("status", "message", "more"),
    [
        (2, "there is no metric 'acuracy'. Did you mean 'accuracy'?", ["--metric", "acuracy"]),
        (2, "There is no method 'MISVM'", ["--models", "MI-SVM,MISVM"]),
        (2, "--folds", ["--folds", "0"]),
        (1, "has no column 'x'", ["--label", "x"]),
        (1, "Lower --folds to", ["--folds", "40"]),
    ],
)
def test_compare_refuses_bad_arguments(cells, status, message, more):
    refused(status, message, "compare", cells, *more)


def test_nothing_to_compare_is_an_error(tmp_path):
    (tmp_path / "one.csv").write_text("bag,label,f\na,1,1\nb,1,2\nc,1,2\n")
    refused(1, "All bags are of the class 1", "compare", tmp_path / "one.csv", "--folds", "2", *ONE)


def test_compare_runs_every_candidate(dataset, tmp_path):
    bags, y = dataset("musk1")
    small = np.argsort(bags.sizes, kind="stable")[:24]
    write(tmp_path / "small.bags", bags[small], y[small])
    record = printed("compare", tmp_path / "small.bags", "--folds", 2, *ONE)
    assert [model["failure"] for model in record["models"] if model["failure"]] == []
    assert len(record["models"]) + len(record["left_out"]) == len(METHODS)
