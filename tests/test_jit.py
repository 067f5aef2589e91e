"""Compiled loops: no fit needs a writable folder."""

from __future__ import annotations

import subprocess
import sys

import numba
import pytest

from bagwise._jit import njit

READ_ONLY = """
from numba.core import caching
caching.CacheImpl._locator_classes = []  # what numba finds where no folder is writable
import warnings
warnings.simplefilter("error")
import numpy as np
from bagwise import AnnealedLabelSVC
bags = [np.arange(4.0).reshape(2, 2) * (i + 1) for i in range(8)]
y = np.arange(8) % 2
AnnealedLabelSVC(kernel="linear").fit(bags, y)
import bagwise.assumptions._inference, bagwise.solvers._descent, bagwise.procedures._ascent
print("fitted")
"""


def test_a_read_only_installation_fits_and_says_nothing():
    command = [sys.executable, "-c", READ_ONLY]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("fitted\n", "")


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
