"""Tables as files: Markdown, CSV, and the critical-difference diagrams."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from bagwise.bench.escape import for_markdown, for_spreadsheet
from bagwise.bench.tables import KIND_LABELS, Report, long_form
from bagwise.io._atomic import writing


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write ``tables.md``, ``.csv`` and the diagrams; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _draw(report, folder)
    forms = {
        "tables.md": as_markdown(report, [path.name for path in drawn]),
        "tables.csv": as_csv(report),
    }
    for name, text in forms.items():
        with writing(folder / name) as file:
            file.write(text.encode())
    return [*(folder / name for name in forms), *drawn]


def _draw(report: Report, folder: Path) -> list[Path]:
    """Draw the ranks of every metric that has some, those of nested selection if possible."""
    from bagwise.plot import critical_difference

    paths = []
    for table in report.tables:
        kind = next((kind for kind in ("nested", "best") if kind in table.rankings), None)
        if kind is not None:
            ranking = table.rankings[kind]
            title = (
                f"Average ranks by {table.title}, {KIND_LABELS[kind]}, {ranking.n_data} data sets"
            )
            paths.append(folder / f"ranks-{table.metric}-{kind}.png")
            with writing(paths[-1]) as file:
                critical_difference(ranking, title=title).savefig(file, dpi=120, format="png")
    return paths


def as_markdown(report: Report, figures: list[str] | None = None) -> str:
    """Return the tables as Markdown."""
    parts = [f"# {for_markdown(report.title)}", *map(for_markdown, report.notes)]
    for table in report.tables:
        heads = [for_markdown(head) for head in table.heads]
        rows = [[for_markdown(row[0]), *row[1:]] for row in table.texts("**{}**")]
        lines = ["| " + " | ".join(row) + " |" for row in [heads, *rows]]
        lines.insert(1, "|---|---|" + "---:|" * (len(heads) - 2))
        parts += [f"## {for_markdown(table.title)}", "\n".join(lines)]
        parts += [
            f"Ranks, {KIND_LABELS[kind]}: Friedman chi2 = {ranks.statistic:.2f}, p = "
            f"{ranks.p_value:.3g}, over {len(ranks.names)} methods and {ranks.n_data} data sets; "
            f"critical difference (Nemenyi, {ranks.alpha:g}) {ranks.critical_difference:.2f}."
            for kind, ranks in table.rankings.items()
        ]
        drawn = [name for name in figures or [] if name.startswith(f"ranks-{table.metric}-")]
        parts += [f"![{name}]({name})" for name in drawn]
    return "\n\n".join(parts) + "\n"


def as_csv(report: Report) -> str:
    """Return every number of the tables, one per line."""
    out = io.StringIO()
    names = ["metric", "data", "model", "kind", "value", "error", "rounds", "best"]
    writer = csv.DictWriter(out, [*names, "average_rank", "points"], lineterminator="\n")
    writer.writeheader()
    for record in long_form(report):
        points = record["points"]
        cells = {**record, "points": "" if points is None else json.dumps(points)}
        writer.writerow({name: for_spreadsheet(cell) for name, cell in cells.items()})
    return out.getvalue()
