"""Every preset runs end to end in its quick form, and finds the published numbers."""

import json

import pytest

from bagwise.bench.spec import load_spec, presets
from bagwise.bench.tables import find_published, read_published
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
    assert not [record for record in records if "failure" in record]
    for suffix in ("md", "csv"):
        assert (tmp_path / f"tables.{suffix}").stat().st_size > 100


def test_published_rows_of_a_preset_are_found_by_its_models():
    for name in presets():
        spec = load_spec(name)
        if spec.published:
            table = find_published(spec.published)
            printed = {model for rows in table.values.values() for model in rows}
            assert {model.name for model in spec.models} & printed, name


def test_every_published_table_says_where_it_is_from():
    assert len(read_published()) == 11
    for table in read_published().values():
        assert table.source
        assert table.table
        assert table.protocol
        assert table.values
    tiger = find_published("gehler2007-table2").number("error", "AL-SVM T=10C", "tiger")
    assert tiger == (28.0, None)
    corel = find_published("hajimirsadeghi2017-table3").number("accuracy", "MIMN", "corel2000")
    assert corel == (71.6, 1.0)
    assert find_published("zhang2020-table3").number("accuracy", "DD", "fox") is None


def test_a_misspelled_table_is_answered_with_a_guess():
    with pytest.raises(
        ValueError, match=r"no table 'gehler2007-tabel1'. Did you mean 'gehler2007-"
    ):
        find_published("gehler2007-tabel1")
