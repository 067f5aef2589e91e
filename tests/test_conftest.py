"""Where the data are required, a test skipped for want of them fails the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import pytest

def test_real_data(data_dir):
    pass

@pytest.mark.skipif(True, reason="BAGWISE_DATA is not set")
def test_own_skip():
    pass

@pytest.mark.skipif(True, reason="torch is not installed")
def test_other_skip():
    pass
"""


@pytest.mark.parametrize(
    ("required", "status", "counts"), [("0", 0, "3 skipped"), ("1", 1, "1 skipped, 2 errors")]
)
def test_missing_data_fails_the_run_where_required(tmp_path, required, status, counts):
    shutil.copy(Path(__file__).with_name("conftest.py"), tmp_path)
    (tmp_path / "test_needs_data.py").write_text(TESTS)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("BAGWISE", "PYTEST"))}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "."],
        cwd=tmp_path,
        env=environment | {"BAGWISE_REQUIRE_DATA": required},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, counts in run.stdout) == (status, True), run.stdout
