"""Patients and sites on the command line: from slides in a table to explanations and an audit."""

import json

import numpy as np
import pandas as pd
import pytest

from command_line import done, printed, refused

READ = ("--bag", "slide", "--label", "diagnosis", "--unit", "patient")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a table of patients with three slides, of which the second shows the illness."""
    rng, rows = np.random.default_rng(1), []
    for p in range(24):
        ill, site = p % 2, ("north", "south")[p // 2 % 2]
        for s in range(3):
            for k in range(4):
                x = rng.normal(size=3)
                x[0] += 6.0 * (ill and s == 1 and k == 2)
                place = [100 * k, 100 * s]
                rows.append([f"P{p:02d}", f"P{p:02d}-{s}", site, ["well", "ill"][ill], *place, *x])
    columns = ["patient", "slide", "site", "diagnosis", "coord_x", "coord_y", "a", "b", "c"]
    path = tmp_path_factory.mktemp("study") / "study.csv"
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def model(study):
    path = study.with_name("m.bagwise")
    linear = ["-m", "MI-SVM", "-p", "kernel=linear", "--positive", "ill"]
    done("fit", study, *READ, *linear, "-o", path)
    return path


def test_the_model_file_keeps_the_unit(study, model):
    rows = printed("predict", model, study)
    assert len(rows) == 24
    ill = [row for row in rows if row["label"] == "ill"]
    assert {row["key_part"] for row in ill} == {f"{row['bag']}-1" for row in ill}
    assert printed("evaluate", model, study)["n_bags"] == 24


def test_explanations_go_from_the_patient_to_the_slide_to_the_patch(study, model):
    (row,) = printed("explain", model, study, "--only", "P03", "--top", "1")
    assert (row["bag"], row["part"]) == ("P03", "P03-1")
    assert 0.5 < row["part_share"] <= 1
    rows = printed("predict", model, study, "--only", "P03", "--instances")
    assert [row["part"] for row in rows] == [f"P03-{s}" for s in range(3) for _ in range(4)]


def test_hospitals_may_write_numbers_in_their_own_way(study, tmp_path):
    frame = pd.read_csv(study)
    frame.to_csv(tmp_path / "commas.csv", index=False, sep=";", decimal=",")
    linear = ["-m", "MI-SVM", "-p", "kernel=linear", "--positive", "ill", "--decimal", ","]
    done("fit", tmp_path / "commas.csv", *READ, *linear, "-o", tmp_path / "c.bagwise")
    assert len(printed("predict", tmp_path / "c.bagwise", study)) == 24


def test_a_store_has_its_own_groups(study, model, tmp_path):
    done("convert", study, tmp_path / "s.bags", *READ[:4], "--groups", "patient")
    assert len(printed("predict", model, tmp_path / "s.bags", "--unit", "group")) == 24


def test_the_audit_of_a_table(study):
    words = ("audit", study, *READ, "--permutations", "10", "--jobs", "1")
    found = printed(*words)
    assert (found["n_bags"], found["classes"], found["alarm"]) == (24, ["ill", "well"], False)
    assert [sum(site["counts"].values()) for site in found["sites"]] == [12, 12]
    said = done(*words, "--site", "site")
    assert "2 sites" in said.stderr
    assert said.stdout.startswith(found["verdict"])
    named = printed(*words, "--model", "MI-SVM", "--positive", "ill")
    assert "WitnessSVC" in named["model"]


@pytest.mark.parametrize(
    ("code", "message", "words"),
    [
        (2, "name yours with --site", ["audit", "--drop", "site"]),
        (2, "leave out --groups", ["audit", "--groups", "site"]),
        (1, "has no column 'hospital'", ["audit", "--site", "hospital"]),
        (2, "There is no method", ["audit", "--model", "nonsense"]),
    ],
)
def test_bad_arguments_are_named(study, code, message, words):
    command, *rest = words
    refused(code, message, command, study, *READ, *rest)


def test_contradictions_are_listed(study, tmp_path):
    frame = pd.read_csv(study)
    frame.loc[frame["slide"].isin(["P02-0", "P05-2"]), "diagnosis"] = "unclear"
    frame.to_csv(tmp_path / "bad.csv", index=False)
    what = "2 groups have bags of different labels: 'P02' ('P02-0' has 'unclear', 'P02-1' has"
    refused(1, what, "cv", tmp_path / "bad.csv", *READ, "-m", "MI-SVM")


def test_a_file_without_the_unit_is_named(study, model, tmp_path):
    pd.read_csv(study).drop(columns="patient").to_csv(tmp_path / "no.csv", index=False)
    refused(1, "has no column 'patient'", "predict", model, tmp_path / "no.csv")
    done("convert", study, tmp_path / "s.bags", *READ[:4], "--drop", "patient")
    refused(2, "merged by group", "predict", model, tmp_path / "s.bags", "--unit", "group")


LINEAR = ("-p", "kernel=linear", "--positive", "ill", "--folds", "3", "--jobs", "1")


def test_unseen_sites_stand_beside_the_folds(study, tmp_path):
    found = printed("cv", study, *READ, "-m", "MI-SVM", *LINEAR, "--site", "site")
    assert found["n_sites"] == 2
    assert found["unseen_sites"].keys() == found["metrics"].keys()
    table = done("cv", study, *READ, "-m", "MI-SVM", *LINEAR, "--site", "site").stdout
    assert "unseen sites" in table
    words = ("compare", study, *READ, "--models", "SIL,MI-SVM", *LINEAR[2:], "--repeats", "1")
    compared = printed(*words, "--site", "site")
    assert {*compared["unseen_sites"]} == {"SIL", "MI-SVM"}
    page = tmp_path / "c.html"
    assert "sites left out" in done(*words, "--site", "site", "--report", page).stdout
    rate = f"{100 * compared['unseen_sites']['SIL']['mean']:.1f}</td>"
    assert "unseen sites, %" in page.read_text()
    assert rate in page.read_text()


def test_numbers_are_compared_on_unseen_sites(study, tmp_path):
    """They once ended in a KeyError."""
    frame = pd.read_csv(study).drop(columns="diagnosis")
    frame["a"] = frame.groupby("patient")["a"].transform("mean")
    frame.to_csv(tmp_path / "s.csv", index=False)
    words = ("compare", tmp_path / "s.csv", *READ[:2], "--label", "a", "--unit", "patient")
    words += ("--models", "MeanRegressor", "--folds", "2", "--repeats", "1", "--jobs", "1")
    assert printed(*words, "--site", "site")["unseen_sites"]["MeanRegressor"]["mean"] <= 1


@pytest.mark.parametrize(
    ("words", "task"),
    [
        (("--duration", "a", "--event", "b"), "times"),
        (("--label", "a", "--order", "nonsense"), "grades"),
        (("--label", "a", "--task", "numbers"), "numbers"),
        (("--label", "diagnosis", "-m", "MeanRegressor"), "numbers"),
    ],
)
def test_an_audit_of_other_labels_is_refused(words, task, study):
    message = f"audit is for classes, not for {task}"
    refused(2, message, "audit", study, "--bag", "slide", "--site", "site", *words)


def test_the_report_shows_slides_together_and_sites(study, model, tmp_path):
    done("report", model, study, "--site", "site", "--out", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert 'id="sites"' in page
    assert "P03-1: " in page
    assert "shares of parts" in page
    assert '"order":"P00-0, P00-1, P00-2"' in page


def test_a_heat_map_shows_the_slides_of_a_patient(study, model, tmp_path):
    words = ("heatmap", model, study, "--bag", "P03", "--out", tmp_path / "m.svg")
    done(*words, "--geojson", tmp_path / "tiles")
    assert {file.name for file in (tmp_path / "tiles").iterdir()} == {
        f"P03-{s}.geojson" for s in range(3)
    }
    words = (*words[:-1], tmp_path / "n.svg")
    refused(2, "P03-0.geojson", *words, "--geojson", tmp_path / "tiles")  # may be corrected by now
    file = tmp_path / "tiles" / "P03-1.geojson"
    content = json.loads(file.read_text())
    content["features"][-1]["properties"]["classification"]["name"] = "negative"
    file.write_text(json.dumps(content))
    again = ["fit", study, *READ, "-m", "MI-SVM", "--positive", "ill", "--no-calibration"]
    said = done(*again, "--annotations", tmp_path / "tiles", "-o", tmp_path / "n.bagwise").stderr
    assert "Known instances by annotations: 1 of class 0." in said
    done("heatmap", model, study, "--out", tmp_path / "maps")
    refused(1, "has several parts", *words, "--image", tmp_path / "maps/P03.png", "--force")
