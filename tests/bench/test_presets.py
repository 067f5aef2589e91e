"""Every preset runs end to end on few bags, and finds the published numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest

from bagwise.bench import run as running
from bagwise.bench.spec import load_data, load_spec, presets
from bagwise.bench.tables import make_report, read_published, write_report
from bagwise.datasets import catalog

ALIKE = re.compile(r"rho=0\.[1-46-9]|K=[^5]")  # models that differ from another in a number


def shorten(preset):
    """Return a preset with one data set per source, two splits and one grid point."""
    spec = load_spec(preset)
    sources = {entry.source: entry for entry in reversed(spec.data)}
    few = {"folds": 2, "repeats": 1, "inner": min(spec.protocol.inner, 2), "train": 20, "test": 20}
    kept = [model for model in spec.models if not ALIKE.search(model.name)]
    grids = [{name: values[:1] for name, values in model.grid.items()} for model in kept]
    return replace(
        spec,
        data=[replace(entry, grid={}) for entry in sources.values()],
        models=[replace(model, grid=grid) for model, grid in zip(kept, grids, strict=True)],
        protocol=replace(spec.protocol, ratios=spec.protocol.ratios[-1:], **few),
    )


def load_few(entry, protocol, draw=None):
    """Return the smallest bags of a data set, equally many per class."""
    data = load_data(entry, protocol, draw)
    order = np.argsort(data.bags.sizes, kind="stable")
    classes = np.unique(data.y)
    each = max(10, 40 // len(classes))  # two folds with inner folds need some of each
    kept = np.sort(np.concatenate([order[data.y[order] == label][:each] for label in classes]))
    return data if draw is not None else replace(data, bags=data.bags[kept], y=data.y[kept])


def needed(preset):
    """Return the data sets that a short run of a preset reads from files."""
    entries = shorten(preset).data
    named = [entry.name for entry in entries if entry.source == "fetch"]
    return named + ["webkb"] * any(entry.source == "webkb" for entry in entries)


def marked(preset):
    return pytest.param(preset, marks=[pytest.mark.data] if needed(preset) else [])


@pytest.mark.parametrize("preset", [marked(preset) for preset in presets()])
def test_a_preset_runs_from_data_to_tables(preset, tmp_path, monkeypatch):
    present = {entry.name: entry.present for entry in catalog()}
    absent = [name for name in needed(preset) if not present[name]]
    if absent:
        pytest.skip(f"{', '.join(absent)} not in BAGWISE_DATA")
    monkeypatch.setattr(running, "load_data", load_few)
    spec = shorten(preset)
    plan, outcome = running.run(spec, tmp_path)
    numbers = make_report(plan).numbers
    ours = [number for number in numbers if number.kind != "published"]
    for metric in (spec.metrics[0], spec.metrics[-1]):
        shown = {(n.data.split(" @ ")[0], n.model) for n in ours if n.metric == metric}
        assert shown == {(d.name, m.name) for d in spec.data for m in spec.models}
    assert any(number.kind == "published" for number in numbers) == bool(spec.published)
    assert not outcome.failed
    assert all(path.stat().st_size > 100 for path in write_report(make_report(plan), tmp_path))


def test_published_rows_of_a_preset_are_found_by_its_models():
    for name in presets():
        spec = load_spec(name)
        if spec.published:
            table = read_published()[spec.published]
            printed = {model for rows in table.values.values() for model in rows}
            assert {model.name for model in spec.models} & printed, name


def test_every_published_table_says_where_it_is_from():
    assert len(read_published()) == 11
    for table in read_published().values():
        assert table.source
        assert table.table
        assert table.protocol
        assert table.values
    tiger = read_published()["gehler2007-table2"].number("error", "AL-SVM T=10C", "tiger")
    assert tiger == (28.0, None)
    corel = read_published()["hajimirsadeghi2017-table3"].number("accuracy", "MIMN", "corel2000")
    assert corel == (71.6, 1.0)
    assert read_published()["zhang2020-table3"].number("accuracy", "DD", "fox") is None
