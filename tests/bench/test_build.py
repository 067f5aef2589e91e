"""From YAML values to estimators."""

from __future__ import annotations

import pytest

from bagwise.bench.build import build
from bagwise.bench.data import BenchData
from bagwise.bench.run import run
from bagwise.bench.spec import ModelEntry, SpecError
from bagwise.datasets import make_gaussian_bags
from bagwise.graphs import Graph
from bench_cases import small


def test_a_graph_that_is_not_there_fails_with_its_name(tmp_path):
    models = [{"method": "GraphSVC", "params": {"bag_graph": {"graph": "links"}}}]
    plan, outcome = run(small(models=models), tmp_path)
    assert outcome.failed == outcome.total
    assert "no graph 'links'; there are: none" in next(iter(plan.records().values()))["failure"]


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
    with pytest.raises(SpecError, match=r"gamma 'median\*four': 'four' is not a number"):
        built(data, "MI-SVM", gamma="median*four")


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
    with pytest.raises(SpecError, match="feature_map: there is no map 'x'; there are: intersectio"):
        built(data, "MIMN", feature_map={"map": "x"})


def test_parameters_of_the_model_and_of_the_grid_point_are_set(data):
    entry = ModelEntry("m", "ALP-SVM", {"C": 5.0})
    model = build(entry, {"positive_fraction": 0.7}, data, data.bags)
    assert repr(model) == "AnnealedProportionSVC(C=5.0, positive_fraction=0.7)"
