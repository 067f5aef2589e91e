"""Files of results: torn lines are cut off, broken ones are named."""

from __future__ import annotations

import json

import pytest

from bagwise.bench.store import ResultsError, ResultsFile, read_records


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"cell": 1}\n{"cell\n{"cell": 2}\n')
    with pytest.raises(ResultsError, match=r"results.jsonl, line 2 is not JSON"):
        read_records(path)
    path.write_text("3\n")
    with pytest.raises(ResultsError, match="line 1 is not a record"):
        read_records(path)


def test_a_torn_last_line_is_cut_off_before_the_next_record(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"cell": 1}\n{"cel')
    assert read_records(path) == [{"cell": 1}]
    with ResultsFile(path) as file:
        file.append({"cell": 2})
    assert path.read_text() == '{"cell": 1}\n{"cell": 2}\n'


def test_what_is_on_the_disk_is_json(whole):
    for line in (whole[0].folder / "results.jsonl").read_text().splitlines():
        assert json.loads(line)
