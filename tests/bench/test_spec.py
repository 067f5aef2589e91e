"""Benchmarks in YAML: what is right is read, what is wrong is named with its place."""

from copy import deepcopy

import pytest

from bagwise.bench.spec import SpecError, load_spec, parse_spec, presets

GOOD = {
    "data": ["musk1", {"name": "toy", "source": "gaussian", "options": {"n_bags": 20}}],
    "models": [{"method": "MI-SVM", "grid": {"C": [1.0, 10.0], "gamma": ["median", "scale"]}}],
    "protocol": {"kind": "kfold", "folds": 3},
    "metrics": ["accuracy"],
}


def changed(**changes):
    content = deepcopy(GOOD)
    for path, value in changes.items():
        *steps, last = path.split("__")
        place = content
        for step in steps:
            place = place[int(step) if step.isdigit() else step]
        place[int(last) if last.isdigit() else last] = value
    return content


def test_a_good_benchmark_is_read():
    spec = parse_spec(GOOD, "mine")
    assert (spec.name, spec.models[0].name, spec.protocol.folds) == ("mine", "MI-SVM", 3)
    assert spec.models[0].points(spec.data[0]) == [
        {"C": 1.0, "gamma": "median"},
        {"C": 1.0, "gamma": "scale"},
        {"C": 10.0, "gamma": "median"},
        {"C": 10.0, "gamma": "scale"},
    ]


def test_a_data_set_may_keep_less_of_the_grids():
    spec = parse_spec(changed(data__0={"name": "musk1", "grid": {"C": [10.0], "other": [1]}}))
    assert [point["C"] for point in spec.models[0].points(spec.data[0])] == [10.0, 10.0]
    assert len(spec.models[0].points(spec.data[1])) == 4
    assert spec.shorten().models[0].points(spec.shorten().data[0]) == [
        {"C": 1.0, "gamma": "median"}
    ]
    with pytest.raises(SpecError, match=r"data\[0\].grid: leaves nothing of the grid of 'MI-SVM'"):
        parse_spec(changed(data__0={"name": "musk1", "grid": {"C": [3.0]}}))


def test_all_presets_are_there_and_right():
    assert len(presets()) == 11
    for name in presets():
        assert load_spec(name).name == name


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "the benchmark: must be a mapping"),
        ({"data": ["musk1"]}, "models: must be a list"),
        ({**GOOD, "modles": []}, "there is no 'modles'; known are name"),
        (changed(data=[]), "data: must be a list with at least one"),
        (changed(data__0="musk3"), r"data\[0\].name: must be one of musk1"),
        (changed(data__0=3), r"data\[0\]: must be a mapping"),
        (changed(data__1__source="web"), r"data\[1\].source: must be one of fetch"),
        (changed(data__1__options=[1]), r"data\[1\].options: must be a mapping"),
        (changed(data__1__name="musk1"), "data: 'musk1' is there twice"),
        (changed(models__0__method="MI-SWM"), r"models\[0\]: There is no method 'MI-SWM'"),
        (changed(models__0__method=None), r"models\[0\].method: must be a text"),
        (changed(models__0__grid={"c": [1]}), r"models\[0\]: MI-SVM has no parameter 'c'"),
        (changed(models__0__grid={"C": 1}), r"models\[0\].grid: must be a mapping of names to lis"),
        (changed(models__0__grid={"C": []}), r"models\[0\].grid: must be a mapping of names to li"),
        (changed(models__0__params={"C": 1}), r"models\[0\]: C is in params and in grid"),
        (
            changed(models__0={"method": "MIMN", "params": {"cardinality": "ratio"}}),
            r"models\[0\]: cardinality cannot be set",
        ),
        (changed(protocol__kind="bootstrap"), "protocol.kind: must be one of kfold"),
        (changed(protocol__folds=1), "protocol.folds: must be a whole number of at least 2"),
        (changed(protocol__folds="ten"), "protocol.folds: must be a whole number"),
        (changed(protocol__fold=5), "protocol: there is no 'fold'"),
        (changed(protocol__inner=1), "protocol.inner: must be 0, or 2 or more"),
        (changed(protocol={"kind": "ratio"}), "protocol.ratios: name at least one"),
        (changed(protocol={"kind": "ratio", "ratios": [2]}), "protocol.ratios: must be a list"),
        (changed(protocol__kind="grouped"), "removed in version 0.3. Use kfold, which keeps"),
        (changed(protocol__kind="leave_one_out"), "kind='leave_one_out' was removed in version"),
        (changed(data__1__source="graph"), "source='graph' was removed in version 0.3"),
        (changed(protocol={"kind": "fresh"}), "protocol.train: must be a whole number"),
        (
            changed(protocol={"kind": "fresh", "train": 3, "test": 3}),
            r"data\[0\].source \(bags are drawn anew\): must be one of digits",
        ),
        (changed(metrics=["acuracy"]), r"metrics\[0\]: must be one of accuracy"),
        (changed(metrics=[["auc"]]), r"metrics\[0\]: must be one of accuracy"),
        (changed(metrics="accuracy"), "metrics: must be a list"),
        (changed(select="f1"), "select: must be one of accuracy"),
        (changed(published="gehler2007-table9"), "published: there is no table"),
    ],
)
def test_what_is_wrong_is_named(content, message):
    with pytest.raises(ValueError, match=message):
        parse_spec(content)


def test_what_is_no_yaml_is_named(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("data: [musk1\nmodels: ]")
    with pytest.raises(SpecError, match=r"broken.yaml is not YAML: .* line 2"):
        load_spec(path)


def test_a_missing_file_lists_the_presets():
    with pytest.raises(SpecError, match="neither a file nor a preset; presets are avolio2021"):
        load_spec("gehler2007")


def test_the_quick_form_is_small():
    spec = load_spec("gehler2007-table1").shorten()
    assert (spec.protocol.folds, spec.protocol.repeats, spec.protocol.inner) == (2, 1, 2)
    assert [len(model.points(spec.data[0])) for model in spec.models] == [1, 1, 1]
    assert {entry.thin for entry in spec.data} == {40}
