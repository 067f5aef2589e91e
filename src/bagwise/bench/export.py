"""Tables as files: Markdown and CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path

from bagwise.bench.aggregate import Number
from bagwise.bench.escape import for_markdown, for_spreadsheet
from bagwise.bench.measures import METRICS
from bagwise.bench.tables import KIND_LABELS, Report
from bagwise.io._atomic import writing

_WAYS = {1: " (higher is better)", -1: " (lower is better)", 0: ""}


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
