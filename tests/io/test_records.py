"""Files of results: torn lines are cut off, broken ones are named, one run at a time."""

import errno
import lzma
import os
import subprocess
import sys

import pytest

from bagwise.bench.run import run
from bagwise.io._records import LOCK, ResultsError, ResultsFile, hold_lock, read_records
from bench_cases import small
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


def test_packed_records_come_first_and_stay_as_they_are(tmp_path):
    path, packed = tmp_path / "results.jsonl", tmp_path / "results.jsonl.xz"
    packed.write_bytes(lzma.compress(b'{"cell": 1}\n{"cell": 2}\n'))
    assert read_records(path) == [{"cell": 1}, {"cell": 2}]
    with ResultsFile(path) as file:
        file.append({"cell": 3})
    assert [record["cell"] for record in read_records(path)] == [1, 2, 3]
    assert path.read_text() == '{"cell": 3}\n'
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(ResultsError, match=r"results.jsonl.xz is damaged"):
        read_records(path)


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


def test_a_second_run_is_refused_and_told_which_process_is_at_work(tmp_path):
    code = "import sys; from pathlib import Path; from bagwise.io._records import hold_lock\n"
    code += "with hold_lock(Path(sys.argv[1])): print('held', flush=True); input()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(ResultsError, match=f"in use by another.*process {other.pid} on "):
            run(small(), tmp_path)
        assert os.listdir(tmp_path) == [LOCK]
        other.kill()
    with hold_lock(tmp_path):  # the lock of a killed process is free
        assert f"process {os.getpid()} on" in (tmp_path / LOCK).read_text()


def test_the_lock_is_free_again_after_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="stop"), hold_lock(tmp_path / "new"):
        raise RuntimeError("stop")
    with hold_lock(tmp_path / "new"), pytest.raises(ResultsError), hold_lock(tmp_path / "new"):
        pass
