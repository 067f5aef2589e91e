"""What all commands share: where output goes, how a table or JSON looks, how errors end."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

__all__ = ["Commands", "Json", "progress", "say", "show", "show_json"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class Commands(TyperGroup):
    """The commands; what a user got wrong ends in one sentence and exit status 1.

    Bad values, files and data raise ValueError or OSError everywhere in the library. All else is a
    fault of ours and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except (ValueError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            say(f"[bold red]Error:[/bold red] {escape(str(error))}")
            raise typer.Exit(1) from error


def _console(stderr: bool = False) -> Console:
    # Made when something is printed: a console takes the width of its first moment.
    return Console(stderr=stderr, highlight=False)


def show(table: Any) -> None:
    """Print a table."""
    _console().print(table)


def say(text: str) -> None:
    """Print a line for people, beside the data."""
    _console(stderr=True).print(text, soft_wrap=True)


def show_json(value: Any) -> None:
    """Print JSON for programs."""
    typer.echo(json.dumps(value, indent=2))


def progress() -> Any:
    """Return a progress bar; it is drawn beside the data and leaves no trace."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=_console(stderr=True),
        transient=True,
    )
