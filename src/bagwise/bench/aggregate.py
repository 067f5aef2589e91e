"""From cells to a table's numbers: which grid point counts, its mean and its standard error.

- "best": the grid point with the best mean over all test folds. It was chosen on the bags that it
  is judged on, as the papers did, and is optimistic by some points on small data sets.
- "nested": in every split the grid point that was best on folds of its training bags, over the
  rounds that have such inner folds.

Only rounds count in which every cell has run; a grid point that failed anywhere is out. Standard
errors are over rounds, or over the folds of the only round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bench.cell import Cell
from bagwise.bench.measures import METRICS, SELECTED
from bagwise.bench.run import Plan
from bagwise.bench.splits import digest
from bagwise.model_selection.runner import Record, is_failure
from bagwise.tolerances import SINGLE

Pairs = list[tuple[Cell, Record]]


@dataclass(frozen=True)
class Number:
    """An entry of a table, as it is shown: in percent if the metric is."""

    metric: str
    data: str  # the column
    model: str
    kind: str  # "best", "nested" or "published"
    value: float  # the mean
    error: float | None  # standard error of the mean, or the spread that the paper prints
    rounds: int | None = None  # that the mean is over; None where it was published
    best: bool = False  # of its kind, in its column
    points: list[dict[str, Any]] | None = None  # the grid points chosen, each once

    def text(self, bold: str = "{}") -> str:
        """Return the number as text, marked as bold if it is the best."""
        digits = METRICS[self.metric].digits
        value = f"{self.value:.{digits}f}"
        error = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return (bold.format(value) if self.best else value) + error


def column_of(cell: Cell) -> str:
    """Return the table's column that a cell belongs to."""
    condition = cell.split.condition
    return f"{cell.data.name} @ {condition}" if condition else cell.data.name


def _group_cells(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[column_of(cell), cell.model.name].append(cell)
    return groups


def find_missing(plan: Plan) -> list[str]:
    """Say how many cells have not run, and for every model and column how many failed and why."""
    records = plan.records()
    n_open = sum(cell.id not in records for cell in plan.cells)
    found = [f"Not finished: {n_open} cells have not run yet."] if n_open else []
    for (column, model), cells in _group_cells(plan.cells).items():
        failed = [r for c in cells if (r := records.get(c.id)) and is_failure(r)]
        if failed:
            error = str(failed[0].get("failure", failed[0].get("error"))).splitlines()[0]
            found.append(f"{model} on {column}: {len(failed)} cells failed ({error}).")
    return found


def numbers(plan: Plan, metrics: Iterable[str]) -> list[Number]:
    """Compute the numbers of a benchmark for some metrics; what cannot be computed is left out."""
    records, found = plan.records(), []
    for where, cells in _group_cells(plan.cells).items():
        points = _whole_rounds(cells, records)
        ways = {"best": _choose_best, "nested": _choose_nested} if points else {}
        chosen = {kind: choose(points) for kind, choose in ways.items()}
        for metric in metrics:
            made = (_number(metric, where, kind, pairs) for kind, pairs in chosen.items())
            found += [number for number in made if number is not None]
    return found


def _whole_rounds(cells: list[Cell], records: dict[str, Record]) -> list[Pairs]:
    """Return the finished rounds of one model on one column: one list of splits per grid point."""
    unfinished = {cell.split.repeat for cell in cells if cell.id not in records}
    points: dict[str, Pairs] = defaultdict(list)
    for cell in cells:
        if cell.split.repeat not in unfinished:
            points[digest(cell.point)].append((cell, records[cell.id]))
    return [
        pairs for pairs in points.values() if not any(is_failure(record) for _, record in pairs)
    ]


def _choose_best(points: list[Pairs]) -> Pairs | None:
    """Return the cells of the grid point with the best mean; of equal ones the first.

    Packed records have nine digits: what they round decides no tie.
    """
    means = np.array([_by_round(pairs, SELECTED).mean() for pairs in points])
    if np.isnan(means).all():
        return points[0] if len(points) == 1 else None
    return points[int(np.argmax(means >= np.nanmax(means) - SINGLE))]


def _choose_nested(points: list[Pairs]) -> Pairs | None:
    """Return for each split the cell whose grid point was best on folds of the training bags."""
    inside = [[pair for pair in pairs if pair[0].inner] for pairs in points]
    if len(points) == 1 or not inside[0]:
        return inside[0] or None
    chosen = []
    for rivals in zip(*inside, strict=True):
        inner = [record.get("inner", {}).get(SELECTED) for _, record in rivals]
        if any(value is None for value in inner):
            return None
        chosen.append(rivals[int(np.argmax(inner))])
    return chosen


def _number(metric: str, where: tuple[str, str], kind: str, pairs: Pairs | None) -> Number | None:
    # Thresholds and probabilities need inner folds, which some rounds may not have.
    stored = METRICS[metric].complement or metric
    pairs = [pair for pair in pairs or [] if pair[0].inner or stored in pair[1]["metrics"]]
    rounds = _by_round(pairs, metric) if pairs else np.array([np.nan])
    if np.isnan(rounds).any():
        return None
    scale = METRICS[metric].scale
    spread = rounds if len(rounds) > 1 else _values([record for _, record in pairs], metric)
    error = None
    if len(spread) > 1 and not np.isnan(spread).any():
        error = scale * float(np.std(spread, ddof=1) / np.sqrt(len(spread)))
    seen = {digest(cell.point): cell.point for cell, _ in pairs}
    mean = scale * float(np.mean(rounds))
    return Number(metric, *where, kind, mean, error, len(rounds), points=list(seen.values()))


def _values(records: list[Record], metric: str) -> Array:
    """Return the value of each test fold as it is stored, NaN where there is none."""
    stored = METRICS[metric].complement or metric
    return np.array([record["metrics"].get(stored) for record in records], dtype=float)


def _by_round(pairs: Pairs, metric: str) -> Array:
    """Return the mean of each round over its test folds, weighted by their numbers of bags."""
    rounds: dict[int, list[Record]] = defaultdict(list)
    for cell, record in pairs:
        rounds[cell.split.repeat].append(record)
    means = np.array(
        [
            np.average(_values(records, metric), weights=[record["n_test"] for record in records])
            for records in rounds.values()
        ]
    )
    return 1.0 - means if METRICS[metric].complement else means
