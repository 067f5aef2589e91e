"""A finished run, and a report of results written by hand."""

import pytest

from bagwise.bench.run import run
from bagwise.bench.tables import make_report
from bench_cases import make_plan, small, write_results


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """Return the plan and outcome of a finished run of the small benchmark."""
    return run(small(), tmp_path_factory.mktemp("whole"))


@pytest.fixture
def report(tmp_path):
    """Return a report of three models on two data sets; the second is two points better."""
    plan = make_plan(
        tmp_path,
        ["AL-SVM T=0", "ALP-SVM", "a | b*"],
        ["tiger", "fox"],
        published="gehler2007-table2",
    )

    def change(cell, made):
        made["metrics"]["accuracy"] += {"ALP-SVM": 0.02, "a | b*": -0.01}.get(cell.model.name, 0.0)
        return made

    write_results(plan, change)
    return make_report(plan)
