"""A benchmark's tables: our numbers beside the published ones, with errors and what is missing.

Every model has up to three lines in a metric's table: its best grid point (chosen on the test
folds, as the papers did), nested selection, and what the paper printed. The best of each kind is
bold in every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bagwise.bench.aggregate import Number, column_of, find_missing, numbers
from bagwise.bench.measures import METRICS
from bagwise.bench.published import PublishedTable, find_published
from bagwise.bench.run import Plan
from bagwise.tolerances import SINGLE

KIND_LABELS = {"best": "best grid point", "nested": "nested", "published": "published"}


@dataclass(frozen=True)
class Report:
    """The numbers of all tables, line after line, and what to know when reading them."""

    name: str
    title: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]  # of every table
    numbers: tuple[Number, ...]


def make_report(plan: Plan, metrics: tuple[str, ...] | None = None) -> Report:
    """Make the tables of a benchmark, of its own metrics or the given ones."""
    spec = plan.spec
    wanted = metrics or spec.metrics
    ours = numbers(plan, wanted)
    columns = tuple(dict.fromkeys(column_of(cell) for cell in plan.cells))
    paper = find_published(spec.published) if spec.published else None
    printed = [] if paper is None else _read_printed(paper, wanted, columns)
    models = [model.name for model in spec.models]
    missing = find_missing(plan)
    notes = [*_describe(plan, ours), *_cite(paper), " ".join(spec.notes.split()), *missing]
    if ours or not missing:  # otherwise no round is complete yet
        notes += _tell_absent(wanted, ours)
    found = _sort_lines(_mark_best(ours + printed), wanted, models, columns)
    return Report(spec.name, spec.title, tuple(filter(None, notes)), columns, tuple(found))


def _read_printed(
    paper: PublishedTable, metrics: tuple[str, ...], columns: tuple[str, ...]
) -> list[Number]:
    found = []
    for metric in metrics:
        for model, row in paper.values.get(metric, {}).items():
            for column in columns:
                pair = row.get(column.removesuffix(" @ 0.2"))  # the ratio of all printed numbers
                found += [] if pair is None else [Number(metric, column, model, "published", *pair)]
    return found


def _mark_best(found: list[Number]) -> list[Number]:
    """Mark the best number of every kind in every column that has several."""
    rivals: dict[tuple[str, str, str], list[float]] = {}
    for number in found:
        rivals.setdefault((number.metric, number.kind, number.data), []).append(number.value)
    marked = []
    for number in found:
        values = np.array(rivals[number.metric, number.kind, number.data])
        better = METRICS[number.metric].better
        ahead = (better * (values - number.value)).max() > SINGLE * abs(number.value)
        marked.append(replace(number, best=bool(better and len(values) > 1 and not ahead)))
    return marked


def _sort_lines(
    found: list[Number], metrics: Sequence[str], models: list[str], columns: Sequence[str]
) -> list[Number]:
    """Sort by table, model, kind and column; models that only the paper has come last."""
    order = list(dict.fromkeys([*models, *(number.model for number in found)]))
    kinds = list(KIND_LABELS)

    def place(number: Number) -> tuple[int, ...]:
        line = order.index(number.model), kinds.index(number.kind)
        return metrics.index(number.metric), *line, columns.index(number.data)

    return sorted(found, key=place)


# Notes --------------------------------------------------------------------------------------------


def _describe(plan: Plan, ours: list[Number]) -> list[str]:
    protocol = plan.spec.protocol
    rounds = sorted({number.rounds or 0 for number in ours})
    over = "rounds" if rounds and rounds[-1] > 1 else "the folds of one round"
    nested = "Nested: chosen in every split on folds of its training bags."
    if not protocol.inner:
        nested = "Nested selection needs inner folds, which this benchmark does not have."
    notes = [
        f"Protocol: {protocol.label}. ± is one standard error over {over}.",
        f"Best grid point: chosen by {plan.spec.select} on the test folds, as in the papers, and "
        f"therefore optimistic. {nested}",
    ]
    if rounds and rounds != [protocol.repeats]:
        counts = " to ".join(str(count) for count in {rounds[0]: 0, rounds[-1]: 0})
        notes.append(f"Only complete rounds count: {counts} of {protocol.repeats} finished.")
    return notes


def _cite(paper: PublishedTable | None) -> list[str]:
    if paper is None:
        return []
    spread = f"; ± is the {paper.spread}" if paper.spread else ""
    text = f"Published: {paper.source}, {paper.table}; {paper.protocol}{spread}."
    return [f"{text} {paper.remarks}".strip()]


def _tell_absent(wanted: tuple[str, ...], ours: list[Number]) -> list[str]:
    """Say which metrics have no number at all, and what they need."""
    absent = [metric for metric in wanted if all(metric != number.metric for number in ours)]
    return [
        f"No numbers for {metric}: it needs {METRICS[metric].needs}."
        for metric in absent
        if METRICS[metric].needs
    ]
