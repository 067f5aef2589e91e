"""Tables as files: Markdown, CSV, LaTeX, HTML, and the critical-difference diagrams."""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Iterator
from pathlib import Path

from bagwise.bench.escape import for_latex, for_markdown, for_spreadsheet, one_line
from bagwise.bench.tables import KIND_LABELS, Entry, Line, MetricTable, Report, long_form
from bagwise.io._atomic import writing
from bagwise.model_selection import Ranking


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write ``tables.md``, ``.csv``, ``.tex``, ``.html`` and the diagrams; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _draw(report, folder)
    forms = {
        "tables.md": as_markdown(report, [path.name for path in drawn]),
        "tables.csv": as_csv(report),
        "tables.tex": as_latex(report),
        "tables.html": as_html(report, [path.name for path in drawn]),
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


# What all forms share -----------------------------------------------------------------------------


def _heads(table: MetricTable) -> list[str]:
    return ["model", "selection", *table.columns, *(["average rank"] if table.rankings else [])]


def name_lines(table: MetricTable) -> list[tuple[str, Line]]:
    """Return the lines, with a model's name only on the first of its lines."""
    shown: list[tuple[str, Line]] = []
    for line in table.lines:
        repeated = bool(shown) and shown[-1][1].model == line.model
        shown.append(("" if repeated else line.model, line))
    return shown


def _texts(table: MetricTable, bold: str, plus: str = " ± ") -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the other texts of each line."""
    for name, line in name_lines(table):
        cells = [_text(entry, table.digits, bold, plus) for entry in line.entries]
        ranks = ["" if line.rank is None else f"{line.rank:.2f}"] if table.rankings else []
        yield name, [KIND_LABELS[line.kind], *cells, *ranks]


def _text(entry: Entry | None, digits: int, bold: str, plus: str) -> str:
    if entry is None:
        return ""
    mean, found, error = entry.text(digits).partition(" ± ")
    return (bold.format(mean) if entry.bold else mean) + (plus + error if found else "")


def _tests(table: MetricTable) -> list[str]:
    """Say what the statistical tests of the ranks found."""
    return [_test(kind, ranking) for kind, ranking in table.rankings.items()]


def _test(kind: str, ranking: Ranking) -> str:
    return (
        f"Ranks, {KIND_LABELS[kind]}: Friedman chi2 = {ranking.statistic:.2f}, p = "
        f"{ranking.p_value:.3g}, over {len(ranking.names)} methods and {ranking.n_data} data sets; "
        f"critical difference (Nemenyi, {ranking.alpha:g}) {ranking.critical_difference:.2f}."
    )


def _of_table(figures: list[str] | None, table: MetricTable) -> list[str]:
    return [name for name in figures or [] if name.startswith(f"ranks-{table.metric}-")]


# The forms ----------------------------------------------------------------------------------------


def as_markdown(report: Report, figures: list[str] | None = None) -> str:
    """Return the tables as Markdown."""
    parts = [f"# {for_markdown(report.title)}", *map(for_markdown, report.notes)]
    for table in report.tables:
        heads = _heads(table)
        rows = [[*map(for_markdown, heads)], ["---", "---", *["---:"] * (len(heads) - 2)]]
        rows += [[for_markdown(name), *texts] for name, texts in _texts(table, "**{}**")]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines[1] = lines[1].replace(" ", "")
        parts += [f"## {for_markdown(table.title)}", "\n".join(lines), *_tests(table)]
        parts += [f"![{name}]({name})" for name in _of_table(figures, table)]
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


def as_latex(report: Report) -> str:
    """Return the tables as LaTeX, for the package booktabs."""
    parts = [f"% {one_line(note)}" for note in (report.title, *report.notes)]
    for table in report.tables:
        heads = _heads(table)
        rows = [
            [for_latex(name), *texts] for name, texts in _texts(table, r"\textbf{{{}}}", r" $\pm$ ")
        ]
        parts += [
            r"\begin{table}",
            rf"\caption{{{for_latex(report.title)}: {for_latex(table.title)}}}",
            rf"\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}",
            r"\toprule",
            " & ".join(for_latex(head) for head in heads) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            *(r"\bottomrule", r"\end{tabular}", r"\end{table}", ""),
        ]
    return "\n".join(parts) + "\n"


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em }}
table {{ border-collapse: collapse }} th, td {{ padding: .2em .8em; text-align: right }}
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) {{ text-align: left }}
thead, tr.first {{ border-top: 1px solid #999 }} img {{ max-width: 100% }}
</style></head><body>
{body}
</body></html>
"""


def as_html(report: Report, figures: list[str] | None = None) -> str:
    """Return the tables as one page."""
    parts = [f"<h1>{html.escape(report.title)}</h1>"]
    parts += [f"<p>{html.escape(note)}</p>" for note in report.notes]
    for table in report.tables:
        parts.append(f"<h2>{html.escape(table.title)}</h2>")
        heads = "".join(f"<th>{html.escape(head)}</th>" for head in _heads(table))
        parts.append(f"<table><thead><tr>{heads}</tr></thead><tbody>")
        for name, texts in _texts(table, "<b>{}</b>"):
            first = ' class="first"' if name else ""
            cells = "".join(f"<td>{text}</td>" for text in (html.escape(name), *texts))
            parts.append(f"<tr{first}>{cells}</tr>")
        parts.append("</tbody></table>")
        parts += [f"<p>{html.escape(test)}</p>" for test in _tests(table)]
        parts += [f'<img src="{name}" alt="average ranks">' for name in _of_table(figures, table)]
    return _PAGE.format(title=html.escape(report.title), body="\n".join(parts))
