"""A benchmark's tables: our numbers beside the published ones, with errors, ranks, what is missing.

Every model has up to three lines in a metric's table: its best grid point (chosen on the test
folds, as the papers did), nested selection, and what the paper printed. The best of each kind is
bold in every column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise.bench.aggregate import Missing, Number, column_of, find_missing, numbers
from bagwise.bench.measures import METRICS
from bagwise.bench.published import PublishedTable, find_published
from bagwise.bench.run import Plan
from bagwise.model_selection import Ranking, rank_methods

PUBLISHED = "published"
KIND_LABELS = {"best": "best grid point", "nested": "nested", PUBLISHED: "published"}


Row = dict[str, "Entry"]  # by column
Found = dict[tuple[str, str], Row]  # by model and kind


@dataclass(frozen=True)
class Entry:
    """A number as shown, in percent if the metric is."""

    mean: float
    error: float | None
    bold: bool = False

    def text(self, digits: int) -> str:
        """Return it as plain text."""
        error = "" if self.error is None else f" ± {self.error:.{digits}f}"
        return f"{self.mean:.{digits}f}{error}"


@dataclass(frozen=True)
class Line:
    """A line of a table: a model's numbers of one kind, one per column, and its average rank."""

    model: str
    kind: str
    entries: tuple[Entry | None, ...]
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
    def digits(self) -> int:
        """Decimals shown."""
        return METRICS[self.metric].digits


@dataclass(frozen=True)
class Report:
    """All tables of a benchmark, and what to know when reading them."""

    name: str
    title: str
    notes: tuple[str, ...]
    tables: tuple[MetricTable, ...]
    numbers: tuple[Number, ...]
    missing: tuple[Missing, ...]


def make_report(plan: Plan, metrics: tuple[str, ...] | None = None) -> Report:
    """Make the tables of a benchmark, of its own metrics or the given ones."""
    wanted = plan.spec.metrics if metrics is None else metrics
    ours = numbers(plan, wanted)
    paper = find_published(plan.spec.published) if plan.spec.published else None
    columns = tuple(dict.fromkeys(column_of(cell) for cell in plan.cells))
    models = [model.name for model in plan.spec.models]
    tables = [_table(metric, columns, models, ours, paper) for metric in wanted]
    left_out = tuple(find_missing(plan))
    return Report(
        plan.spec.name,
        plan.spec.title,
        tuple(_notes(plan, paper, ours, left_out) + _tell_absent(wanted, ours, left_out)),
        tuple(table for table in tables if table.lines),
        tuple(ours),
        left_out,
    )


def _table(
    metric: str,
    columns: tuple[str, ...],
    models: list[str],
    ours: list[Number],
    paper: PublishedTable | None,
) -> MetricTable:
    found = _ours(metric, ours)
    if paper is not None:
        models = [*models, *(name for name in paper.models(metric) if name not in models)]
        found |= _read_printed(metric, columns, models, paper)
    better = METRICS[metric].better
    rankings, lines = {}, []
    for kind in KIND_LABELS:
        rows = {model: found[model, kind] for model in models if (model, kind) in found}
        ranking = _rank(rows, columns, better)
        if ranking is not None:
            rankings[kind] = ranking
        lines += _lines(kind, rows, columns, better, ranking)
    kinds = list(KIND_LABELS)
    lines.sort(key=lambda line: (models.index(line.model), kinds.index(line.kind)))
    return MetricTable(metric, columns, tuple(lines), rankings)


def _ours(metric: str, ours: list[Number]) -> Found:
    found: Found = {}
    scale = METRICS[metric].scale
    for number in ours:
        if number.metric == metric:
            error = None if number.error is None else scale * number.error
            row = found.setdefault((number.model, number.kind), {})
            row[number.column] = Entry(scale * number.mean, error)
    return found


def _read_printed(
    metric: str, columns: tuple[str, ...], models: list[str], paper: PublishedTable
) -> Found:
    found: Found = {}
    for model in models:
        row = {column: paper.number(metric, model, _data_of(column)) for column in columns}
        printed = {column: Entry(*pair) for column, pair in row.items() if pair is not None}
        if printed:
            found[model, PUBLISHED] = printed
    return found


def _data_of(column: str) -> str:
    """Return the data set of a column; published numbers are at a training ratio of 0.2."""
    return column.removesuffix(" @ 0.2")


def _rank(rows: dict[str, Row], columns: tuple[str, ...], better: int) -> Ranking | None:
    """Rank the models that have a number in every column any of them has."""
    used = [column for column in columns if any(column in row for row in rows.values())]
    whole = {model: row for model, row in rows.items() if all(c in row for c in used)}
    if not better or len(whole) < 3 or len(used) < 2:
        return None
    values = [[row[column].mean for row in whole.values()] for column in used]
    return rank_methods(list(whole), values, better=better)


def _lines(
    kind: str,
    rows: dict[str, Row],
    columns: tuple[str, ...],
    better: int,
    ranking: Ranking | None,
) -> list[Line]:
    ranks = {} if ranking is None else dict(zip(ranking.names, ranking.ranks, strict=True))
    best = {column: _best(rows, column, better) for column in columns}
    lines = []
    for model, row in rows.items():
        entries = tuple(_mark(row.get(column), best[column]) for column in columns)
        lines.append(Line(model, kind, entries, ranks.get(model)))
    return lines


def _best(rows: dict[str, Row], column: str, better: int) -> float | None:
    values = [row[column].mean for row in rows.values() if column in row]
    return better * max(better * value for value in values) if better and len(values) > 1 else None


def _mark(entry: Entry | None, best: float | None) -> Entry | None:
    if entry is None or best is None:
        return entry
    return Entry(entry.mean, entry.error, bool(np.isclose(entry.mean, best, rtol=0, atol=1e-9)))


_NESTED = "Nested: chosen in every split on folds of its training bags."
_NOT_NESTED = "Nested selection needs inner folds, which this benchmark does not have."


def _notes(
    plan: Plan, paper: PublishedTable | None, ours: list[Number], left_out: tuple[Missing, ...]
) -> list[str]:
    spec = plan.spec
    rounds = sorted({number.rounds for number in ours})
    over = "rounds" if rounds and rounds[-1] > 1 else "the folds of one round"
    notes = [
        f"Protocol: {spec.protocol.label}. ± is one standard error over {over}.",
        f"Best grid point: chosen by {spec.select} on the test folds, as in the papers, and "
        f"therefore optimistic. {_NESTED if spec.protocol.inner else _NOT_NESTED}",
    ]
    if rounds and rounds != [spec.protocol.repeats] and spec.protocol.kind != "leave_one_out":
        counts = " to ".join(str(count) for count in {rounds[0]: 0, rounds[-1]: 0})
        notes.append(f"Only complete rounds count: {counts} of {spec.protocol.repeats} finished.")
    if paper is not None:
        spread = f"; ± is the {paper.spread}" if paper.spread else ""
        text = f"Published: {paper.source}, {paper.table}; {paper.protocol}{spread}."
        notes.append(f"{text} {paper.remarks}".strip())
    if spec.notes:
        notes.append(" ".join(spec.notes.split()))
    return notes + _tell_missing(left_out)


def _tell_missing(left_out: tuple[Missing, ...]) -> list[str]:
    notes = []
    if any(one.open for one in left_out):
        notes.append(f"Not finished: {sum(one.open for one in left_out)} cells have not run yet.")
    for one in left_out:
        if one.failed:
            first = one.error.splitlines()[0]
            notes.append(f"{one.model} on {one.column}: {one.failed} cells failed ({first}).")
    return notes


def _tell_absent(
    wanted: tuple[str, ...], ours: list[Number], left_out: tuple[Missing, ...]
) -> list[str]:
    """Say which metrics have no number at all, and what they need."""
    if left_out and not ours:  # no round is complete yet
        return []
    absent = [metric for metric in wanted if all(metric != number.metric for number in ours)]
    return [
        f"No numbers for {metric}: it needs {METRICS[metric].needs}."
        for metric in absent
        if METRICS[metric].needs
    ]


def long_form(report: Report) -> list[dict[str, Any]]:
    """Return every number of the tables as a record, as in the CSV file."""
    chosen = {(n.metric, n.column, n.model, n.kind): n for n in report.numbers}
    records = []
    for table in report.tables:
        for line in table.lines:
            for column, entry in zip(table.columns, line.entries, strict=True):
                if entry is not None:
                    where = (table.metric, column, line.model, line.kind)
                    records.append(_record(where, line.rank, entry, chosen.get(where)))
    return records


def _record(
    where: tuple[str, ...], rank: float | None, entry: Entry, number: Number | None
) -> dict[str, Any]:
    return dict(zip(("metric", "data", "model", "kind"), where, strict=True)) | {
        "value": entry.mean,
        "error": entry.error,
        "rounds": None if number is None else number.rounds,
        "best": entry.bold,
        "average_rank": rank,
        "points": None if number is None else number.points,
    }
