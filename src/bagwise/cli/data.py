"""``bagwise convert``, ``datasets`` and ``models``: formats, data sets and methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from bagwise.cli.output import Json, plain_table, say, say_written, show, show_json
from bagwise.cli.source import Source


def _check_suffix(path: Path) -> Path:
    """Refuse a name that says no format, before the work is done."""
    from bagwise.io.dispatch import SUFFIXES, suffix_of

    if path.suffix and suffix_of(path) not in SUFFIXES:
        raise typer.BadParameter(f"{path} must end in {', '.join(SUFFIXES)}.")
    return path


def convert(
    source: Source,
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File to write; its suffix is the format.", callback=_check_suffix
        ),
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace OUT if it exists.")] = False,
    as_json: Json = False,
) -> None:
    """Convert bags from one format to another.

    Formats are CSV and TSV (also gzipped), Parquet, Arrow, WEKA's ARFF, C4.5, svmlight, MATLAB,
    `.bags` (memory-mapped, the fastest to read) and a folder with one file per bag.

    `bagwise convert cells.csv cells.bags --bag slide --label diagnosis`
    """
    from bagwise.io import write

    if out.exists() and not force:
        raise typer.BadParameter(f"{out} exists already; --force replaces it.")
    for flag in ("impute", "task", "order"):
        if getattr(source, flag) is not None:
            raise typer.BadParameter(f"--{flag} is for models; bags are written as they are.")
    bags, y = source.read()
    options: dict[str, Any] = {"overwrite": True} if force and out.suffix == ".bags" else {}
    write(out, bags, y, **options)
    if as_json:
        names = ("n_bags", "n_instances", "n_features")
        counts = dict(zip(names, (len(bags), bags.n_instances, bags.n_features), strict=True))
        show_json({"file": str(out), **counts, "labels": y is not None})
    say_written(f"{bags!r} written", out)


def datasets(as_json: Json = False) -> None:
    """List the data sets that bagwise can fetch, and which of them are on this computer.

    In Python: `bags, y = bagwise.datasets.fetch("musk1")`. Files are looked for in the folder named
    by the environment variable BAGWISE_DATA, then in the cache.
    """
    from bagwise.datasets import catalog

    entries = catalog()
    if as_json:
        names = ("name", "n_bags", "n_instances", "n_features", "present", "where", "home_page")
        show_json([{name: getattr(entry, name) for name in names} for entry in entries])
        return
    counts = ("bags", "instances", "features")
    table = plain_table("data set", *counts, "present", "where, or how to get it", right=counts)
    for column in table.columns[:-1]:
        column.no_wrap = True
    for entry in entries:
        numbers = (f"{n:,}" for n in (entry.n_bags, entry.n_instances, entry.n_features))
        present = "[green]yes[/green]" if entry.present else "no"
        table.add_row(entry.name, *numbers, present, escape(entry.where))
    show(table)
    say(f"{sum(entry.present for entry in entries)} of {len(entries)} data sets are present.")


def models(as_json: Json = False) -> None:
    """List the models: paper name, class, purpose and paper.

    In Python: `bagwise.WitnessSVC(C=10)`, or by the paper's name
    `bagwise.by_paper_name("MI-SVM", C=10)`.
    """
    from bagwise.catalog import EVERY

    methods = [(entry.task, method) for entry in EVERY for method in entry.methods]
    if as_json:
        show_json([{**_record(method), "labels": task} for task, method in methods])
        return
    table = plain_table("paper name", "in Python", "purpose", "paper", show_lines=True)
    table.columns[0].no_wrap = True
    for task, method in methods:
        purpose = method.purpose if task == "classes" else f"{task}: {method.purpose}"
        texts = (method.name, method.code, purpose, method.paper.short)
        table.add_row(*(escape(text) for text in texts))
    show(table)


def _record(method: Any) -> dict[str, Any]:
    return {
        "name": method.name,
        "class": method.class_name,
        "options": method.options,
        "purpose": method.purpose,
        "can": method.can,
        "paper": str(method.paper),
    }
