"""From cells to a table's numbers: which grid point counts, its mean and its standard error.

- "best": the grid point with the best mean over all test parts. It was chosen on the bags that it
  is judged on, as the papers did, and is optimistic by some points on small data sets.
- "nested": in every split the grid point that was best on folds of its training bags; there is
  none without inner folds.

Only rounds of which every cell has run count; a grid point that failed anywhere is out. Standard
errors are over rounds, or over the folds of the only round.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.benchmark.cells import Cell
from bagwise.benchmark.measures import METRICS, POOLED, bag_measures
from bagwise.benchmark.protocol import digest
from bagwise.benchmark.runner import Plan

__all__ = ["KINDS_OF_SELECTION", "Missing", "Number", "missing", "numbers"]

KINDS_OF_SELECTION = ("best", "nested")

Record = dict[str, Any]


@dataclass(frozen=True)
class Number:
    """An entry of a table.

    Parameters
    ----------
    metric, column, model, kind : str
        Where it stands; ``kind`` is "best" or "nested".
    mean, error : float, float or None
        In the metric's own unit, and its standard error.
    rounds : int
        Rounds it is the mean of.
    points : list of dict
        The grid points chosen, each once.
    """

    metric: str
    column: str
    model: str
    kind: str
    mean: float
    error: float | None
    rounds: int
    points: list[dict[str, Any]]


@dataclass(frozen=True)
class Missing:
    """Cells that have not run, and those that failed with the first error."""

    column: str
    model: str
    open: int
    failed: int
    error: str


@dataclass(frozen=True)
class _Block:
    """The finished rounds of one model on one column: cells by grid point."""

    column: str
    model: str
    points: dict[str, list[tuple[Cell, Record]]]  # by the point's hash, in the order of splits


def column_of(cell: Cell) -> str:
    """Return the table's column that a cell belongs to."""
    condition = cell.split.condition
    return f"{cell.data.name} @ {condition}" if condition else cell.data.name


def _grouped(cells: Iterable[Cell]) -> dict[tuple[str, str], list[Cell]]:
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[column_of(cell), cell.model.name].append(cell)
    return groups


def missing(plan: Plan) -> list[Missing]:
    """Say what has not run and what failed.

    Parameters
    ----------
    plan : Plan
        A benchmark in its folder.

    Returns
    -------
    list of Missing
        One for every model and column that is not whole.
    """
    records = plan.records()
    found = []
    for (column, model), cells in _grouped(plan.cells).items():
        unrun = sum(cell.id not in records for cell in cells)
        errors = [r["error"] for c in cells if (r := records.get(c.id)) and "error" in r]
        if unrun or errors:
            found.append(Missing(column, model, unrun, len(errors), errors[0] if errors else ""))
    return found


def numbers(plan: Plan, metrics: Iterable[str] | None = None) -> list[Number]:
    """Compute all numbers of a benchmark.

    Parameters
    ----------
    plan : Plan
        A benchmark in its folder.
    metrics : iterable of str, default=None
        Which metrics; the benchmark's own when not given.

    Returns
    -------
    list of Number
        By metric, column, model and kind; what cannot be computed is not there.
    """
    records = plan.records()
    blocks = [
        block
        for (column, model), cells in _grouped(plan.cells).items()
        if (block := _block(column, model, cells, records)).points
    ]
    wanted = plan.spec.metrics if metrics is None else tuple(metrics)
    select = plan.spec.select
    found = []
    for block in blocks:
        chosen = {"best": _best(block, select), "nested": _nested(block, select)}
        for metric in wanted:
            for kind, pairs in chosen.items():
                number = _number(metric, block, kind, pairs)
                if number is not None:
                    found.append(number)
    return found


def _block(column: str, model: str, cells: list[Cell], records: dict[str, Record]) -> _Block:
    unfinished = {cell.split.repeat for cell in cells if cell.id not in records}
    points: dict[str, list[tuple[Cell, Record]]] = defaultdict(list)
    for cell in cells:
        if cell.split.repeat not in unfinished:
            points[digest(cell.point)].append((cell, records[cell.id]))
    whole = {
        key: pairs
        for key, pairs in points.items()
        if not any("error" in record for _, record in pairs)
    }
    return _Block(column, model, whole)


Pairs = list[tuple[Cell, Record]]


def _best(block: _Block, select: str) -> Pairs | None:
    """Return the cells of the grid point with the best mean; of equal ones the first."""
    means = {key: _mean_over_rounds(pairs, select) for key, pairs in block.points.items()}
    known = {key: mean for key, mean in means.items() if mean is not None}
    if not known:
        return next(iter(block.points.values())) if len(block.points) == 1 else None
    return block.points[max(known, key=known.__getitem__)]


def _nested(block: _Block, select: str) -> Pairs | None:
    """Return for each split the cell whose grid point was best on folds of the training bags."""
    columns = list(block.points.values())
    if not columns[0][0][0].inner:
        return None
    if len(columns) == 1:
        return columns[0]
    return _chosen_inside(columns, select)


def _chosen_inside(columns: list[Pairs], select: str) -> Pairs | None:
    chosen = []
    for rivals in zip(*columns, strict=True):
        inner = [record.get("inner", {}).get(select) for _, record in rivals]
        if any(value is None for value in inner):
            return None
        chosen.append(rivals[int(np.argmax(inner))])
    return chosen


def _number(metric: str, block: _Block, kind: str, pairs: Pairs | None) -> Number | None:
    if pairs is None:
        return None
    rounds = _known(_by_round(pairs, metric).values())
    if rounds is None:
        return None
    parts = [record["metrics"].get(_stored(metric)) for _, record in pairs]
    alone = "pooled" in pairs[0][1]  # of single bags there is no spread
    spread = rounds if len(rounds) > 1 or alone else _known(parts) or []
    error = float(np.std(spread, ddof=1) / np.sqrt(len(spread))) if len(spread) > 1 else None
    seen = {digest(cell.point): cell.point for cell, _ in pairs}
    where = (metric, block.column, block.model, kind)
    return Number(*where, float(np.mean(rounds)), error, len(rounds), list(seen.values()))


def _known(values: Iterable[float | None]) -> list[float] | None:
    """Return the values where none is missing."""
    listed = list(values)
    present = [value for value in listed if value is not None]
    return present if len(present) == len(listed) else None


def _mean_over_rounds(pairs: Pairs, metric: str) -> float | None:
    rounds = _known(_by_round(pairs, metric).values())
    return None if rounds is None else float(np.mean(rounds))


def _stored(metric: str) -> str:
    return METRICS[metric].complement or metric


def _by_round(pairs: Pairs, metric: str) -> dict[int, float | None]:
    rounds: dict[int, list[Record]] = defaultdict(list)
    for cell, record in pairs:
        rounds[cell.split.repeat].append(record)
    means = {repeat: _of_round(records, _stored(metric)) for repeat, records in rounds.items()}
    if not METRICS[metric].complement:
        return means
    return {repeat: None if mean is None else 1.0 - mean for repeat, mean in means.items()}


def _of_round(records: list[Record], metric: str) -> float | None:
    """Return a round's value: the mean over its test parts, weighted by their numbers of bags."""
    if metric in POOLED and all("pooled" in record for record in records):
        y = np.array([record["pooled"][0] for record in records])
        scores = np.array([record["pooled"][1] for record in records])
        scores = scores[:, 0] if scores.shape[1] == 1 else scores
        return bag_measures(y, scores, np.array(records[0]["classes"]), (metric,))[metric]
    values = _known(record["metrics"].get(metric) for record in records)
    if values is None:
        return None
    return float(np.average(values, weights=[record["n_test"] for record in records]))
