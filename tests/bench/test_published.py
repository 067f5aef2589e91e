"""The records behind the tables of the papers, in docs/results."""

from pathlib import Path

from bagwise.bench.aggregate import find_missing
from bagwise.bench.run import read_plan

RECORDS = Path(__file__).parents[2] / "docs" / "results"


def test_published_records_are_complete():
    folders = sorted(path.parent for path in RECORDS.glob("*/spec.yaml"))
    missing = {folder.name: find_missing(read_plan(folder)) for folder in folders}
    assert len(missing) == 12
    assert not any(missing.values())
