"""Benchmarks in YAML: presets and what a folder was run by."""

import numpy as np

from bagwise.bench.measures import METRICS
from bagwise.bench.spec import DataEntry, load_data, load_spec, parse_spec, presets
from bagwise.bench.splits import Protocol
from bagwise.catalog import make_estimator
from bagwise.datasets.locate import DATASETS

GOOD = {
    "name": "mine",
    "data": ["musk1", {"name": "toy", "source": "gaussian", "options": {"n_bags": 20}}],
    "models": [{"method": "MI-SVM", "grid": {"C": [1.0, 10.0], "gamma": ["median", "scale"]}}],
    "protocol": {"kind": "kfold", "folds": 3},
    "metrics": ["accuracy"],
}


def test_a_good_benchmark_is_read():
    spec = parse_spec(GOOD)
    assert (spec.name, spec.models[0].name, spec.protocol.folds) == ("mine", "MI-SVM", 3)
    assert spec.models[0].points(spec.data[0]) == [
        {"C": 1.0, "gamma": "median"},
        {"C": 1.0, "gamma": "scale"},
        {"C": 10.0, "gamma": "median"},
        {"C": 10.0, "gamma": "scale"},
    ]


def test_a_data_set_may_keep_less_of_the_grids():
    spec = parse_spec(
        {**GOOD, "data": [{"name": "musk1", "grid": {"C": [10.0], "other": [1]}}, GOOD["data"][1]]}
    )
    assert [point["C"] for point in spec.models[0].points(spec.data[0])] == [10.0, 10.0]
    assert len(spec.models[0].points(spec.data[1])) == 4


def test_all_presets_are_there_and_right():
    assert len(presets()) == 12
    for name in presets():
        spec = load_spec(name)
        assert spec.name == name
        assert set(spec.metrics) <= set(METRICS)
        for entry in spec.data:
            assert entry.source != "fetch" or entry.name in DATASETS
            assert all(model.points(entry) for model in spec.models)
        for model in spec.models:
            make_estimator(model.method, **model.params, **model.grid)


def test_draws_are_seeded_and_differ():
    entry, protocol = DataEntry("toy", "toy2d"), Protocol("fresh", train=6, test=4, seed=3)
    first, again, other = (load_data(entry, protocol, draw) for draw in (0, 0, 1))
    assert len(first.bags) == 10
    np.testing.assert_array_equal(first.bags.X, again.bags.X)
    assert not np.array_equal(first.bags.X, other.bags.X)
