"""The command line: modules that only read arguments and print, one per command or few alike.

What a command does lives in the library. A new command is a function in a module here and one line
in `bagwise.cli.deferred`.
"""

from __future__ import annotations

from typing import Annotated

import typer

import bagwise
from bagwise.cli.deferred import COMMANDS, DeferredCommand, summarize
from bagwise.cli.output import Commands

__all__ = ["app"]

app = typer.Typer(
    name="bagwise",
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit status: 0 success, 1 the work could not be done, 2 the command was wrong, "
    "130 interrupted.",
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bagwise {bagwise.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Learn from labeled **bags** of unlabeled **instances**.

    Max-margin multiple-instance learning: predict bags, and point at the instances responsible.
    Begin with `bagwise demo`.
    """


for name in COMMANDS:
    app.command(name, cls=DeferredCommand, help=summarize(name))(lambda: None)
