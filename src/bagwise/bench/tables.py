"""A benchmark's tables: our numbers beside the published ones, with errors, ranks, what is missing.

Every model has up to three lines in a metric's table: its best grid point (chosen on the test
folds, as the papers did), nested selection, and what the paper printed. The best of each kind is
bold in every column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bagwise.bench.aggregate import Number, column_of, find_missing, numbers
from bagwise.bench.measures import METRICS
from bagwise.bench.published import PublishedTable, find_published
from bagwise.bench.run import Plan
from bagwise.model_selection import Ranking, rank_methods

KIND_LABELS = {"best": "best grid point", "nested": "nested", "published": "published"}
Row = dict[str, Number]  # by column


@dataclass(frozen=True)
class Line:
    """A line of a table: a model's numbers of one kind, one per column, and its average rank."""

    model: str
    kind: str
    numbers: tuple[Number | None, ...]
    rank: float | None


@dataclass(frozen=True)
class MetricTable:
    """The table of one metric."""

    metric: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    rankings: dict[str, Ranking]  # by kind

    @property
    def title(self) -> str:
        """What the numbers are, and which way is better."""
        shown = METRICS[self.metric]
        way = {1: " (higher is better)", -1: " (lower is better)", 0: ""}[shown.better]
        return shown.label + way

    @property
    def heads(self) -> list[str]:
        """The heads of the columns."""
        return ["model", "selection", *self.columns, *(["average rank"] if self.rankings else [])]

    def texts(self, bold: str) -> list[list[str]]:
        """Return the texts of every line; a model is named on the first of its lines only."""
        rows, named = [], ""
        for line in self.lines:
            cells = ["" if number is None else number.text(bold) for number in line.numbers]
            ranks = ["" if line.rank is None else f"{line.rank:.2f}"] if self.rankings else []
            name = "" if line.model == named else line.model
            rows.append([name, KIND_LABELS[line.kind], *cells, *ranks])
            named = line.model
        return rows


@dataclass(frozen=True)
class Report:
    """All tables of a benchmark, and what to know when reading them."""

    name: str
    title: str
    notes: tuple[str, ...]
    tables: tuple[MetricTable, ...]


def make_report(plan: Plan, metrics: tuple[str, ...] | None = None) -> Report:
    """Make the tables of a benchmark, of its own metrics or the given ones."""
    spec = plan.spec
    wanted = metrics or spec.metrics
    ours = numbers(plan, wanted)
    columns = tuple(dict.fromkeys(column_of(cell) for cell in plan.cells))
    paper = find_published(spec.published) if spec.published else None
    printed = [] if paper is None else _read_printed(paper, wanted, columns)
    models = [model.name for model in spec.models]
    tables = [
        _make_table(metric, columns, models, [n for n in ours + printed if n.metric == metric])
        for metric in wanted
    ]
    missing = find_missing(plan)
    notes = [*_describe(plan, ours), *_cite(paper), " ".join(spec.notes.split()), *missing]
    if ours or not missing:  # otherwise no round is complete yet
        notes += _tell_absent(wanted, ours)
    shown = tuple(table for table in tables if table.lines)
    return Report(spec.name, spec.title, tuple(filter(None, notes)), shown)


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


def _make_table(
    metric: str, columns: tuple[str, ...], models: list[str], found: list[Number]
) -> MetricTable:
    better = METRICS[metric].better
    rankings, lines = {}, []
    models = list(dict.fromkeys([*models, *(number.model for number in found)]))
    for kind in KIND_LABELS:
        rows: dict[str, Row] = {model: {} for model in models}
        for number in _mark_best([n for n in found if n.kind == kind], better):
            rows[number.model][number.column] = number
        rows = {model: row for model, row in rows.items() if row}
        ranks: dict[str, float] = {}
        if ranking := _rank(rows, columns, better):
            rankings[kind] = ranking
            ranks = dict(zip(ranking.names, ranking.ranks, strict=True))
        lines += [
            Line(model, kind, tuple(map(row.get, columns)), ranks.get(model))
            for model, row in rows.items()
        ]
    lines.sort(key=lambda line: models.index(line.model))
    return MetricTable(metric, columns, tuple(lines), rankings)


def _mark_best(found: list[Number], better: int) -> list[Number]:
    """Mark the best number of every column that has several."""
    by_column: dict[str, list[float]] = {}
    for number in found:
        by_column.setdefault(number.column, []).append(better * number.mean)
    best = {column: max(means) for column, means in by_column.items() if len(means) > 1 and better}
    return [
        replace(n, best=bool(np.isclose(better * n.mean, best[n.column], rtol=0, atol=1e-9)))
        if n.column in best
        else n
        for n in found
    ]


def _rank(rows: dict[str, Row], columns: tuple[str, ...], better: int) -> Ranking | None:
    """Rank the models that have a number in every column any of them has."""
    used = [column for column in columns if any(column in row for row in rows.values())]
    whole = {model: row for model, row in rows.items() if all(c in row for c in used)}
    if not better or len(whole) < 3 or len(used) < 2:
        return None
    values = [[row[column].mean for row in whole.values()] for column in used]
    return rank_methods(list(whole), values, better=better)


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


def long_form(report: Report) -> list[dict[str, Any]]:
    """Return every number of the tables as a record, as in the CSV file."""
    return [
        {
            "metric": number.metric,
            "data": number.column,
            "model": number.model,
            "kind": number.kind,
            "value": number.mean,
            "error": number.error,
            "rounds": number.rounds,
            "best": number.best,
            "average_rank": line.rank,
            "points": number.points,
        }
        for table in report.tables
        for line in table.lines
        for number in line.numbers
        if number is not None
    ]
