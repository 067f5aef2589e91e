"""Fit a sample of the cells behind committed tables again: do they still hold?

    python benchmarks/recheck.py [PRESET ...] [--cells 2] [--seconds 0.2]

Of every number of a table under docs/results whose cells took at most ``--seconds`` of CPU time per
fit, the first ``--cells`` cells are fitted again. The mean change of accuracy is compared with the
standard error of the number.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bench.aggregate import column_of, numbers
from bagwise.bench.cell import judge
from bagwise.bench.run import Plan, read_plan
from bagwise.bench.spec import BenchData, load_data

RESULTS = Path(__file__).parents[1] / "docs" / "results"
METRIC = "accuracy"


def sample(plan: Plan, n_cells: int, longest: float) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the numbers of a table, each with the first of the cells that it is a mean of."""
    records = plan.records()
    for number in numbers(plan, [METRIC]):
        if number.kind != "best" or not number.error or not number.points:
            continue
        cells = [
            (cell, records[cell.id]["metrics"])
            for cell in plan.cells
            if (column_of(cell), cell.model.name) == (number.data, number.model)
            and cell.point == number.points[0]
            and cell.id in records
        ]
        if np.mean([metrics["fit_seconds"] for _, metrics in cells]) <= longest:
            yield number, cells[:n_cells]


def check(folder: Path, n_cells: int, longest: float) -> None:
    """Print the line of one table."""
    plan, began = read_plan(folder), time.process_time()
    entries = {entry.name: entry for entry in plan.spec.data}

    @cache
    def load(name: str, draw: int | None) -> BenchData:
        return load_data(entries[name], plan.spec.protocol, draw)

    found, changes, beyond = list(sample(plan, n_cells, longest)), list[float](), list[str]()
    for number, cells in found:
        now = [judge(load(cell.data.name, cell.draw), cell)["metrics"][METRIC] for cell, _ in cells]
        own = [100 * (new - old[METRIC]) for new, (_, old) in zip(now, cells, strict=True)]
        changes += own
        if abs(np.mean(own)) > number.error:
            beyond.append(f"{number.model}, {number.data}: {np.mean(own):+.1f}")
    same, seconds = sum(change == 0 for change in changes), time.process_time() - began
    mean = f"{np.mean(changes):+.2f}" if changes else "-"
    row = folder.name, len(found), len(changes), same, mean, "; ".join(beyond) or "none"
    print("|", *(f"{each} |" for each in row), f"{seconds:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("presets", nargs="*")
    parser.add_argument("--cells", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.2)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | numbers | cells | same accuracy | mean change | beyond one error | CPU s |")
    print("|---|---|---|---|---|---|---|")
    for folder in sorted(path.parent for path in RESULTS.glob("*/spec.yaml")):
        if not options.presets or folder.name in options.presets:
            check(folder, options.cells, options.seconds)


if __name__ == "__main__":
    main()
