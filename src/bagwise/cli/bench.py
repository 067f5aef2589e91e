"""``bagwise bench`` and ``bagwise table``: from data to the papers' tables."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bagwise._removed import OPTIONS
from bagwise.cli.options import Jobs, one_of
from bagwise.cli.output import Json, interruptible, say, say_written, show_json, steps


def bench(
    benchmark: Annotated[str, typer.Argument(help="Name of a preset.", metavar="PRESET")],
    out: Annotated[
        Path,
        typer.Option(help="Folder for the results; a started run is resumed.", file_okay=False),
    ],
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Run a benchmark (data sets x models x grids x splits) and write its tables.

    Each finished cell is saved at once: give the same command again to resume an interrupted run.
    A cell that fails is recorded with its error, and the others continue.

    Presets, named after the papers: `gehler2007-table1`, `-table2`, `-text`, `-figure1`;
    `zhang2020-table2`, `-table3`; `avolio2021`; `hajimirsadeghi2017-table2`, `-table3`,
    `-ratio`; `zhang2011-table2`, `-figure1`.

    `bagwise bench gehler2007-table1 --out results/table1 --jobs 2`
    """
    from bagwise.bench.run import run
    from bagwise.bench.spec import load_spec, presets

    if Path(benchmark).suffix in (".yaml", ".yml"):
        raise typer.BadParameter(f"own benchmarks were removed. {OPTIONS['bench FILE.yaml']}")
    spec = load_spec(one_of(benchmark, presets(), "preset"))
    left = f"The finished cells are in {out}: give the same command again to resume."
    with interruptible(left):
        with steps(spec.name) as tell:
            plan, outcome = run(spec, out, jobs=jobs, note=tell)
        _report(plan, None, out, as_json)
    say(f"{outcome.ran} of {outcome.total} cells ran now, {outcome.failed} have failed.")
    if outcome.failed:
        raise typer.Exit(1)


def table(
    results: Annotated[
        Path, typer.Argument(help="Folder with results of `bagwise bench`.", metavar="RESULTS")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Folder for the tables. Default: RESULTS.", file_okay=False)
    ] = None,
    metric: Annotated[
        list[str] | None, typer.Option(help="Another metric than the benchmark's; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Make the tables of a benchmark from its results, as Markdown and CSV.

    Our numbers stand beside the published ones, with standard errors and the best in bold. Grid
    points are chosen in two ways: on the test folds (optimistic, as in the papers) and by nested
    cross-validation.

    `bagwise table results/table1 --metric auc --metric brier`
    """
    from bagwise.bench.measures import METRICS
    from bagwise.bench.run import read_plan

    metrics = tuple(one_of(name, METRICS, "metric") for name in metric or [])
    _report(read_plan(results), metrics or None, results if out is None else out, as_json)


def _report(plan: Any, metrics: tuple[str, ...] | None, out: Path, as_json: bool) -> None:
    """Write the tables into a folder, and print them."""
    from bagwise.bench.tables import as_markdown, make_report, write_report

    report = make_report(plan, metrics)
    paths = write_report(report, out)
    if as_json:
        shown = list(map(asdict, report.numbers))
        show_json({"name": report.name, "notes": report.notes, "numbers": shown})
    else:
        typer.echo(as_markdown(report), nl=False)
    say_written("Tables", *paths)
