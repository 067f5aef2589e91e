"""What commands that read data share: their options, the reader, the model by its name."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from bagwise.bags import Bags, check_bags
from bagwise.cli.terminal import say

__all__ = [
    "Bag",
    "Data",
    "Features",
    "Format",
    "Groups",
    "Jobs",
    "Label",
    "Model",
    "ModelFile",
    "Params",
    "Positive",
    "Regroup",
    "Scale",
    "Seed",
    "build_model",
    "check_jobs",
    "labelled",
    "parameters",
    "positive_label",
    "read_bags",
    "split_candidates",
    "split_names",
]


def _method_names(incomplete: str) -> list[str]:
    """Complete the names of models in the shell."""
    from bagwise.papers import METHODS

    names = {name for method in METHODS for name in (method.name, method.estimator.__name__)}
    return sorted(name for name in names if name.startswith(incomplete))


def _data_names(incomplete: str) -> list[str]:
    """Complete names of data sets; the shell adds files by itself."""
    from bagwise.datasets import catalogue

    return [entry.name for entry in catalogue() if entry.name.startswith(incomplete)]


def check_jobs(jobs: int) -> int:
    """Refuse no processes at all."""
    if jobs == 0:
        raise typer.BadParameter("--jobs must be at least 1, or -1 for one a core.")
    return jobs


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A file or folder with bags, or the name of a data set (`bagwise datasets`).",
        autocompletion=_data_names,
    ),
]
ModelFile = Annotated[
    Path, typer.Argument(help="A model that `bagwise fit` wrote.", metavar="MODEL")
]
Bag = Annotated[
    str | None,
    typer.Option(
        "--bag", help="Column of the bags' names, or its number from 0.", metavar="COLUMN"
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Column of the bags' labels.", metavar="COLUMN"),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups", help="Column of what folds must not split, as patients.", metavar="COLUMN"
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        help="Feature columns, with commas; all others when left out.",
        metavar="NAMES",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, parquet, arrow, arff, c45, svmlight, mat, bags or folder; found out when left "
        "out.",
    ),
]
Regroup = Annotated[
    bool, typer.Option("--regroup", help="The rows of a bag may be scattered over the file.")
]
Model = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        help="A class or a paper's name: WitnessSVC, MI-SVM (`bagwise models`).",
        autocompletion=_method_names,
        metavar="NAME",
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param", "-p", help="A parameter, as C=10; may be repeated.", metavar="NAME=VALUE"
    ),
]
Positive = Annotated[
    str | None,
    typer.Option("--positive", help="The label whose bags hold witnesses.", metavar="LABEL"),
]
Scale = Annotated[
    bool, typer.Option("--scale", help="Standardise the features on the training instances.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**30, help="Seed of the folds.")]
Jobs = Annotated[
    int,
    typer.Option("--jobs", "-j", callback=check_jobs, help="Processes at a time; -1: one a core."),
]


# Data --------------------------------------------------------------------------------------------


def read_bags(
    data: Path, format: str | None = None, regroup: bool = False, **columns: Any
) -> tuple[Bags, Any]:
    """Read bags and labels, whatever the format; a data set's name is fetched."""
    if not data.exists():
        return _fetched(data, columns)
    from bagwise.io import read
    from bagwise.io.dispatch import READERS, recognise

    format = format or recognise(data)
    if format not in READERS:
        raise typer.BadParameter(f"there is no format {format!r}; there are {', '.join(READERS)}.")
    options = {name: _column(value) for name, value in columns.items() if value is not None}
    if regroup:
        options["regroup"] = True
    _refuse_unknown(format, READERS[format], options)
    if format == "csv":
        _tell_guess(data, columns)
    bags, y = read(data, format=format, **options)
    return check_bags(bags, finite=False), y


def _tell_guess(data: Path, columns: dict[str, Any]) -> None:
    """Say which columns of a table without a header are taken for the bags and the labels."""
    from bagwise.io._tabletext import sniff

    open_roles = [role for role in ("bag", "label") if columns.get(role, "") is None]
    if not open_roles or sniff(data, None, None).header_lines:
        return
    taken = {"bag": "bags are column 0", "label": "labels are column 1"}
    guess = ", ".join(taken[role] for role in open_roles)
    flags = " and ".join(f"--{role}" for role in open_roles)
    say(escape(f"{data} has no header: {guess}; name others with {flags} (numbers from 0)."))


def split_names(text: str | None) -> list[str] | None:
    """Cut "a,b" into names."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _column(value: Any) -> Any:
    """Turn "3" into a position and "a,b" (a list already) into columns."""
    if isinstance(value, list):
        return [_column(one) for one in value]
    return int(value) if value.isdecimal() else value


def _refuse_unknown(format: str, reader: Any, options: dict[str, Any]) -> None:
    known = inspect.signature(reader).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for name in options:
        if name not in known:
            flag = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{flag} is not for files of the format {format}.")


def _fetched(data: Path, columns: dict[str, Any]) -> tuple[Bags, Any]:
    from bagwise.datasets import catalogue, fetch

    names = [entry.name for entry in catalogue()]
    if str(data) not in names:
        raise FileNotFoundError(
            f"There is no file or folder {data}, and no data set of this name "
            f"(there are {', '.join(names)})."
        )
    given = next((name for name, value in columns.items() if value is not None), None)
    if given is not None:
        raise typer.BadParameter(f"--{given} is for files: {data} is a data set of its own.")
    return fetch(str(data))


def labelled(bags: Bags, y: Any, data: Path) -> tuple[Bags, Any]:
    """Ask for labels and numbers without gaps, before any work is done."""
    if y is None:
        raise ValueError(f"{data} holds no labels: name their column with --label.")
    return check_bags(bags), np.asarray(y)


# Models ------------------------------------------------------------------------------------------


def build_model(name: str, settings: dict[str, Any], **more: Any) -> Any:
    """Build an estimator from its name and parameters, and check their values."""
    from bagwise.benchmark.naming import check_method, make_estimator

    settings = settings | {key: value for key, value in more.items() if value is not None}
    try:
        check_method(name, list(settings))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    estimator = make_estimator(name, **settings)
    _check_values(estimator, settings)
    return estimator


def _check_values(estimator: Any, settings: dict[str, Any]) -> None:
    from sklearn.utils._param_validation import InvalidParameterError

    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        hint = _list_hint(str(error), settings)
        raise typer.BadParameter(f"--param: {error}{hint}") from error
    if settings.get("n_jobs") == 0:
        raise typer.BadParameter("--param n_jobs must be at least 1, or -1 for one a core.")
    if isinstance(settings.get("cv"), list | tuple):
        raise typer.BadParameter("--param cv: give the number of folds, as in --param cv=5.")


def _list_hint(message: str, settings: dict[str, Any]) -> str:
    """Say what a list is for, where the message is about one."""
    lists = [name for name, value in settings.items() if isinstance(value, list)]
    about_one = any(f"The {name!r} parameter" in message for name in lists)
    return " A list of candidates needs `bagwise fit --cv`." if about_one else ""


def parameters(texts: list[str] | None) -> dict[str, Any]:
    """Read NAME=VALUE texts."""
    settings: dict[str, Any] = {}
    for text in texts or []:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier():
            raise typer.BadParameter(f"--param {text!r}: write NAME=VALUE, as in --param C=10.")
        if name in settings:
            raise typer.BadParameter(f"--param {name} is given twice; candidates are one list.")
        settings[name] = _value(name, value)
    return settings


def split_candidates(
    settings: dict[str, Any], search: bool
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Tell parameters from lists of candidates, which there are in a search only."""
    if not search:
        return settings, {}
    grid = {name: value for name, value in settings.items() if isinstance(value, list)}
    empty = next((name for name, values in grid.items() if not values), None)
    if empty is not None:
        raise typer.BadParameter(f"--param {empty}=[]: a list of candidates needs at least one.")
    return {name: value for name, value in settings.items() if name not in grid}, grid


def _value(name: str, text: str) -> Any:
    """Read a number, None, True, a list or a dict; all else is a text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError) as error:
        if text.lstrip().startswith(("[", "(", "{")):
            raise typer.BadParameter(
                f"--param {name}={text}: this is no complete list or dict; write as in "
                '--param "C=[0.1,1,10]", with texts in quotes.'
            ) from error
        return {"true": True, "false": False, "null": None}.get(text, text)


def positive_label(wanted: str | None, y: Any) -> Any:
    """Return the label that reads as the given text; None where none is given."""
    if wanted is None:
        return None
    labels = np.unique(y).tolist()
    found = next((label for label in labels if str(label) == wanted), None)
    if found is None:
        raise typer.BadParameter(f"--positive {wanted}: the labels are {labels}.")
    return found
