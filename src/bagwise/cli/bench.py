"""``bagwise bench`` and ``bagwise table``: from data to the papers' tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from bagwise.cli.options import check_jobs
from bagwise.cli.terminal import Json, say, show, show_json

__all__ = ["bench", "table"]


def bench(
    benchmark: Annotated[str, typer.Argument(help="A YAML file, or the name of a preset.")],
    out: Annotated[Path, typer.Option(help="Folder for the results; resumed where it has some.")],
    quick: Annotated[
        bool, typer.Option("--quick", help="Few bags, two splits, one grid point: does it run?")
    ] = False,
    jobs: Annotated[
        int,
        typer.Option(min=-1, callback=check_jobs, help="Worker processes; -1 is one a core."),
    ] = 1,
    dask: Annotated[
        str | None, typer.Option(help='Address of a Dask scheduler, or "local".')
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a benchmark, data sets x models x grids x splits, and write its tables.

    Every finished cell is on the disk at once: a run that was interrupted goes on where it was when
    the same command is given again. A cell that fails is recorded with its error, the others go on.

    Presets, after the papers: `gehler2007-table1`, `-table2`, `-figure1`; `zhang2020-table2`,
    `-table3`; `avolio2021`; `hajimirsadeghi2017-table2`, `-table3`, `-ratio`; `zhang2011-table2`,
    `-figure1`.

    `bagwise bench gehler2007-table1 --out results/table1 --jobs 2`
    """
    from bagwise.benchmark.runner import run
    from bagwise.benchmark.spec import load_spec
    from bagwise.benchmark.tables import make_report
    from bagwise.benchmark.writing import write_report

    spec = load_spec(benchmark)
    spec = spec.shortened() if quick else spec
    with _cells_bar() as bar:
        steps = bar.add_task(spec.name, total=None)
        plan, outcome = run(
            spec,
            out,
            jobs=jobs,
            dask=dask,
            started=lambda done, total: bar.update(steps, completed=done, total=total),
            finished=lambda record: bar.update(
                steps, advance=1, description=f"{escape(record['data'])}: {escape(record['model'])}"
            ),
        )
    report = make_report(plan)
    paths = write_report(report, out)
    _show(report, as_json)
    say(f"{outcome.ran} of {outcome.total} cells ran now, {outcome.failed} have failed.")
    say(f"Tables: [bold]{escape(', '.join(str(path) for path in paths))}[/bold]")
    if outcome.failed:
        raise typer.Exit(1)


def table(
    results: Annotated[Path, typer.Argument(help="A folder of results of `bagwise bench`.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables; the same folder.")
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Another metric than the benchmark's; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the tables of a benchmark from its results: Markdown, CSV, LaTeX and HTML.

    Ours beside the published numbers, with standard errors, the best in bold, average ranks, and
    the optimistic choice of a grid point (as the papers made it) beside nested selection.

    `bagwise table results/table1 --metric auc --metric brier`
    """
    from bagwise.benchmark.measures import METRICS
    from bagwise.benchmark.runner import read_plan
    from bagwise.benchmark.tables import make_report
    from bagwise.benchmark.writing import write_report

    for name in metric or []:
        if name not in METRICS:
            raise typer.BadParameter(
                f"there is no metric {name!r}; there are {', '.join(METRICS)}."
            )
    report = make_report(read_plan(results), tuple(metric) if metric else None)
    paths = write_report(report, results if out is None else out)
    _show(report, as_json)
    say(f"Tables: [bold]{escape(', '.join(str(path) for path in paths))}[/bold]")


def _cells_bar() -> Any:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True, highlight=False),
        transient=True,
        # Cells are of very different length: a short memory makes the remaining time jump.
        speed_estimate_period=600,
    )


def _show(report: Any, as_json: bool) -> None:
    from bagwise.benchmark.tables import KIND_LABELS, long_form
    from bagwise.benchmark.writing import named_lines

    if as_json:
        return show_json({"name": report.name, "notes": report.notes, "numbers": long_form(report)})
    for one in report.tables:
        drawn = Table(title=one.title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        drawn.add_column("model", overflow="fold")
        drawn.add_column("selection", overflow="fold")
        for name in (*one.columns, *(["rank"] if one.rankings else [])):
            drawn.add_column(escape(name), justify="right", no_wrap=True)
        for name, line in named_lines(one):
            cells = ["" if e is None else _bold(e.text(one.digits), e.bold) for e in line.entries]
            rank = ["" if line.rank is None else f"{line.rank:.2f}"] if one.rankings else []
            drawn.add_row(escape(name), KIND_LABELS[line.kind], *cells, *rank)
        show(drawn)
    for note in report.notes:
        say(escape(note))


def _bold(text: str, bold: bool) -> str:
    return f"[bold]{text}[/bold]" if bold else text
