"""What all commands print: tables, JSON, files of records, progress, and errors as one sentence."""

from __future__ import annotations

import json
import math
import os
import shlex
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import chain, count, zip_longest
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typer.core import TyperGroup

from bagwise._removed import OPTIONS
from bagwise.bench.escape import for_spreadsheet
from bagwise.errors import SCALE, Argument, Message, Parameter, message_of

FLAGS = "bagwise.flags"  # where contexts keep the options of the command
RECORD_SUFFIXES = (".csv", ".tsv", ".json", ".parquet")
SILENCE = 15.0  # seconds without a line in a log, after which people think that it hangs
_SHOWN = 200  # rows of a table on the screen: more scroll away, --out writes all

# What the library's arguments are called here.
_OPTIONS = {
    "bag": "--bag COLUMN",
    "cv": "--folds N",
    "label": "--label COLUMN",
    "groups": "--groups COLUMN",
    "features": "--features NAMES",
    "format": "--format FORMAT",
    "regroup": "--regroup",
    "overwrite": "--force",
    "scale": "--scale",
    "impute": "--impute median",
    "drop": "--drop NAMES",
    "decimal": "--decimal ','",
    "order": "--order GRADES",
}
_PARAMETERS = {"pos_label": "--positive LABEL"}  # all others are set with --param

Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


# Errors and warnings ------------------------------------------------------------------------------


class Commands(TyperGroup):
    """The commands; an error of the user's ends in one sentence and exit status 1.

    Bad values, files and data raise ValueError or OSError everywhere in the library. Data may also
    be too large for the memory or for the range of numbers, and the package that a format needs may
    not be installed. Everything else is a bug and keeps its traceback.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words of the command line; ``--scale`` may stand alone."""
        command = next((word for word in args if not word.startswith("-")), "")
        for option in (f"{command} {word.partition('=')[0]}" for word in args):
            if option in OPTIONS:
                what = f"{option} was removed in version 0.3. {OPTIONS[option]}"
                raise typer.BadParameter(what, ctx)
        return super().parse_args(ctx, _with_scale_named(args))

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with warnings.catch_warnings():
            warnings.showwarning = _say_once()
            try:
                return super().invoke(ctx)
            except BrokenPipeError:
                raise
            except KeyboardInterrupt as stop:
                say(escape(f"Interrupted. {stop}".rstrip()))
                raise typer.Exit(130) from stop  # 128 + SIGINT, as shells count
            except (ValueError, OSError, OverflowError, FloatingPointError, MemoryError,
                    ImportError) as error:  # fmt: skip
                if ctx.params.get("debug") or _is_bug(error):
                    raise
                said = reword(_sentence(error), ctx.meta.get(FLAGS))
                say(f"[bold red]Error:[/bold red] {escape(said)}")
                raise typer.Exit(1) from error


def _with_scale_named(args: list[str]) -> list[str]:
    """Let ``--scale`` at the end or before another option mean ``--scale standard``."""
    named: list[str] = []
    for word, after in zip_longest(args, args[1:], fillvalue="-"):
        named += [word, "standard"] if word == "--scale" and after.startswith("-") else [word]
    return named


@contextmanager
def interruptible(left: str) -> Iterator[None]:
    """Say what is left of the work if Ctrl-C ends it."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(left) from stop


def _is_bug(error: BaseException) -> bool:
    """Tell whether bagwise itself could not be imported, which no user can fix."""
    return isinstance(error, ImportError) and (error.name or "").startswith("bagwise")


def _sentence(error: BaseException) -> str:
    """Return what went wrong and, where the error cannot know it, what helps."""
    said = message_of(error)
    if isinstance(error, MemoryError) and not isinstance(said, Message):
        amount = f" ({said.rstrip('.')})" if said else ""
        linear = Parameter("kernel", "'linear'")
        return Message(f"Not enough memory{amount}: use fewer instances, or ", linear, ".")
    if isinstance(error, OverflowError):
        much = f"A number is too large ({said}): scale the features with "
        return Message(much, SCALE, ", or lower the parameters.")
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        return f"This needs {error.name}, which is not installed: pip install {error.name}."
    return said


def _say_once() -> Callable[..., None]:
    """Return what prints a warning for people: what it says, once, not which line said it."""
    said: set[str] = set()

    def say_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        text = reword(message_of(message))
        if text not in said:
            said.add(text)
            say(f"[yellow]Warning:[/yellow] {escape(text)}")

    return say_warning


def reword(text: str, flags: set[str] | None = None) -> str:
    """Return a text with options where it names arguments of the library.

    It is on one line, but for the items of a list, which begin with a dash. Options that are not
    among the ``flags`` of a command are those of `bagwise fit`.
    """
    text = text.reword(partial(_option, flags)) if isinstance(text, Message) else text
    return "\n- ".join(" ".join(line.split()) for line in text.split("\n- "))


def _option(flags: set[str] | None, argument: Argument) -> str:
    is_parameter = isinstance(argument, Parameter)
    option = (_PARAMETERS if is_parameter else _OPTIONS).get(argument.name)
    if option is not None:
        flag = option.split()[0]
        named = option if argument.value else flag
        return named if flags is None or flag in flags else f"`bagwise fit {named}`"
    return f"--param {argument}".replace("'", "") if is_parameter else f"{argument} (in Python)"


# On the screen ------------------------------------------------------------------------------------


def _console(stderr: bool = False) -> Console:
    # Made when something is printed: a console takes the width of its first moment.
    return Console(stderr=stderr, highlight=False)


def show(table: Any) -> None:
    """Print a table."""
    _console().print(table)


_SHOWING: list[Console] = []  # consoles with a bar on the screen, above which lines are printed


def say(text: str) -> None:
    """Print a line for people, to the standard error."""
    (_SHOWING or [_console(stderr=True)])[-1].print(text, soft_wrap=True)


def say_written(what: str, *paths: Path) -> None:
    """Say where something was written."""
    say(f"{escape(what)}: [bold]{escape(', '.join(map(str, paths)))}[/bold]")


def say_next(words: list[str]) -> None:
    """Print the next command as it is to be typed."""
    say(f"Next: [bold]{escape(shlex.join(words))}[/bold]")


def show_json(value: Any) -> None:
    """Print JSON for programs; numbers that are not known are null."""
    typer.echo(json.dumps(_finite(value), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def plain_table(*columns: str, right: tuple[str, ...] = (), **options: Any) -> Table:
    """Return an empty table; the columns named in ``right`` hold numbers."""
    table = Table(title_justify="left", caption_justify="left", **options)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    return table


def fact_table(rows: dict[str, Any], title: str) -> Table:
    """Return a table with a name and a text on each line."""
    table = Table(show_header=False, title=escape(title), title_justify="left")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(escape(name), escape(str(value)))
    return table


@contextmanager
def progress() -> Iterator[Any]:
    """Give a progress bar on the standard error, which leaves no trace; a log gets lines."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = _console(stderr=True)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,  # an empty line would be left in a log
    )
    _SHOWING.append(console)
    try:
        with bar, _tell(bar) if bar.disable else nullcontext():
            yield bar
    finally:
        _SHOWING.pop()


@contextmanager
def _tell(bar: Any) -> Iterator[None]:
    """Print every 15 seconds what is being done, how far it is, and for how long."""
    ended, began = Event(), time.monotonic()

    def tell() -> None:
        while not ended.wait(SILENCE):
            for task in bar.tasks[-1:]:
                far = f" {task.completed:g} of {task.total:g}" if task.total else ""
                say(
                    f"{task.description or 'working'}{far}, {time.monotonic() - began:.0f} s so far"
                )

    thread = Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def steps(what: str = "", total: int | None = None) -> Iterator[Callable[..., None]]:
    """Give a function that says what is being done, how much of it is done, and of how much.

    Without a number one step more is done.
    """
    with progress() as bar:
        task = bar.add_task(escape(what), total=total)

        def tell(what: str | None = None, done: int | None = None, total: int = 0) -> None:
            step = 1 if done is None else None
            said = None if what is None else escape(what)
            bar.update(task, description=said, advance=step, completed=done, total=total or None)

        yield tell


# Files --------------------------------------------------------------------------------------------


def page(text: str) -> Any:
    """Return the option that names a page to write."""
    return typer.Option(help=text, callback=check_writable(".html"), metavar="FILE.html")


def check_writable(*suffixes: str) -> Callable[[Path | None], Path | None]:
    """Return a check that refuses a file that cannot be written, before the work is done."""

    def check(path: Path | None) -> Path | None:
        if path is None:
            return None
        if suffixes and path.suffix.lower() not in suffixes:
            raise typer.BadParameter(f"{path} must end in {', '.join(suffixes)}.")
        if not path.parent.is_dir():
            raise typer.BadParameter(f"there is no folder {path.parent}: create it first.")
        if path.is_dir():
            raise typer.BadParameter(f"{path} is a folder.")
        if not os.access(path.parent, os.W_OK):
            raise typer.BadParameter(f"the folder {path.parent} is read-only.")
        return path

    return check


def free_path(path: Path) -> Path:
    """Return the path, or the first of NAME-2, NAME-3, ... that does not exist."""
    others = (path.with_stem(f"{path.stem}-{i}") for i in count(2))
    return next(each for each in chain([path], others) if not each.exists())


def is_default(context: Any, name: str) -> bool:
    """Tell whether an option was not given."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT"


def settle_outputs(given: dict[str, Any], outputs: set[str], context: Any, force: bool) -> None:
    """Refuse outputs that are read too, and files that exist, unless they may be replaced.

    The default output becomes a name that is free. Folders are left to the commands.
    """
    paths = {name: path for name, path in given.items() if isinstance(path, Path)}
    for name in outputs & paths.keys():
        if is_default(context, name) and not force:
            given[name] = free_path(paths[name])
            continue
        out, others = paths[name], [paths[each] for each in paths.keys() - {name}]
        read = next((each for each in others if _is_part(out, each)), None)
        if read is not None:
            raise typer.BadParameter(f"{out} is also read ({read}): name another output.")
        if out.exists() and not out.is_dir() and not force:
            raise typer.BadParameter(f"{out} exists already; --force replaces it.")


def _is_part(out: Path, read: Path) -> bool:
    """Return whether an existing output is an input, or the CSV of a folder that is one."""
    if not (out.exists() and read.exists()):
        return False
    is_listing = out.suffix.lower() == ".csv" and out.parent.samefile(read)
    return out.samefile(read) or is_listing


def deliver(columns: dict[str, Any], out: Path | None, as_json: bool, below: str = "") -> None:
    """Write columns of equal length to a file, print them as JSON, or show them as a table.

    On the screen, the long texts of the column named by ``below`` are lines under the table.
    """
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame({name: np.asarray(values).tolist() for name, values in columns.items()})
    if out is not None:
        _write(out, frame)
        say_written(f"{len(frame)} rows written", out)
    if as_json:
        show_json(frame.to_dict("records"))
    elif out is None:
        texts = frame.pop(below).head(_SHOWN) if below in frame else []
        show(_record_table(frame))
        for row, text in enumerate(texts):
            name = f"{frame['bag'][row]}, instance {frame['instance'][row]}, {below}"
            _console().print(escape(f"{name}: {text}"), soft_wrap=True)


def _write(path: Path, frame: Any) -> None:
    """Write a table; numbers so that reading gives the same bits."""
    from bagwise.io._files import writing

    suffix = path.suffix.lower()
    with writing(path) as file:
        if suffix == ".parquet":
            frame.to_parquet(file, index=False, write_page_checksum=True)
        elif suffix == ".json":
            file.write(json.dumps(_finite(frame.to_dict("records")), indent=2).encode())
        else:
            safe = frame.map(for_spreadsheet).rename(columns=for_spreadsheet)
            separator = "\t" if suffix == ".tsv" else ","
            safe.to_csv(file, sep=separator, index=False, lineterminator="\n")


def _record_table(frame: Any) -> Table:
    """Return the first rows as a table."""
    more = len(frame) - _SHOWN
    caption = f"{more} more rows; --out writes all of them" if more > 0 else None
    right = tuple(map(escape, frame.select_dtypes("float")))
    table = plain_table(*map(escape, frame), right=right, caption=caption)
    for row in frame.head(_SHOWN).itertuples(index=False):
        table.add_row(*(escape(_format_value(value)) for value in row))
    return table


def _format_value(value: Any) -> str:
    if isinstance(value, float) and 1e-4 <= abs(value) < 1:
        return f"{value:.4f}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
