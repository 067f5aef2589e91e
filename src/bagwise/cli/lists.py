"""``bagwise datasets`` and ``bagwise models``: what there is."""

from __future__ import annotations

from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from bagwise.cli.terminal import Json, say, show, show_json

__all__ = ["datasets", "models"]


def datasets(as_json: Json = False) -> None:
    """List the data sets that bagwise can fetch, and say which are on this machine.

    In Python: `bags, y = bagwise.datasets.fetch("musk1")`. Files are looked for in the
    folder named by the environment variable BAGWISE_DATA, then in the cache.
    """
    from bagwise.datasets import catalogue

    entries = catalogue()
    if as_json:
        return show_json([asdict(entry) for entry in entries])
    table = Table()
    table.add_column("data set", no_wrap=True)
    for column in ("bags", "instances", "features"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("here", no_wrap=True)
    table.add_column("where, or how to get it", overflow="fold")
    for entry in entries:
        counts = (entry.n_bags, entry.n_instances, entry.n_features)
        here = "[green]yes[/green]" if entry.present else "no"
        table.add_row(entry.name, *(f"{n:,}" for n in counts), here, escape(entry.where))
    show(table)
    say(f"{sum(entry.present for entry in entries)} of {len(entries)} data sets are here.")


def models(as_json: Json = False) -> None:
    """List the models: what each is for, its name in the paper, and the paper.

    In Python: `bagwise.WitnessSVC(C=10)`, or by the paper's name
    `bagwise.by_paper_name("MI-SVM", C=10)`.
    """
    from bagwise.papers import METHODS

    if as_json:
        return show_json(
            [
                {
                    "name": method.name,
                    "class": method.estimator.__name__,
                    "options": method.options,
                    "purpose": method.purpose,
                    "paper": str(method.paper),
                }
                for method in METHODS
            ]
        )
    table = Table(show_lines=True)
    table.add_column("paper's name", no_wrap=True)
    for column in ("in Python", "what it is for", "paper"):
        table.add_column(column, overflow="fold")
    for method in METHODS:
        texts = (method.name, method.code, method.purpose, method.paper.short)
        table.add_row(*(escape(text) for text in texts))
    show(table)
