"""What all commands share: where output goes, how a table or JSON looks, how errors end."""

from __future__ import annotations

import json
import warnings
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from bagwise.cli.wording import at_the_terminal

__all__ = ["Commands", "Json", "progress", "say", "show", "show_json"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


class Commands(TyperGroup):
    """The commands; what a user got wrong ends in one sentence and exit status 1.

    Bad values, files and data raise ValueError or OSError everywhere in the library; data may also
    be too large for the memory or for the range of numbers, and a format's own package may not be
    installed. All else is a fault of ours and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise
            except (ValueError, OSError, OverflowError, FloatingPointError, MemoryError,
                    ImportError) as error:  # fmt: skip
                if ctx.params.get("debug") or _is_ours(error):
                    raise
                say(f"[bold red]Error:[/bold red] {escape(at_the_terminal(_sentence(error)))}")
                raise typer.Exit(1) from error


def _is_ours(error: BaseException) -> bool:
    """Tell whether bagwise itself could not be imported, which no user can mend."""
    return isinstance(error, ImportError) and (error.name or "").startswith("bagwise")


def _sentence(error: BaseException) -> str:
    """Return what went wrong and, where the error cannot know it, what helps."""
    said = str(error)
    if isinstance(error, MemoryError) and (not said or type(error) is not MemoryError):
        amount = f" ({said.rstrip('.')})" if said else ""
        return f"The memory is too small{amount}: take fewer instances, or --param kernel=linear."
    if isinstance(error, OverflowError):
        return f"A number is too large ({said}): scale the features, or lower the parameters."
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        return f"This needs {error.name}, which is not installed: pip install {error.name}."
    return said


def _say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning for people: what it says, not which line of the code said it."""
    say(f"[yellow]warning:[/yellow] {escape(at_the_terminal(str(message)))}")


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
