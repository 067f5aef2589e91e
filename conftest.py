"""How the tests run: markers and reasons to skip, `--full`, `--require`, cores, and real data.

`pytest` without a path runs everything there is, on all cores: the tests, the examples of the
docstrings and those of the pages. With a path it runs that, in one process, at once.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from functools import cache
from pathlib import Path

import pytest

# Before NumPy is imported; the worker processes inherit it.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
PAGES_WITH_TORCH = {"gpu.md"}  # their examples need PyTorch
MARKS_OF_FIXTURES = {"data_dir": "data", "chromium": "browser", "site": "browser"}


def pytest_addoption(parser):
    """Add the options `--full` and `--require`."""
    group = parser.getgroup("bagwise")
    group.addoption(
        "--full",
        action="store_true",
        help="also run slow tests, and every check with every estimator (before a release)",
    )
    group.addoption(
        "--require",
        action="append",
        default=[],
        choices=("torch", "data", "browser"),
        help="fail, rather than skip, tests for which this is missing",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Run everything on all cores where no path is given; docstrings where they are asked for."""
    everything = config.args_source == pytest.Config.ArgsSource.TESTPATHS
    if everything or any("src" in argument for argument in config.args):
        config.option.doctestmodules = True
    is_worker = hasattr(config, "workerinput")  # it has the same arguments, and is one process
    parallel = config.pluginmanager.hasplugin("xdist") and not is_worker
    if everything and parallel and config.option.numprocesses is None:
        config.option.numprocesses = "auto"
        config.option.dist = "worksteal"


def pytest_collectstart(collector):
    """Set Hypothesis up before a module that uses it; importing it takes a second."""
    if isinstance(collector, pytest.Module) and "hypothesis" in collector.path.read_text():
        _load_profile()


@cache
def _load_profile():
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "bagwise",
        deadline=None,
        derandomize=True,
        max_examples=30,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("bagwise")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what its fixtures or its page say, and leave slow tests for `--full`."""
    for item in items:
        for fixture in MARKS_OF_FIXTURES.keys() & set(getattr(item, "fixturenames", ())):
            item.add_marker(MARKS_OF_FIXTURES[fixture])
        if item.path.name in PAGES_WITH_TORCH:
            item.add_marker("torch")
    if not (config.option.full or "slow" in config.option.markexpr):
        _deselect_slow(config, items)


def _deselect_slow(config, items):
    slow = [item for item in items if item.get_closest_marker("slow")]
    items[:] = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=slow)


def _is_missing(module):
    return importlib.util.find_spec(module) is None


def _reason(mark):
    """Return why tests with a mark cannot run here, or an empty string."""
    if mark == "torch" and _is_missing("torch"):
        return "PyTorch is not installed"
    if mark == "data" and not os.environ.get("BAGWISE_DATA"):
        return "BAGWISE_DATA is not set: no real data"
    if mark == "browser" and not any(map(shutil.which, BROWSERS)):
        return "Chromium is not installed"
    if mark == "browser" and _is_missing("playwright"):
        return 'playwright is not installed (pip install "bagwise[browser]")'
    return ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Skip before any fixture is made."""
    for mark in ("torch", "data", "browser"):
        if item.get_closest_marker(mark) and (reason := _reason(mark)):
            give_up(item.config, mark, reason)


def give_up(config, mark, reason):
    """Skip the present test for want of something, or fail where it is required."""
    if mark in config.getoption("require"):
        pytest.fail(f"--require={mark}, yet {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data_dir():
    """Return the folder of the real data sets."""
    folder = Path(os.environ["BAGWISE_DATA"])
    if not folder.is_dir():
        pytest.fail(f"BAGWISE_DATA names {folder}, which is not a folder")
    return folder


@pytest.fixture(scope="session")
def dataset(data_dir, pytestconfig):
    """Return a function that loads a data set by name, or gives the test up where it is missing."""
    from bagwise.datasets import catalog, fetch

    present = {entry.name: entry.present for entry in catalog()}

    @cache
    def load(name):
        if not present[name]:
            give_up(pytestconfig, "data", f"{name} is not in BAGWISE_DATA ({data_dir})")
        return fetch(name)

    return load
