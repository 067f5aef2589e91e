"""The command line: a list of commands, each in a module of its own that only reads and prints.

What a command does lives in the library; a new command is a function in a module here and one
line below.
"""

from __future__ import annotations

from typing import Annotated

import typer

import bagwise
from bagwise.cli import applying, bench, demo, judging, lists, training
from bagwise.cli.terminal import Commands

__all__ = ["app"]

app = typer.Typer(
    name="bagwise",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 all went well, 1 the work could not be done, 2 the command was wrong.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bagwise {bagwise.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Say which and leave."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the code an error came from.")
    ] = False,
) -> None:
    """Learn from labelled **bags** of unlabelled **instances**.

    Max-margin multiple-instance learning: predict bags, and point at the instances responsible.
    Begin with `bagwise demo`.
    """


for command in (
    demo.demo,
    training.fit,
    applying.predict,
    applying.evaluate,
    applying.explain,
    judging.cv,
    judging.compare,
    training.convert,
    lists.datasets,
    lists.models,
    bench.bench,
    bench.table,
):
    app.command()(command)
