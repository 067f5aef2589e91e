"""One run at a time: the second one is told who holds the folder."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from bagwise.bench.run import run
from bagwise.io._lock import LOCK, locked
from bagwise.io._records import ResultsError
from bench_cases import small


def test_a_second_run_is_refused_and_told_which_process_is_at_work(tmp_path):
    code = "import sys; from pathlib import Path; from bagwise.io._lock import locked\n"
    code += "with locked(Path(sys.argv[1])): print('held', flush=True); input()"
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(ResultsError, match=f"in use by another.*process {other.pid} on "):
            run(small(), tmp_path)
        assert os.listdir(tmp_path) == [LOCK]
        other.kill()
    with locked(tmp_path):  # the lock of a killed process is free
        assert f"process {os.getpid()} on" in (tmp_path / LOCK).read_text()


def test_the_lock_is_free_again_after_an_error(tmp_path):
    with pytest.raises(RuntimeError, match="stop"), locked(tmp_path / "new"):
        raise RuntimeError("stop")
    with locked(tmp_path / "new"), pytest.raises(ResultsError), locked(tmp_path / "new"):
        pass
