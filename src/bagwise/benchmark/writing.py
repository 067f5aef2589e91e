"""Tables as files: Markdown, CSV, LaTeX, HTML, and the critical-difference diagrams."""

from __future__ import annotations

import csv
import html
import io
import json
from pathlib import Path

from bagwise.benchmark.ranks import Ranking
from bagwise.benchmark.tables import KIND_LABELS, Entry, Line, MetricTable, Report, long_form

__all__ = ["as_csv", "as_html", "as_latex", "as_markdown", "named_lines", "write_report"]


def write_report(report: Report, folder: Path) -> list[Path]:
    """Write a report in every form.

    Parameters
    ----------
    report : Report
        The tables.
    folder : Path
        Where to: ``tables.md``, ``.csv``, ``.tex``, ``.html``, and a diagram for every metric whose
        ranks can be compared.

    Returns
    -------
    list of Path
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _draw(report, folder)
    forms = {
        "tables.md": as_markdown(report, [path.name for path in drawn]),
        "tables.csv": as_csv(report),
        "tables.tex": as_latex(report),
        "tables.html": as_html(report, [path.name for path in drawn]),
    }
    for name, text in forms.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [*(folder / name for name in forms), *drawn]


def _draw(report: Report, folder: Path) -> list[Path]:
    from bagwise.plot import critical_difference

    paths = []
    for table in report.tables:
        for kind in ("nested", "best"):
            if kind in table.rankings:
                ranking = table.rankings[kind]
                label = METRIC_TITLE.format(table.title, KIND_LABELS[kind], ranking.n_data)
                figure = critical_difference(
                    ranking.names, ranking.ranks, ranking.critical_difference, title=label
                )
                paths.append(folder / f"ranks-{table.metric}-{kind}.png")
                figure.savefig(paths[-1], dpi=120)
                break  # nested where there is one
    return paths


METRIC_TITLE = "Average ranks by {}, {}, {} data sets"


def _heads(table: MetricTable) -> list[str]:
    return ["model", "selection", *table.columns, *(["average rank"] if table.rankings else [])]


def _ends(table: MetricTable, line: Line) -> list[str]:
    if not table.rankings:
        return []
    return ["" if line.rank is None else f"{line.rank:.2f}"]


def _said(kind: str, ranking: Ranking) -> str:
    return (
        f"Ranks, {KIND_LABELS[kind]}: Friedman chi2 = {ranking.statistic:.2f}, p = "
        f"{ranking.p_value:.3g}, over {len(ranking.names)} methods and {ranking.n_data} data sets; "
        f"critical difference (Nemenyi, {ranking.alpha:g}) {ranking.critical_difference:.2f}."
    )


def as_markdown(report: Report, figures: list[str] | None = None) -> str:
    """Return the tables as Markdown."""
    parts = [f"# {report.title}", *report.notes]
    for table in report.tables:
        parts.append(f"## {table.title}")
        heads = _heads(table)
        rows = ["| " + " | ".join(heads) + " |"]
        rows.append("|---|---|" + "---:|" * (len(heads) - 2))
        for name, line in named_lines(table):
            cells = [_markdown(entry, table.digits) for entry in line.entries]
            fields = [_piped(name), KIND_LABELS[line.kind], *cells, *_ends(table, line)]
            rows.append("| " + " | ".join(fields) + " |")
        parts.append("\n".join(rows))
        parts += [_said(kind, ranking) for kind, ranking in table.rankings.items()]
        parts += [f"![{n}]({n})" for n in figures or [] if n.startswith(f"ranks-{table.metric}-")]
    return "\n\n".join(parts) + "\n"


def named_lines(table: MetricTable) -> list[tuple[str, Line]]:
    """Return the lines, a model's name on the first of its lines only."""
    shown: list[tuple[str, Line]] = []
    for line in table.lines:
        repeated = bool(shown) and shown[-1][1].model == line.model
        shown.append(("" if repeated else line.model, line))
    return shown


def _piped(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*")


def _markdown(entry: Entry | None, digits: int) -> str:
    if entry is None:
        return ""
    text = entry.text(digits)
    mean, plus, error = text.partition(" ± ")
    return f"**{mean}**{plus}{error}" if entry.bold else text


def as_csv(report: Report) -> str:
    """Return every number of the tables, one a line."""
    records = long_form(report)
    out = io.StringIO()
    names = ["metric", "data", "model", "kind", "value", "error", "rounds", "best"]
    writer = csv.DictWriter(out, [*names, "average_rank", "points"], lineterminator="\n")
    writer.writeheader()
    for record in records:
        points = record["points"]
        writer.writerow({**record, "points": "" if points is None else json.dumps(points)})
    return out.getvalue()


_TEX = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "{": r"\{", "}": r"\}"}
_TEX |= {"±": r"$\pm$", "^": r"\^{}", "~": r"\~{}", "\\": r"\textbackslash{}"}


def _tex(text: str) -> str:
    return "".join(_TEX.get(letter, letter) for letter in text)


def as_latex(report: Report) -> str:
    """Return the tables as LaTeX, for the package booktabs."""
    parts = [f"% {note}" for note in (report.title, *report.notes)]
    for table in report.tables:
        heads = _heads(table)
        parts += [
            r"\begin{table}",
            rf"\caption{{{_tex(report.title)}: {_tex(table.title)}}}",
            rf"\begin{{tabular}}{{ll{'r' * (len(heads) - 2)}}}",
            r"\toprule",
            " & ".join(_tex(head) for head in heads) + r" \\",
            r"\midrule",
        ]
        for name, line in named_lines(table):
            cells = [_latex(entry, table.digits) for entry in line.entries]
            fields = [_tex(name), KIND_LABELS[line.kind], *cells, *_ends(table, line)]
            parts.append(" & ".join(fields) + r" \\")
        parts += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(parts) + "\n"


def _latex(entry: Entry | None, digits: int) -> str:
    if entry is None:
        return ""
    mean, plus, error = entry.text(digits).partition(" ± ")
    shown = rf"\textbf{{{mean}}}" if entry.bold else mean
    return shown + (rf" $\pm$ {error}" if plus else "")


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
        rows = [f"<table><thead><tr>{heads}</tr></thead><tbody>"]
        for name, line in named_lines(table):
            cells = [html.escape(name), KIND_LABELS[line.kind]]
            cells += [_cell(entry, table.digits) for entry in line.entries]
            cells += _ends(table, line)
            first = ' class="first"' if name else ""
            rows.append(f"<tr{first}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
        parts += [*rows, "</tbody></table>"]
        parts += [f"<p>{html.escape(_said(*item))}</p>" for item in table.rankings.items()]
        names = [name for name in figures or [] if name.startswith(f"ranks-{table.metric}-")]
        parts += [f'<img src="{name}" alt="average ranks">' for name in names]
    return _PAGE.format(title=html.escape(report.title), body="\n".join(parts))


def _cell(entry: Entry | None, digits: int) -> str:
    if entry is None:
        return ""
    mean, plus, error = entry.text(digits).partition(" ± ")
    return (f"<b>{mean}</b>" if entry.bold else mean) + plus + error
