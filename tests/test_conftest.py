"""What is missing skips a test with its reason, or fails it where it is required."""

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

def test_other_skip():
    pytest.skip("of its own")

@pytest.mark.slow
def test_slow():
    pass
"""


@pytest.mark.parametrize(
    ("options", "status", "counts"),
    [
        ([], 0, "2 skipped, 1 deselected"),
        (["--full"], 0, "1 passed, 2 skipped"),
        (["--require=data"], 1, "1 skipped, 1 deselected, 1 error"),
    ],
)
def test_missing_things_skip_or_fail_and_slow_tests_wait(tmp_path, options, status, counts):
    shutil.copy(Path(__file__).parents[1] / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    slow\n    data\n")
    (tmp_path / "test_needs_data.py").write_text(TESTS)
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("BAGWISE", "PYTEST"))}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *options, "."],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, counts in run.stdout) == (status, True), run.stdout
