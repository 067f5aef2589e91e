"""Every preset runs end to end in its quick form, through the command itself."""

from __future__ import annotations

import json

import pytest

from bagwise.bench.spec import load_spec, presets
from bagwise.datasets import catalog
from bagwise.io._records import read_records
from command_line import call


def needed(preset):
    """Return the data sets that a quick run of a preset reads from files."""
    entries = load_spec(preset).shorten().data
    named = [entry.name for entry in entries if entry.source == "fetch"]
    return named + ["webkb"] * any(entry.source == "webkb" for entry in entries)


def marked(preset):
    return pytest.param(preset, marks=[pytest.mark.data] if needed(preset) else [])


@pytest.mark.parametrize("preset", [marked(preset) for preset in presets()])
def test_a_preset_runs_quickly_from_data_to_tables(preset, tmp_path):
    present = {entry.name: entry.present for entry in catalog()}
    absent = [name for name in needed(preset) if not present[name]]
    if absent:
        pytest.skip(f"{', '.join(absent)} not in BAGWISE_DATA")
    result = call("bench", preset, "--quick", "--out", str(tmp_path), "--json")
    assert result.exit_code == 0, result.output
    spec = load_spec(preset).shorten()
    numbers = json.loads(result.stdout)["numbers"]
    ours = [number for number in numbers if number["kind"] != "published"]
    for metric in (spec.metrics[0], spec.metrics[-1]):
        shown = {(n["data"].split(" @ ")[0], n["model"]) for n in ours if n["metric"] == metric}
        assert shown == {(d.name, m.name) for d in spec.data for m in spec.models}
    if spec.published:
        assert any(number["kind"] == "published" for number in numbers)
    records = read_records(tmp_path / "results.jsonl")
    assert not [record for record in records if "error" in record]
    for suffix in ("md", "csv", "tex", "html"):
        assert (tmp_path / f"tables.{suffix}").stat().st_size > 100
