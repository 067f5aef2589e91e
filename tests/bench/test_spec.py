"""Benchmarks in YAML: presets and what a folder was run by."""

import pytest

from bagwise.bench.measures import METRICS, SELECTABLE
from bagwise.bench.spec import load_spec, parse_spec, presets
from bagwise.catalog import make_estimator
from bagwise.datasets.registry import DATASETS

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
    assert spec.shorten().models[0].points(spec.shorten().data[0]) == [
        {"C": 1.0, "gamma": "median"}
    ]


def test_all_presets_are_there_and_right():
    assert len(presets()) == 12
    for name in presets():
        spec = load_spec(name)
        assert spec.name == name
        assert set(spec.metrics) <= set(METRICS)
        assert spec.select in SELECTABLE
        for entry in spec.data:
            assert entry.source != "fetch" or entry.name in DATASETS
            assert all(model.points(entry) for model in spec.models)
        for model in spec.models:
            make_estimator(model.method, **model.params, **model.grid)


def test_a_misspelled_preset_is_answered_with_a_guess():
    with pytest.raises(ValueError, match=r"no preset 'avolio2012'. Did you mean 'avolio2021'"):
        load_spec("avolio2012")


def test_the_quick_form_is_small():
    spec = load_spec("gehler2007-table1").shorten()
    assert (spec.protocol.folds, spec.protocol.repeats, spec.protocol.inner) == (2, 1, 2)
    assert [len(model.points(spec.data[0])) for model in spec.models] == [1, 1, 1]
    assert {entry.thin for entry in spec.data} == {40}
