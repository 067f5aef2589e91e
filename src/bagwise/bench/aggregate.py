"""From cells to a table's numbers: which grid point counts, its mean and its standard error.

- "best": the grid point with the best mean over all test folds. It was chosen on the bags that it
  is judged on, as the papers did, and is optimistic by some points on small data sets.
- "nested": in every split the grid point that was best on folds of its training bags; there is
  none without inner folds.

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
from bagwise.bench.measures import METRICS
from bagwise.bench.run import Plan
from bagwise.bench.splits import digest
from bagwise.metrics import POOLED, bag_measures
from bagwise.model_selection.runner import Record, is_failure

Pairs = list[tuple[Cell, Record]]


@dataclass(frozen=True)
class Number:
    """An entry of a table."""

    metric: str
    column: str
    model: str
    kind: str  # "best" or "nested"
    mean: float  # in the metric's own unit
    error: float | None  # standard error of the mean
    rounds: int  # that the mean is over
    points: list[dict[str, Any]]  # the grid points chosen, each once


@dataclass(frozen=True)
class Missing:
    """Cells that have not run, and those that failed with the first error."""

    column: str
    model: str
    open: int
    failed: int
    error: str


def column_of(cell: Cell) -> str:
    """Return the table's column that a cell belongs to."""
    condition = cell.split.condition
    return f"{cell.data.name} @ {condition}" if condition else cell.data.name


def _group_cells(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[column_of(cell), cell.model.name].append(cell)
    return groups


def find_missing(plan: Plan) -> list[Missing]:
    """Say for every model and column that is not complete what has not run and what failed."""
    records = plan.records()
    found = []
    for (column, model), cells in _group_cells(plan.cells).items():
        unrun = sum(cell.id not in records for cell in cells)
        failed = [r for c in cells if (r := records.get(c.id)) and is_failure(r)]
        errors = [str(r.get("failure", r.get("error"))) for r in failed]
        if unrun or errors:
            found.append(Missing(column, model, unrun, len(errors), errors[0] if errors else ""))
    return found


def numbers(plan: Plan, metrics: Iterable[str] | None = None) -> list[Number]:
    """Compute the numbers of a benchmark, for its own metrics or the given ones.

    They are sorted by column, model, metric and kind; what cannot be computed is left out.
    """
    records, select = plan.records(), plan.spec.select
    wanted = plan.spec.metrics if metrics is None else tuple(metrics)
    found = []
    for where, cells in _group_cells(plan.cells).items():
        points = _whole_rounds(cells, records)
        if not points:
            continue
        chosen = {"best": _choose_best(points, select), "nested": _choose_nested(points, select)}
        for metric in wanted:
            for kind, pairs in chosen.items():
                number = None if pairs is None else _number(metric, where, kind, pairs)
                found += [] if number is None else [number]
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


def _choose_best(points: list[Pairs], select: str) -> Pairs | None:
    """Return the cells of the grid point with the best mean; of equal ones the first."""
    means = np.array([_by_round(pairs, select).mean() for pairs in points])
    if np.isnan(means).all():
        return points[0] if len(points) == 1 else None
    return points[int(np.nanargmax(means))]


def _choose_nested(points: list[Pairs], select: str) -> Pairs | None:
    """Return for each split the cell whose grid point was best on folds of the training bags."""
    if not points[0][0][0].inner:
        return None
    if len(points) == 1:
        return points[0]
    chosen = []
    for rivals in zip(*points, strict=True):
        inner = [record.get("inner", {}).get(select) for _, record in rivals]
        if any(value is None for value in inner):
            return None
        chosen.append(rivals[int(np.argmax(inner))])
    return chosen


def _number(metric: str, where: tuple[str, str], kind: str, pairs: Pairs) -> Number | None:
    rounds = _by_round(pairs, metric)
    if np.isnan(rounds).any():
        return None
    single_bags = "pooled" in pairs[0][1]  # which have no spread
    of_folds = _values([record for _, record in pairs], _storage_name(metric))
    spread = rounds if len(rounds) > 1 or single_bags else of_folds
    error = None
    if len(spread) > 1 and not np.isnan(spread).any():
        error = float(np.std(spread, ddof=1) / np.sqrt(len(spread)))
    seen = {digest(cell.point): cell.point for cell, _ in pairs}
    mean = float(np.mean(rounds))
    return Number(metric, *where, kind, mean, error, len(rounds), list(seen.values()))


def _storage_name(metric: str) -> str:
    return METRICS[metric].complement or metric


def _values(records: list[Record], metric: str) -> Array:
    return np.array([record["metrics"].get(metric) for record in records], dtype=float)


def _by_round(pairs: Pairs, metric: str) -> Array:
    """Return the value of each round, NaN where a fold has none."""
    rounds: dict[int, list[Record]] = defaultdict(list)
    for cell, record in pairs:
        rounds[cell.split.repeat].append(record)
    means = np.array([_of_round(records, _storage_name(metric)) for records in rounds.values()])
    return 1.0 - means if METRICS[metric].complement else means


def _of_round(records: list[Record], metric: str) -> float:
    """Return a round's value: the mean over its test folds, weighted by their numbers of bags."""
    if metric in POOLED and all("pooled" in record for record in records):
        y = np.array([record["pooled"][0] for record in records])
        scores = np.array([record["pooled"][1] for record in records])
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        value = bag_measures(y, scores, np.array(records[0]["classes"]), (metric,))[metric]
        return np.nan if value is None else value
    n_bags = [record["n_test"] for record in records]
    return float(np.average(_values(records, metric), weights=n_bags))
