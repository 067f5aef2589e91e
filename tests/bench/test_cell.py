"""Cells: what is measured is what the model itself gives."""

import numpy as np
import pytest
from sklearn.base import clone

from bagwise import KeyInstanceSVC, WitnessSVC
from bagwise.bench.cell import build
from bagwise.bench.run import run
from bagwise.bench.spec import BenchData, ModelEntry
from bagwise.bench.tables import as_markdown, make_report
from bagwise.datasets import make_gaussian_bags
from bagwise.graphs import Graph
from bagwise.metrics import bag_report
from bench_cases import SMALL, small


def test_a_cell_says_what_the_model_says(whole):
    plan = whole[0]
    cell = next(c for c in plan.cells if c.model.name == "MI-SVM" and c.data.name == "far")
    metrics = plan.records()[cell.id]["metrics"]
    bags, y = make_gaussian_bags(n_bags=24, shift=3.0)
    train, test = cell.split.train(24), list(cell.split.test)
    model = WitnessSVC(C=cell.point["C"]).fit(bags[train], y[train])
    report = bag_report(model, bags[test], y[test])
    for name in report.keys() - {"sensitivity", "specificity"}:
        assert metrics[name] == pytest.approx(report[name]), name
    assert metrics["objective"] == pytest.approx(model.objective_[0])
    assert metrics["gap"] == pytest.approx(model.gap_[0], abs=1e-12)
    assert metrics["fit_seconds"] > 0


def test_calibration_is_what_the_estimator_does_itself(tmp_path):
    models = [{"name": "KI", "method": "Ins-KI-SVM", "params": {"calibration_cv": 3}}]
    protocol = {"kind": "half", "repeats": 1, "inner": 3}
    data = [{"name": "d", "source": "gaussian", "options": {"n_bags": 30, "shift": 4.0}}]
    plan, _ = run(small(data=data, models=models, protocol=protocol), tmp_path)
    cell = plan.cells[0]
    metrics = plan.records()[cell.id]["metrics"]
    bags, y = make_gaussian_bags(n_bags=30, shift=4.0)
    train, test = cell.split.train(30), list(cell.split.test)
    model = KeyInstanceSVC(calibration_cv=3, probability="sigmoid").fit(bags[train], y[train])
    assert metrics["accuracy"] == metrics["calibrated_accuracy"]
    assert metrics["accuracy"] == pytest.approx(model.score(bags[test], y[test]))
    free = clone(model).set_params(threshold=None)  # the midpoint is fitted too
    chance = free.fit(bags[train], y[train]).predict_proba(bags[test])[:, 1]
    # Held-out rows are left out here and have weight zero there: both end within the tolerance.
    assert metrics["brier"] == pytest.approx(np.mean((chance - y[test]) ** 2), abs=1e-4)


def test_without_inner_folds_nothing_is_called_nested_or_left_out_silently(tmp_path):
    spec = small(
        data=SMALL["data"][:1],
        models=SMALL["models"][2:],  # without a grid: the only point is no choice of inner folds
        protocol={"kind": "kfold", "folds": 2, "inner": 0},
        metrics=["accuracy", "calibrated_accuracy", "brier"],
    )
    report = make_report(run(spec, tmp_path)[0])
    assert {number.kind for number in report.numbers} == {"best"}
    text = as_markdown(report)
    assert "| nested |" not in text
    assert "Nested selection needs inner folds, which this benchmark does not have." in text
    for metric in ("calibrated_accuracy", "brier"):
        assert f"No numbers for {metric}: the fits of this benchmark have none." in text


# From YAML values to estimators ------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    bags, y = make_gaussian_bags(n_bags=20)
    return BenchData(bags, y, {"links": Graph.from_edges([(0, 1)])})


def built(data, method, **params):
    return build(ModelEntry("m", method, params), {}, data, data.bags)


def test_a_factor_on_the_median_width_is_resolved_on_the_training_bags(data):
    model = built(data, "MI-SVM", gamma="median*4")
    plain = built(data, "MI-SVM", gamma="median").fit(data.bags, data.y)
    assert model.gamma == pytest.approx(4 * plain.kernel_.gamma)
    assert plain.gamma == "median"


def test_graphs_maps_and_estimators_are_named(data):
    assert built(data, "MILSD", bag_graph={"graph": "links"}).bag_graph is data.graphs["links"]
    network = built(
        data,
        "MIMN",
        feature_map={"map": "intersection", "n": 1},
        bag_features=[{"method": "MI-Kernel", "C": 10.0}],
    )
    assert repr(network.bag_features) == "[BagKernelSVC(C=10.0)]"
    assert [name for name, _ in network.feature_map.steps] == ["minmaxscaler", "intersectionmap"]


def test_parameters_of_the_model_and_of_the_grid_point_are_set(data):
    entry = ModelEntry("m", "ALP-SVM", {"C": 5.0})
    model = build(entry, {"positive_fraction": 0.7}, data, data.bags)
    assert repr(model) == "AnnealedProportionSVC(C=5.0, positive_fraction=0.7)"
