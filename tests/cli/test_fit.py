"""bagwise fit: the model that Python fits, searches, scaling, and bad arguments."""

import json
import shlex

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import bagwise
from bagwise.crossfit import folds
from bagwise.datasets import make_slide_bags
from bagwise.estimators.discovery import is_calibrated
from bagwise.io import read_annotations, write
from bagwise.model_selection import SCALES
from bagwise.persistence import describe
from command_line import COLUMNS, call, done, printed, read_slides, refused

TUMOR = ["--positive", "tumor"]


def test_fit_writes_the_model_that_python_fits(folder):
    model = bagwise.load(folder / "model.bagwise")
    bags, y = read_slides(folder / "train.csv")
    expected = bagwise.WitnessSVC(kernel="linear").fit(bags, y)
    np.testing.assert_array_equal(model.decision_function(bags), expected.decision_function(bags))
    described = describe(folder / "model.bagwise")
    assert described["classes"] == ["normal", "tumor"]
    assert described["notes"]["bag"] == "slide"


def test_threshold_and_probabilities_come_from_folds_by_default(folder, tmp_path):
    out = tmp_path / "m.bagwise"
    base = ["fit", folder / "train.csv", *COLUMNS, "-m", "MI-SVM", *TUMOR, "-o", out, "--force"]
    shown = done(*base)
    model = bagwise.load(out)
    bags, y = read_slides(folder / "train.csv")
    expected = bagwise.WitnessSVC(threshold="balanced", probability="sigmoid").fit(bags, y)
    np.testing.assert_array_equal(model.predict_proba(bags), expected.predict_proba(bags))
    np.testing.assert_array_equal(model.threshold_, expected.threshold_)
    p = expected.calibrate_instances(bags, y, cv=5).instance_pvalues(bags)
    np.testing.assert_array_equal(model.instance_pvalues(bags), p)
    assert "bags are positive from a probability of" in shown.stdout
    assert f"sensitivity {model.held_out_['sensitivity']:.0%}" in shown.stdout
    assert shown.stderr.splitlines()[-1].startswith(f"Next: bagwise report {out} {base[1]}")
    done(*base, "--threshold", 0)
    raw = bagwise.load(out)
    assert raw.threshold_ == [0.0]
    np.testing.assert_allclose(raw.predict_proba(bags), model.predict_proba(bags), rtol=1e-9)
    assert "there are no probabilities" in done(*base, "--no-calibration").stderr
    assert not hasattr(bagwise.load(out), "predict_proba")
    assert not is_calibrated(bagwise.load(out))


def test_few_bags_have_fewer_folds_and_very_few_none(tmp_path):
    rng = np.random.default_rng(0)
    for n_pos, n_folds in ((4, 4), (2, None)):
        y = np.arange(14) < n_pos
        bags = bagwise.Bags.from_list([rng.normal(size=(3, 2)) + 3 * label for label in y])
        write(tmp_path / "few.csv", bags, 1 * y)
        out = tmp_path / "m.bagwise"
        said = done("fit", tmp_path / "few.csv", "-m", "MI-SVM", "-o", out, "--force").stderr
        model = bagwise.load(out)
        if n_folds is None:
            assert "With 2 bags of a class, the threshold is 0" in said
            assert not hasattr(model, "held_out_")
        else:
            assert model.calibration_cv == n_folds
            assert model.held_out_["auc"] > 0.5


def test_fit_json(fit):
    result, _ = fit("--json", "--param", "C=10")
    record = json.loads(result.stdout)
    assert record["class"] == "WitnessSVC"
    assert record["parameters"]["C"] == 10
    assert (record["n_bags"], record["n_features"]) == (30, 2)
    assert record["certificate"]["gap"][0] <= 1e-4 * record["certificate"]["objective"][0]
    assert record["cross_validation"] == []


def test_an_approximated_kernel_comes_with_its_error(fit):
    result, out = fit(
        *("-p", "kernel=rbf", "-p", "kernel_options__approx=nystroem"),
        *("-p", "kernel_options__n_components=7"),
    )
    model = bagwise.load(out)
    assert len(model.support_) == 7
    assert f"{model.kernel_error_:.2%} of the kernel's trace" in result.stdout


def test_fit_takes_a_class_and_parameters_of_every_kind(fit):
    params = ["C=1e-1", "gamma=0.5", "class_weight={'tumor': 2.0, 'normal': 1.0}", "loss=hinge"]
    _, out = fit("-m", "InstanceSVC", *(word for text in params for word in ("--param", text)))
    model = bagwise.load(out)
    assert (model.C, model.gamma, model.loss) == (0.1, 0.5, "hinge")
    assert model.class_weight == {"tumor": 2.0, "normal": 1.0}


def test_a_group_of_parameters_is_reached_by_its_name(fit, folder, tmp_path):
    linear = ["-m", "AL-SVM", "-p", "kernel=linear"]
    _, out = fit(*linear, "-p", "annealing__cooling=2.0")
    assert bagwise.load(out).annealing.cooling == 2.0
    result, out = fit(*linear, "--cv", "-p", "annealing__cooling=[2.0, 4.0]")
    assert result.stdout.count("annealing__cooling=") == 2
    assert bagwise.load(out).annealing.cooling in (2.0, 4.0)
    base = ["fit", folder / "train.csv", *COLUMNS, "-o", tmp_path / "m.bagwise", *linear, "-p"]
    refused(2, "Did you mean 'annealing__cooling'", *base, "annealing__coolin=2")
    refused(2, "Use annealing__cooling=... in set_params", *base, "cooling=2.0")
    refused(2, "'cooling' parameter of Annealing must be", *base, "annealing__cooling=-1")


def test_the_automatic_model_says_what_it_combines(fit):
    result, out = fit("-m", "auto", "--param", "models=['MI-SVM', 'SimpleMI']")
    assert "held-out AUC" in result.stdout
    model, noted = bagwise.load(out), describe(out)["notes"]["leaderboard"]
    assert {row["model"] for row in noted} == {"ensemble", *model.names_}


def test_ctrl_c_keeps_the_model_that_was_found(folder, tmp_path, monkeypatch):
    def interrupt(self, bags, codes, weight):
        raise KeyboardInterrupt

    monkeypatch.setattr(bagwise.StatisticsSVC, "_fit_classes", interrupt)
    out = tmp_path / "kept.bagwise"
    models = "models=['MI-SVM', 'SimpleMI', 'StatisticsSVC']"
    words = ["fit", folder / "train.csv", *COLUMNS, *TUMOR, "-m", "auto", "-p", models, "-o", out]
    assert call(*words).exit_code == 130
    assert bagwise.load(out).names_ == ["SimpleMI"]  # costs less than the others


def test_the_automatic_model_scales_candidates_one_by_one(fit):
    more = ["-m", "auto", "--param", "models=['SimpleMI']", "--scale"]
    result, out = fit(*more, "search", "--param", "cv=2")
    assert "scaled as the names of the models say" in " ".join(result.stdout.split())
    assert bagwise.load(out).scale == "search"
    assert {r["model"] for r in bagwise.load(out).results_} > {"SimpleMI", "SimpleMI, robust"}
    assert bagwise.load(fit(*more, "raw")[1]).names_ == ["SimpleMI"]


# Search -------------------------------------------------------------------------------------------


def test_fit_with_cv_chooses_among_the_candidates(fit):
    more = ["--cv", "--param", "C=[1e-8, 1.0]", "--param", "kernel=linear", "--json"]
    record = json.loads(fit(*more, "--groups", "patient")[0].stdout)
    tried = record["cross_validation"]
    assert [point["C"] for point in tried] == [1e-8, 1.0]
    best = max(tried, key=lambda point: point["accuracy"])
    assert record["parameters"]["C"] == best["C"]
    assert all(0 <= point["accuracy"] <= 1 for point in tried)


def test_a_search_leaves_alone_what_the_user_fixed(fit):
    result, _ = fit("-m", "ALP-SVM", "--cv", "-p", "C=10", "-p", "kernel=linear", "--json")
    record = json.loads(result.stdout)
    assert record["parameters"]["C"] == 10
    tried = [set(point) for point in record["cross_validation"]]
    assert tried == [{"positive_fraction", "scale", "accuracy"}] * 3


# Scaling ------------------------------------------------------------------------------------------


def test_fit_scales_in_the_model(folder, fit):
    _, out = fit("--scale", "--positive", "normal")
    model = bagwise.load(out)
    bags, _ = read_slides(folder / "train.csv")
    np.testing.assert_allclose(model[:-1].transform(bags).X.std(axis=0), 1.0)
    assert model[-1].pos_label == "normal"


def test_a_search_scales_on_the_training_part_of_each_fold(folder, fit):
    more = ["--cv", "--scale", "-p", "C=[0.1, 1.0]", "-p", "kernel=linear", "--json"]
    record = json.loads(fit(*more)[0].stdout)
    bags, y = read_slides(folder / "train.csv")
    for point in record["cross_validation"]:
        right = 0
        for train, test in folds(bags, y, 5, 0):
            scaler = StandardScaler().fit(bags[train].X)
            part, rest = (b.replace(X=scaler.transform(b.X)) for b in (bags[train], bags[test]))
            model = bagwise.WitnessSVC(kernel="linear", C=point["C"]).fit(part, y[train])
            right += int(np.sum(model.predict(rest) == y[test]))
        assert point["accuracy"] == pytest.approx(right / len(bags))


# Bad input ----------------------------------------------------------------------------------------


def test_options_that_a_format_lacks_are_named(folder, tmp_path):
    write(tmp_path / "train.bags", *read_slides(folder / "train.csv"))
    base = ["-m", "MI-SVM", "-o", tmp_path / "m.bagwise", *TUMOR]
    message = "--groups does not apply to files of the format bags"
    refused(2, message, "fit", tmp_path / "train.bags", "--groups", "patient", *base)
    done("fit", tmp_path / "train.bags", *base)


# Data that needs preparation ----------------------------------------------------------------------


def test_missing_values_are_filled_in_fit_and_in_predict(folder, tmp_path):
    lines = (folder / "train.csv").read_text().splitlines()
    names = lines[0].split(",")
    rows = [line.split(",") for line in lines[1:]]
    for row in rows[::5]:
        row[names.index("f0")] = ""
    data, model = tmp_path / "holes.csv", tmp_path / "m.bagwise"
    data.write_text("\n".join(map(",".join, [names, *rows])))
    base = ["fit", data, *COLUMNS, "-m", "MI-SVM", *TUMOR, "-o", model]
    refused(1, "Impute or drop it first, for example with --impute median.", *base)
    refused(2, "there is no imputation 'medain'. Did you mean", *base, "--impute", "medain")
    record = printed(*base, "--impute", "median", "--scale", "search", "--folds", 3)
    assert {one["scale"] for one in record["cross_validation"]} == set(SCALES)
    assert len(printed("predict", model, data)) == 30
    shown = done(*base, "--impute", "median", "--force").stdout
    assert "missing values filled (median)" in shown


@pytest.mark.parametrize("verb", [["fit"], ["compare", "--models", "SIL,MI-SVM"]])
def test_infinite_values_are_named_even_with_imputation(verb, folder, tmp_path):
    names, first, *rest = (folder / "train.csv").read_text().splitlines()
    cells = dict(zip(names.split(","), first.split(","), strict=True)) | {"f0": "inf"}
    data = tmp_path / "inf.csv"
    data.write_text("\n".join([names, ",".join(cells.values()), *rest]))
    words = [verb[0], data, *COLUMNS, *(verb[1:] or ["-m", "MI-SVM"]), *TUMOR]
    message = "contains infinity in its instance 0, feature 'f0'. Correct the value"
    refused(1, message, *words, "--impute", "median")
    shown = done("info", data, *COLUMNS).stdout
    assert "Infinite values" in shown
    assert "Next:" not in shown


def test_the_word_after_scale_is_never_a_folder(fit, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robust").mkdir()
    result, _ = fit("--scale", "robust")
    assert "scaled by median and quartiles" in result.stdout
    result, _ = fit("--scale")
    assert "standardized" in result.stdout
    data = folder / "train.csv"
    refused(2, "If it is the data, give it before --scale.", "cv", "-m", "SIL", "--scale", data)


def test_covariates_are_learned_and_read_again(tmp_path):
    rng = np.random.default_rng(0)
    bags, y = make_slide_bags(60, 3, bag_size=6, shift=1.0, dtype=float)
    table = bags.replace(instance_labels=None, coords=None, patch_size=None).to_frame(y)
    stage = np.where(rng.random(60) < 0.9, np.where(y == 1, "III", "I"), "II")
    table["stage"], table["age"] = np.repeat(stage, 6), np.repeat(rng.normal(50, 9, 60), 6)
    table[table["bag"].isin(bags.ids[:40])].to_csv(tmp_path / "train.csv", index=False)
    table[table["bag"].isin(bags.ids[40:])].to_csv(tmp_path / "test.csv", index=False)
    base = ["fit", tmp_path / "train.csv", "--covariates", "age,stage", "--force"]
    fit = [*base, "-o", tmp_path / "m.bagwise", "--no-calibration", "-m"]
    done(*fit, "StatisticsLogistic", "-p", "C=0.1")
    model = bagwise.load(tmp_path / "m.bagwise")
    assert model.n_features_in_ == 3
    assert len(model.covariate_center_) == 4  # age, and three stages
    found = printed("evaluate", tmp_path / "m.bagwise", tmp_path / "test.csv")
    assert found["auc"] > 0.9
    page = ["report", tmp_path / "m.bagwise", tmp_path / "train.csv", "-o", tmp_path / "r.html"]
    assert len(printed(*page, "--force")["beyond_covariates"]) == 3
    done(*fit, "MIMN")
    done(*fit, "auto", "-p", 'models=["SimpleMI"]')
    assert printed("evaluate", tmp_path / "m.bagwise", tmp_path / "test.csv")["auc"] > 0.9
    refused(2, "MI-SVM learns from instances alone", *fit, "MI-SVM")
    bad = table.copy()
    bad.loc[2, "age"] = 1.0
    for name, value, message in (
        ("age", bad["age"], "Bag 0 (id 'slide-000') has the values"),
        ("stage", table["stage"].where(table["bag"] != "slide-001"), "has no value. Fill it in"),
    ):
        table.assign(**{name: value}).to_csv(tmp_path / "bad.csv", index=False)
        refused(1, message, "predict", tmp_path / "m.bagwise", tmp_path / "bad.csv")
    new = table.assign(stage=table["stage"].replace("II", "IV"))
    new.to_csv(tmp_path / "new.csv", index=False)
    seen = done("predict", tmp_path / "m.bagwise", tmp_path / "new.csv").stderr
    assert "has 'IV' as bag feature 1, which the model has not seen" in " ".join(seen.split())
    refused(1, "has no column 'sex'", "fit", tmp_path / "train.csv", "--covariates", "sex",
            "-m", "MIMN", "--force")  # fmt: skip


def test_models_with_covariates_are_compared(tmp_path):
    bags, y = make_slide_bags(40, 3, bag_size=4, shift=0.0, dtype=float)
    table = bags.replace(instance_labels=None, coords=None, patch_size=None).to_frame(y)
    stage = np.where(np.arange(40) % 7 == 0, "II", np.where(y == 1, "III", "I"))
    table.assign(stage=np.repeat(stage, 4)).to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", tmp_path / "t.csv", "--covariates", "stage"]
    words += ["--models", "SIL,SimpleMI,MIMN", "--folds", 3, "--repeats", 1, "--jobs", 1]
    found = {row["model"]: row["auc"] for row in printed(*words)["models"]}
    assert found.keys() == {"SIL", "SimpleMI", "MIMN", "covariates"}
    assert min(found["covariates"], found["MIMN"]) > 0.8 > max(found["SIL"], found["SimpleMI"])
    said = " ".join(done(*words).stderr.split())
    command = said.partition("bagwise fit ")[2].partition("--model")
    assert "--covariates stage" in command[0]
    assert "covariates=" not in command[2]
    table["f1"] += 3 * table["label"]
    table["stage"] = np.where(np.arange(160) // 4 % 3, "I", "II")
    table.to_csv(tmp_path / "t.csv", index=False)
    said = done(*words[:5], "SIL", *words[6:], "--site", "stage").stderr
    fit = shlex.split(" ".join(said.split()).partition("Next: bagwise ")[2])
    done(*fit, "--force", "-o", tmp_path / "sil.bagwise")  # which drops what SIL cannot use


def test_an_expert_corrects_a_heat_map_and_fits_again(tmp_path):
    bags, y = make_slide_bags(16, 4, bag_size=12, shift=3.0, dtype=float)
    y = np.where(y == 1, "tumor", "normal")
    write(tmp_path / "s.csv", bags.replace(instance_labels=None), y)
    base = ["fit", tmp_path / "s.csv", *TUMOR, "-m", "MI-SVM", "--no-calibration", "--force"]
    done(*base, "-o", tmp_path / "m.bagwise")
    maps = ["heatmap", tmp_path / "m.bagwise", tmp_path / "s.csv", "-o", tmp_path / "maps"]
    done(*maps, "--geojson", tmp_path / "tiles", "--top", 1)
    positive = int(np.argmax(y == "tumor"))
    file = tmp_path / "tiles" / f"{bags.ids[positive]}.geojson"
    content = json.loads(file.read_text())
    content["features"][-1]["properties"]["classification"]["name"] = "negative"
    file.write_text(json.dumps(content))
    again = [*base, "--annotations", tmp_path / "tiles", "-o", tmp_path / "n.bagwise"]
    assert "Known instances by annotations: 1 of class 0." in done(*again).stderr
    known = read_annotations(tmp_path / "tiles", bags)
    expected = bagwise.WitnessSVC(pos_label="tumor").fit(known, y)
    found = bagwise.load(tmp_path / "n.bagwise")
    np.testing.assert_array_equal(found.instance_weights_, expected.instance_weights_)
    marked = int(np.flatnonzero(known.known_labels == 0)[0])
    assert found.instance_weights_[marked] == 0
    assert bagwise.load(tmp_path / "m.bagwise").instance_weights_[marked] == 1
    write(tmp_path / "k.csv", known.replace(instance_labels=None), y)
    known_table = ["fit", tmp_path / "k.csv", *base[2:], "--known", "known_label"]
    done(*known_table, "-o", tmp_path / "k.bagwise")
    np.testing.assert_array_equal(
        bagwise.load(tmp_path / "k.bagwise").instance_weights_, expected.instance_weights_
    )
    content["features"][-1]["properties"]["classification"]["name"] = "stroma"
    file.write_text(json.dumps(content))
    refused(1, "the class 'stroma' is unknown", *again)
