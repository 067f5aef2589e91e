"""Compiled loops: no fit needs a writable folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import bagwise
from bagwise._jit import njit

FIT = """
import warnings
warnings.simplefilter("error")
import numpy as np, bagwise
assert bagwise.__file__.startswith({site!r}), bagwise.__file__
bags = [np.arange(4.0).reshape(2, 2) * (i + 1) for i in range(8)]
bagwise.AnnealedLabelSVC(kernel="linear").fit(bags, np.arange(8) % 2)
import bagwise.assumptions._inference, bagwise.solvers._descent, bagwise.procedures._ascent
print("fitted")
"""
# Root may write everywhere, unless it gives up this right.
WITHOUT_OVERRIDE = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"]


@pytest.fixture
def read_only(tmp_path):
    """A folder with a copy of the package and an empty home, in which nothing can be written."""
    site, home = tmp_path / "site", tmp_path / "home"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(bagwise.__file__).parent, site / "bagwise", ignore=ignored)
    home.mkdir()
    folders = [tmp_path, *(each for each in tmp_path.rglob("*") if each.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    yield site, home
    for folder in folders:
        folder.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="the folders of Windows have no permission bits")
def test_a_read_only_installation_without_a_home_fits_and_says_nothing(read_only):
    site, home = read_only
    as_user: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root writes everywhere, and there is no setpriv to stop it")
        as_user = WITHOUT_OVERRIDE
    hidden = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    surroundings = kept | {"HOME": str(home), "PYTHONPATH": str(site)}

    def run(code):
        command = [*as_user, sys.executable, "-c", code]
        return subprocess.run(command, capture_output=True, text=True, env=surroundings)

    for folder in read_only:  # the test would prove nothing otherwise
        assert "Permission" in run(f"open({str(folder / 'new')!r}, 'w')").stderr
    done = run(FIT.format(site=str(site)))
    assert (done.stdout, done.stderr) == ("fitted\n", "")


def double(x):
    return 2 * x


def test_where_there_is_a_folder_the_cache_is_used():
    assert njit(cache=True)(double)(2) == 4
    assert type(njit(cache=True)(double)._cache) is not type(njit()(double)._cache)


def test_other_errors_of_the_compiler_are_not_hidden(monkeypatch):
    def broken(**options):
        raise RuntimeError("out of registers")

    monkeypatch.setattr(numba, "njit", broken)
    with pytest.raises(RuntimeError, match="out of registers"):
        njit(cache=True)(double)
