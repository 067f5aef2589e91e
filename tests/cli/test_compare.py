"""bagwise compare: rows as they finish, what is tied, and going on after an interruption."""

import html
import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from bagwise.catalog import METHODS
from bagwise.cli.compare import _seconds
from bagwise.datasets import make_gaussian_bags
from bagwise.io import write
from bagwise.model_selection import compare as compared
from command_line import COLUMNS, call, done, printed, refused

ONE = ["--jobs", "1", "--time", "none", "--repeats", "1"]
TWO = ["--models", "SIL,MI-SVM", "--folds", 3]


def test_compare_ranks_the_named_models(cells):
    record = printed("compare", cells, *TWO, *ONE)
    areas = [model["auc"] for model in record["models"]]
    assert sorted(model["model"] for model in record["models"]) == ["MI-SVM", "SIL"]
    assert areas == sorted(areas, reverse=True)
    assert all(m["auc_low"] < m["auc"] < m["auc_high"] for m in record["models"])
    for m in record["models"]:
        assert m["balanced_accuracy"] == pytest.approx((m["sensitivity"] + m["specificity"]) / 2)
    assert record["majority"]["accuracy"] == 0.5
    assert record["recommendation"] in record["groups"][0]
    assert record["stopped"] is None


@pytest.mark.parametrize("columns", ["80", "300"])
def test_rows_are_logged_as_they_finish_and_the_table_fits(cells, columns):
    shown = done("compare", cells, *TWO, *ONE, COLUMNS=columns)
    logged = [line for line in shown.stderr.splitlines() if " CPU s per fold" in line]
    assert [line.split()[1] for line in logged] == ["[1/2]", "[2/2]"]
    assert all(f"{name}: AUC " in shown.stderr for name in ("SIL", "MI-SVM"))
    rows = shown.stdout.splitlines()
    assert max(map(len, rows)) <= int(columns)
    assert any(row.split()[:2] == ["always", "majority"] and "50.0" in row for row in rows)
    assert "…" not in shown.stdout
    assert "Recommended: " in shown.stderr
    assert "Traceback" not in shown.output


def test_another_metric_and_the_chosen_scales_are_shown(cells):
    more = ["--metric", "sensitivity", "--scale", "search"]
    shown = done("compare", cells, *TWO, *ONE, *more, COLUMNS="80")
    rows = shown.stdout.splitlines()
    assert max(map(len, rows)) <= 80
    assert any("sens." in row and "AUC" in row and "spec." in row for row in rows)
    assert {row.split()[0] for row in rows if "exact" in row} == {"SIL", "MI-SVM"}
    assert re.search(r"Features: (raw|standard|robust|quantile) for ", " ".join(rows))


def test_the_command_for_the_recommended_model_works(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = [*COLUMNS, "--groups", "patient", "--format", "csv", "--positive", "normal"]
    base = ["compare", folder / "train.csv", *named, "--models", "MI-SVM", "--folds", 3, "--scale"]
    said = done(*base, *ONE).stderr.partition("Next: ")[2]
    words = shlex.split(said.strip().splitlines()[0])
    assert words[:2] == ["bagwise", "fit"]
    assert {"--features", "--format", "--groups", "--positive", "--scale"} < set(words)
    done(*words[1:])
    assert (tmp_path / "model.bagwise").is_file()


def test_a_page_shows_the_ranking_and_how_to_make_it_again(cells, tmp_path):
    out = tmp_path / "comparison.html"
    said = done("compare", cells, *TWO, *ONE, "--report", out)
    assert "Report: " in said.stderr
    command = re.search(r"<code>(bagwise compare .*?)</code>", out.read_text()).group(1)
    words = shlex.split(html.unescape(command))
    before = re.findall(r"<td>([\d.]+)</td>", out.read_text())
    done(*words[1:], "--force")
    assert {"--models", "--folds", "--seed", "--report"} < set(words)
    assert len(re.findall(r"<td>([\d.]+)</td>", out.read_text())) == len(before)
    refused(2, ".html", "compare", cells, "--report", tmp_path / "page.pdf")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("1h30m", 5400), ("2m30s", 150), ("none", np.inf)],
)
def test_times_are_read(text, seconds):
    assert _seconds(text) == seconds


def test_the_other_class_may_be_the_positive_one(cells, monkeypatch):
    def turned(*arguments, **options):
        found = compared(*arguments, **options)
        for record in found.records:
            record["scores"] = [-score for score in record["scores"]]
        return replace(found, known={})

    monkeypatch.setattr("bagwise.model_selection.compare", turned)
    shown = done("compare", cells, "--models", "MI-SVM", "--folds", 3, *ONE)
    assert "MI-SVM: the AUC is far below 50 %. The other class may be the positive" in shown.stderr
    assert "No model is shown to be better than always predicting the majority" in shown.stderr


def test_time_that_is_up_says_how_to_go_on(cells, tmp_path):
    out = tmp_path / "kept"
    shown = done("compare", cells, *TWO, "--time", "0s", "--jobs", 1, "--out", out)
    assert "Not finished: MI-SVM, SIL" in shown.stderr or "Not finished: SIL" in shown.stderr
    assert f"All results are in {out}: give the same command again" in shown.stderr
    shown = done("compare", cells, *TWO, "--time", "0s", "--jobs", 1)
    assert "No results were kept" in shown.stderr


def test_ctrl_c_prints_the_table_so_far(cells, tmp_path, monkeypatch):
    def interrupted(*arguments, callback, **options):
        def stop(so_far):
            callback(so_far)
            if so_far.results:
                raise KeyboardInterrupt

        return compared(*arguments, callback=stop, **options)

    monkeypatch.setattr("bagwise.model_selection.compare", interrupted)
    result = call("compare", cells, *TWO, *ONE, "--out", tmp_path / "kept")
    assert result.exit_code == 130
    assert "1 of 2 models" in result.stdout
    assert "Interrupted. All results are in" in result.stderr
    assert (tmp_path / "kept" / "comparison.csv").is_file()


def test_compare_runs_every_candidate(tmp_path):
    write(tmp_path / "small.bags", *make_gaussian_bags(20, 5, bag_size=(1, 4), random_state=0))
    record = printed("compare", tmp_path / "small.bags", "--folds", 2, *ONE)
    assert [model["failure"] for model in record["models"] if model["failure"]] == []
    assert len(record["models"]) + len(record["left_out"]) == len(METHODS)
