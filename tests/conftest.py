"""One thread per process, repeatable property tests, and the data sets that tests ask for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Before NumPy is imported; the worker processes inherit it.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

settings.register_profile(
    "bagwise",
    deadline=None,
    derandomize=True,
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("bagwise")

DATA_IS_REQUIRED = os.environ.get("BAGWISE_REQUIRE_DATA") == "1"


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder of the real data sets; the test is skipped where there is none."""
    folder = os.environ.get("BAGWISE_DATA")
    if not folder:
        pytest.skip("BAGWISE_DATA is not set: this test needs real data")
    if not Path(folder).is_dir():
        pytest.fail(f"BAGWISE_DATA names {folder}, which is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def dataset(data_dir: Path) -> Callable[[str], Any]:
    """Return a function that loads a data set by name, or skips the test where it is missing."""
    from bagwise.datasets import catalog, fetch

    present = {entry.name: entry.present for entry in catalog()}

    @cache
    def load(name: str) -> Any:
        if not present[name]:
            pytest.skip(f"{name} is not in BAGWISE_DATA ({data_dir})")
        return fetch(name)

    return load


def _forbid_missing_data(report: Any) -> None:
    if DATA_IS_REQUIRED and report.skipped and "BAGWISE_DATA" in str(report.longrepr):
        report.outcome = "failed"
        report.longrepr = f"BAGWISE_REQUIRE_DATA=1, yet skipped: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    _forbid_missing_data(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    _forbid_missing_data(report)
    return report
