"""Options that several commands share.

Options that belong together are the fields of a dataclass; `expand_groups` turns a command that
takes such groups into one that typer can read.
"""

from __future__ import annotations

import csv
import inspect
import os
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from bagwise.cli.output import is_default, settle_outputs
from bagwise.errors import suggestion

_OUTPUTS = {"out", "report", "geojson"}
Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its option groups in place of the groups.

    Commands that write get ``--force``, and lose no file without it.
    """
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in _parameters(command).items():
        kind = parameter.annotation
        if is_dataclass(kind):
            groups[name] = kind
            options += _parameters(kind).values()
        else:
            options.append(parameter)
    known = {option.name for option in options}
    outputs = {option.name for option in options if _is_output(option)}
    added = {"context": typer.Context, "force": Force} if outputs else {}
    for name in added.keys() - known:
        only, default = inspect.Parameter.KEYWORD_ONLY, False if name == "force" else None
        options.append(inspect.Parameter(name, only, default=default, annotation=added[name]))

    @wraps(command)
    def flat(**given: Any) -> None:
        if added:
            settle_outputs(given, outputs, given["context"], given["force"])
        given = {name: value for name, value in given.items() if name not in added.keys() - known}
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    flat.__annotations__ = {option.name: option.annotation for option in options}
    flat.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return flat


def _is_output(option: inspect.Parameter) -> bool:
    """Return whether an option names a file to write; runs in folders are resumed."""
    return option.name in _OUTPUTS and option.annotation.__metadata__[0].file_okay


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(function, include_extras=True)
    return {
        name: parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=hints[name])
        for name, parameter in inspect.signature(function).parameters.items()
    }


def one_of(name: str, known: Any, what: str) -> str:
    """Return a name that is known; refuse others as bad arguments."""
    if name not in known:
        raise typer.BadParameter(f"there is no {what} {name!r}. {suggestion(name, known)}")
    return name


def split_names(given: str | list[str] | None) -> list[str] | None:
    """Split "a,b", given once or several times, into names; quotes keep the comma of '"a, b"'."""
    if given is None or given == []:
        return None
    lines = csv.reader([given] if isinstance(given, str) else given, skipinitialspace=True)
    return [name.strip() for line in lines for name in line if name.strip()]


def join_names(names: list[str]) -> str:
    """Return names as `split_names` takes them."""
    return ",".join(f'"{name}"' if "," in name else name for name in names)


def as_words(**given: Any) -> list[str]:
    """Return options as the words of a command line; None and False were not given."""
    words: list[str] = []
    for name, value in given.items():
        if value is True:
            words.append(f"--{name.replace('_', '-')}")
        elif isinstance(value, list):
            words += as_words(**{name: join_names(split_names(value) or []) or None})
        elif value is not None and value is not False:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


# Options of their own -----------------------------------------------------------------------------


_JOBS_PER_CORE = 16  # processes: more only fill the memory


def check_jobs(name: str, jobs: int) -> int:
    """Return a number of processes that the computer can run."""
    cores = os.cpu_count() or 1
    if jobs < -1 or jobs == 0:
        raise typer.BadParameter(f"{name} must be at least 1, or -1 for one per core.")
    if jobs > _JOBS_PER_CORE * cores:
        raise typer.BadParameter(f"{name} {jobs} is too many: this computer has {cores} cores.")
    return jobs


def _check_jobs(jobs: int) -> int:
    return check_jobs("--jobs", jobs)


def _check_scale(context: typer.Context, scale: str) -> str:
    if is_default(context, "scale"):
        return scale
    from bagwise.model_selection.scaling import WORDS

    if scale in WORDS:
        return scale
    problem = f"there is no scale {scale!r}. {suggestion(scale, WORDS)}"
    raise typer.BadParameter(f"{problem} If it is the data, give it before --scale.")


_SCALE = (
    "Scale the features: standard (also without a word), robust, quantile, raw, auto (standard if "
    "their spreads differ much) or search."
)
Folds = Annotated[int, typer.Option(min=2, help="Number of folds.")]
Jobs = Annotated[
    int,
    typer.Option("-j", "--jobs", callback=_check_jobs, help="Worker processes; -1: one per core."),
]
Scale = Annotated[str, typer.Option(help=_SCALE, metavar="HOW", callback=_check_scale)]
Seed = Annotated[int, typer.Option(min=0, max=2**30, help="Seed of the folds.")]
