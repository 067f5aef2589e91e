"""bagwise cv: the numbers are those of the library, and bad input ends before the work."""

import numpy as np

from bagwise import Bags, WitnessSVC
from bagwise.io import read, write
from bagwise.model_selection import cross_validate_bags
from command_line import COLUMNS, done, printed, refused

BASE = ["-m", "MI-SVM", "-p", "kernel=linear", "--folds", 3, "--jobs", 1, "--no-calibration"]


def test_cv_prints_what_the_library_says(cells):
    record = printed("cv", cells, *BASE, "--repeats", 2, "--seed", 4)
    expected = cross_validate_bags(
        WitnessSVC(kernel="linear"), *read(cells), cv=3, n_repeats=2, random_state=4
    )
    assert record["metrics"] == expected.summary()
    assert (record["folds"], record["repeats"], record["seed"]) == (3, 2, 4)
    assert record["warnings"] == []


def test_cv_shows_a_table(cells):
    more = ["--repeats", 2, "--scale", "--groups", "group", "--positive", "absent"]
    shown = done("cv", cells, *BASE, *more).stdout
    assert "3 folds, 2 times" in shown
    assert "standard error" in shown
    assert "pos_label='absent'" in shown


def test_cv_words_the_warnings_of_the_fits(cells):
    result = done("cv", cells, *BASE, "-p", "max_iter=1")
    assert "3 warnings, the first: WitnessSVC was stopped by max_iter=1" in result.stderr
    assert "scale the features with --scale" in result.stderr


def test_cv_runs_on_a_data_set(dataset):
    _, y = dataset("musk1")
    metrics = printed("cv", "musk1", "-m", "MeanSVC", "--folds", 2, "-j", 1)["metrics"]
    assert metrics["accuracy"]["mean"] > np.bincount(y).max() / len(y)


# The positive class -------------------------------------------------------------------------------


def test_the_positive_class_is_named_and_must_be_where_labels_do_not_say_it(folder):
    base = ["cv", folder / "train.csv", *COLUMNS, "-m", "MI-SVM", "-p", "kernel=linear", "-j", 1]
    message = "the labels are normal, tumor: which one marks bags that contain an instance of"
    refused(2, message, *base)
    assert printed(*base, "--positive", "tumor")["positive"] == "tumor"
    assert "Positive class: normal." in done(*base, "--positive", "normal").stdout


def test_both_classes_are_tried(folder):
    base = ["cv", folder / "train.csv", *COLUMNS, "-m", "MI-SVM"]
    result = done(*base, "-p", "kernel=linear", "-j", 1, "--positive", "auto")
    assert "tumor is taken as the positive class (cross-validated AUC: normal" in result.stderr
    assert "Positive class: tumor." in result.stdout


def test_an_auc_below_chance_is_said(tmp_path):
    rng = np.random.default_rng(0)
    points = np.repeat(rng.normal(size=(20, 3)), 2, axis=0)  # twins of opposite labels
    write(tmp_path / "t.csv", Bags(points, np.arange(41)), np.tile([0, 1], 20))
    base = ["-m", "SIL", "-p", "gamma=1.0", "-p", "C=100", "--folds", 20, "-j", 1]
    said = done("cv", tmp_path / "t.csv", *base).stderr
    assert (
        "significantly below 0.5. Either the other class may be the positive one (--positive"
        in said
    )
