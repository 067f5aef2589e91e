"""Files of results: torn lines are cut off, broken ones are named."""

from __future__ import annotations

import errno

import pytest

from bagwise.io._records import ResultsError, ResultsFile, read_records
from faults import after_every_fault


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


def test_a_fault_leaves_whole_records(tmp_path):
    folder, results = tmp_path / "folder", tmp_path / "folder" / "results.jsonl"
    folder.mkdir()

    def write_old():
        results.write_text('{"cell": 1}\n')

    def write_new():
        with ResultsFile(results) as file:
            file.append({"cell": 2})
            file.append({"cell": 3})

    seen = set()
    for at, fault, error in after_every_fault(
        folder, write_old, write_new, ("kill", errno.ENOSPC, errno.EIO)
    ):
        cells = [record["cell"] for record in read_records(results)]
        assert cells in ([1], [1, 2], [1, 2, 3]), (at, fault)
        if fault != "kill":
            assert str(folder) in str(error), (at, fault)
            assert results.read_bytes().endswith(b"}\n")  # no torn line for other readers
        seen.add(len(cells))
    assert seen >= {1, 2}
