"""A benchmark's tables: our numbers beside the published ones, with errors and what is missing.

The papers' printed numbers are in ``published.yaml``, each with source, table and protocol. Every
model has up to three lines in a metric's table: its best grid point (chosen on the test folds, as
the papers did), nested selection, and what the paper printed. The best of each kind is bold in
every column.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bagwise.bench.aggregate import Number, column_of, find_missing, numbers
from bagwise.bench.escape import for_markdown, for_spreadsheet
from bagwise.bench.measures import METRICS, SELECTED
from bagwise.bench.run import Plan
from bagwise.io._files import writing
from bagwise.tolerances import SINGLE

Printed = tuple[float, float | None]  # number, and spread where there is one
_WAYS = {1: " (higher is better)", -1: " (lower is better)", 0: ""}
KIND_LABELS = {"best": "best grid point", "nested": "nested", "published": "published"}


@dataclass(frozen=True)
class Report:
    """The numbers of all tables, line after line, and what to know when reading them."""

    name: str
    title: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]  # of every table
    numbers: tuple[Number, ...]


def make_report(plan: Plan, metrics: Sequence[str] | None = None) -> Report:
    """Make the tables of a benchmark, of its own metrics or the given ones."""
    spec = plan.spec
    wanted = metrics or spec.metrics
    ours = numbers(plan, wanted)
    columns = tuple(dict.fromkeys(column_of(cell) for cell in plan.cells))
    paper = read_published()[spec.published] if spec.published else None
    printed = [] if paper is None else _read_printed(paper, wanted, columns)
    models = [model.name for model in spec.models]
    missing = find_missing(plan)
    notes = [*_describe(plan, ours), *_cite(paper), " ".join(spec.notes.split()), *missing]
    if ours or not missing:  # otherwise no round is complete yet
        absent = [name for name in wanted if all(name != number.metric for number in ours)]
        notes += [
            f"No numbers for {name}: the fits of this benchmark have none." for name in absent
        ]
    found = _sort_lines(_mark_best(ours + printed), wanted, models, columns)
    return Report(spec.name, spec.title, tuple(filter(None, notes)), columns, tuple(found))


def _read_printed(
    paper: PublishedTable, metrics: Sequence[str], columns: tuple[str, ...]
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
    rounds = sorted({number.rounds or 0 for number in ours if number.kind == "best"})
    over = "rounds" if rounds and rounds[-1] > 1 else "the folds of one round"
    nested = "Nested: chosen in every split on folds of its training bags."
    if not protocol.inner:
        nested = "Nested selection needs inner folds, which this benchmark does not have."
    notes = [
        f"Protocol: {protocol.label}. ± is one standard error over {over}.",
        f"Best grid point: chosen by {SELECTED} on the test folds, as in the papers, and "
        f"therefore optimistic. {nested}",
    ]
    if rounds and rounds != [protocol.repeats]:
        counts = " to ".join(str(count) for count in {rounds[0]: 0, rounds[-1]: 0})
        notes.append(f"Only complete rounds count: {counts} of {protocol.repeats} finished.")
    if len({bool(cell.inner) for cell in plan.cells}) > 1:
        notes.append("Some rounds have no inner folds: nested numbers are over the others.")
    return notes


def _cite(paper: PublishedTable | None) -> list[str]:
    if paper is None:
        return []
    spread = f"; ± is the {paper.spread}" if paper.spread else ""
    text = f"Published: {paper.source}, {paper.table}; {paper.protocol}{spread}."
    return [f"{text} {paper.remarks}".strip()]


# What papers printed ------------------------------------------------------------------------------


@dataclass(frozen=True)
class PublishedTable:
    """A table or figure of a paper."""

    name: str  # its key
    source: str  # the paper
    table: str  # where in it
    protocol: str  # how it was measured
    spread: str = ""  # what the numbers after +- are
    remarks: str = ""  # what to know before comparing
    # metric -> model -> data set -> (number, spread or None), as printed
    values: dict[str, dict[str, dict[str, Printed]]] = field(default_factory=dict)

    def number(self, metric: str, model: str, data: str) -> Printed | None:
        """Return a printed number, None where there is none."""
        return self.values.get(metric, {}).get(model, {}).get(data)


@cache
def read_published() -> dict[str, PublishedTable]:
    """Return all tables of published numbers by name.

    Examples
    --------
    >>> from bagwise.bench.tables import read_published
    >>> table = read_published()["gehler2007-table1"]
    >>> table.number("error", "T=10C, p* (ALP-SVM)", "tiger")
    (14.0, None)
    """
    import yaml

    content = yaml.safe_load(Path(__file__).with_name("published.yaml").read_text())
    return {name: _table(name, entry) for name, entry in content.items()}


def _table(name: str, entry: dict[str, Any]) -> PublishedTable:
    values = {
        metric: {model: _read_row(row, part["columns"]) for model, row in part["rows"].items()}
        for metric, part in entry.pop("values").items()
    }
    return PublishedTable(name, values=values, **entry)


def _read_row(row: list[Any], columns: list[str]) -> dict[str, Printed]:
    pairs = [each if isinstance(each, list) else [each, None] for each in row]
    numbers = zip(columns, pairs, strict=True)
    return {data: (float(value), spread) for data, (value, spread) in numbers if value is not None}


# As files -----------------------------------------------------------------------------------------


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write ``tables.md`` and ``tables.csv``; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    forms = {folder / "tables.md": as_markdown(report), folder / "tables.csv": as_csv(report)}
    for path, text in forms.items():
        with writing(path) as file:
            file.write(text.encode())
    return list(forms)


def as_markdown(report: Report) -> str:
    """Return the tables as Markdown; a model is named on the first of its lines only."""
    parts = [f"# {for_markdown(report.title)}", *map(for_markdown, report.notes)]
    rows = [["model", "selection", *map(for_markdown, report.columns)]]
    rows.append(["---", "---", *["---:"] * len(report.columns)])
    for metric, table in groupby(report.numbers, lambda number: number.metric):
        lines = list(rows)
        for model, of_model in groupby(table, lambda number: number.model):
            name = for_markdown(model)
            for kind, line in groupby(of_model, lambda number: number.kind):
                shown = {number.data: number.text("**{}**") for number in line}
                cells = [shown.get(column, "") for column in report.columns]
                lines.append([name, KIND_LABELS[kind], *cells])
                name = ""
        title = for_markdown(METRICS[metric].label + _WAYS[METRICS[metric].better])
        parts += [f"## {title}", "\n".join("| " + " | ".join(line) + " |" for line in lines)]
    return "\n\n".join(parts) + "\n"


def as_csv(report: Report) -> str:
    """Return every number of the tables, one per line."""
    out = io.StringIO()
    names = [field.name for field in fields(Number)]
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for number in report.numbers:
        points = "" if number.points is None else json.dumps(number.points)
        cells = {**asdict(number), "points": points}
        writer.writerow({name: for_spreadsheet(cell) for name, cell in cells.items()})
    return out.getvalue()
