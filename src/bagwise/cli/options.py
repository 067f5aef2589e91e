"""Options that several commands share: the data and how to read it, the model and its parameters.

Options that belong together are the fields of a dataclass; `expanded` turns a command that takes
such groups into one that typer can read.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import typer
from rich.markup import escape

from bagwise.bags import Bags, check_bags
from bagwise.cli.building import build_model as build_model, checked_jobs, value_of
from bagwise.cli.hints import hinted, not_there
from bagwise.cli.output import say
from bagwise.cli.positive import Positive, positive_label
from bagwise.errors import suggestion


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields of its option groups in place of the groups."""
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in _parameters(command).items():
        kind = parameter.annotation
        if is_dataclass(kind):
            groups[name] = kind
            options += _parameters(kind).values()
        else:
            options.append(parameter)

    @wraps(command)
    def flat(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    flat.__annotations__ = {option.name: option.annotation for option in options}
    flat.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return flat


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


def split_names(text: str | None) -> list[str] | None:
    """Split "a,b" into names."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


# Options of their own -----------------------------------------------------------------------------


_MANY = 100_000  # folds: no one waits for more


def _check_jobs(jobs: int) -> int:
    if jobs < -1 or jobs == 0:
        raise typer.BadParameter("--jobs must be at least 1, or -1 for one per core.")
    return checked_jobs("--jobs", jobs)


Folds = Annotated[int, typer.Option(min=2, max=_MANY, help="Number of folds.")]
Jobs = Annotated[
    int,
    typer.Option("-j", "--jobs", callback=_check_jobs, help="Worker processes; -1: one per core."),
]


def _check_scale(scale: str | None) -> str | None:
    from bagwise.model_selection import SCALES

    known = (*SCALES, "auto")
    if scale is None or scale in known:
        return scale
    problem = f"there is no scale {scale!r}. {suggestion(scale, known)}"
    raise typer.BadParameter(f"{problem} If it is the data, give it before --scale.")


def _check_impute(impute: str | None) -> str | None:
    from bagwise.model_selection import IMPUTES

    return None if impute is None else one_of(impute, IMPUTES, "imputation")


Scale = Annotated[
    str | None,
    typer.Option(
        help="Scale the features: standard (also without a word), robust, quantile, raw, or auto.",
        metavar="HOW",
        callback=_check_scale,
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**30, help="Seed of the folds.")]


# Data ---------------------------------------------------------------------------------------------


def dataset_names(incomplete: str = "") -> list[str]:
    """Return the names of data sets that begin so; the shell completes them."""
    from bagwise.datasets import catalog

    return [entry.name for entry in catalog() if entry.name.startswith(incomplete)]


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="File or folder with bags, or the name of a data set (see `bagwise datasets`).",
        autocompletion=dataset_names,
    ),
]
Bag = Annotated[
    str | None,
    typer.Option(help="Column with the bag of each row, by name or number.", metavar="COLUMN"),
]
Label = Annotated[str | None, typer.Option(help="Column with the labels.", metavar="COLUMN")]
Labels = Annotated[
    Path | None,
    typer.Option(
        help="CSV with a row per slide (--bag, --label, --groups), for a folder of features.",
        metavar="CSV",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(help="Column with groups that share a fold, such as patients.", metavar="COLUMN"),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="Feature columns, with commas; patterns such as 'f*' work. Default: all others.",
        metavar="NAMES",
    ),
]
Drop = Annotated[
    str | None,
    typer.Option(help="Columns to leave out, with commas; patterns work too.", metavar="NAMES"),
]
Decimal = Annotated[
    str | None, typer.Option(help='Decimal separator of the numbers: "." or ",".', metavar="MARK")
]
Impute = Annotated[
    str | None,
    typer.Option(
        help="Fill missing values: median, mean, most_frequent or zero.",
        metavar="HOW",
        callback=_check_impute,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, excel, parquet, arrow, arff, c45, svmlight, mat, h5ad, bags, folder or "
        "slides. "
        "Default: detected.",
        metavar="FORMAT",
    ),
]
Regroup = Annotated[
    bool, typer.Option("--regroup", help="Accept bags whose rows are not consecutive.")
]


@dataclass(frozen=True)
class Source:
    """The data and how to read it."""

    data: Data
    bag: Bag = None
    label: Label = None
    groups: Groups = None
    features: Features = None
    format: Format = None
    regroup: Regroup = False
    labels: Labels = None
    drop: Drop = None
    decimal: Decimal = None
    impute: Impute = None

    @property
    def columns(self) -> dict[str, Any]:
        """The columns by name or number; None where none was given."""
        return {"bag": self.bag, "label": self.label, "groups": self.groups}

    def read(self, *, check: bool = True) -> tuple[Bags, Any]:
        """Return bags and labels; labels are None where there are none."""
        columns = {**self.columns, "features": split_names(self.features)}
        columns |= {"drop": split_names(self.drop), "decimal": self.decimal, "labels": self.labels}
        return read_bags(self.data, self.format, self.regroup, check=check, **columns)

    def read_labeled(self, *, check: bool = True) -> tuple[Bags, Any]:
        """Return bags and labels; both must be complete, which may also be checked elsewhere."""
        bags, y = self.read(check=check)
        return labeled(bags, y, self.data, finite=self.impute is None, check=check)

    def words(self) -> list[str]:
        """Return the words of a command line that reads the same."""
        given = {**self.columns, "features": self.features, "format": self.format}
        given["labels"] = None if self.labels is None else str(self.labels)
        given |= {"drop": self.drop, "decimal": self.decimal, "impute": self.impute}
        words = [str(self.data), *(["--regroup"] if self.regroup else [])]
        for name, value in given.items():
            words += [] if value is None else [f"--{name}", value]
        return words


def labeled(
    bags: Bags, y: Any, data: Path, *, finite: bool = True, check: bool = True
) -> tuple[Bags, Any]:
    """Ask for labels, and for instances without missing values, before any work is done."""
    if y is None:
        raise ValueError(f"{data} has no labels: name their column with --label.")
    return check_bags(bags, finite=finite) if check else bags, np.asarray(y)


def read_bags(
    data: Path,
    format: str | None = None,
    regroup: bool = False,
    *,
    check: bool = True,
    **columns: Any,
) -> tuple[Bags, Any]:
    """Read bags and labels from a file of any format, or fetch a data set by its name."""
    if not data.exists():
        return _fetched(data, columns)
    from bagwise.io import read
    from bagwise.io.dispatch import READERS, recognize

    format = one_of(format or recognize(data), READERS, "format")
    options = {name: _column(value) for name, value in columns.items() if value is not None}
    if regroup:
        options["regroup"] = True
    _refuse_unknown(format, READERS[format], options)
    if format == "slides":
        options["mapped"] = True
    if format == "csv":
        _tell_guess(data, columns)
    with hinted(data, columns):
        bags, y = read(data, format=format, **options)
    return check_bags(bags, finite=False) if check else bags, y


def _fetched(data: Path, columns: dict[str, Any]) -> tuple[Bags, Any]:
    from bagwise.datasets import fetch

    if data.suffix or len(data.parts) > 1:  # no data set has such a name
        raise not_there(data)
    name = one_of(str(data), dataset_names(), "file, folder or data set")
    given = next((role for role, value in columns.items() if value is not None), None)
    if given is not None:
        raise typer.BadParameter(f"--{given} is for files; {name} is a data set.")
    bags, y = fetch(name)[:2]
    return bags, y


def _column(value: Any) -> Any:
    """Turn "3" into a position; a list of columns one by one."""
    if isinstance(value, list):
        return [_column(one) for one in value]
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _refuse_unknown(format: str, reader: Any, options: dict[str, Any]) -> None:
    known = inspect.signature(reader).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for name in options:
        if name not in known:
            flag = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"{flag} does not apply to files of the format {format}.")


def _tell_guess(data: Path, columns: dict[str, Any]) -> None:
    """Say which columns of a table without a header are taken for the bags and the labels."""
    from bagwise.io._tabletext import sniff

    open_roles = [role for role in ("bag", "label") if columns.get(role, "") is None]
    if not open_roles or sniff(data, None, None).header_lines:
        return
    taken = {"bag": "bags are in column 0", "label": "labels are in column 1"}
    guess = ", ".join(taken[role] for role in open_roles)
    flags = " and ".join(f"--{role}" for role in open_roles)
    say(escape(f"{data} has no header: {guess}. Name others with {flags}, counting from 0."))


# Models -------------------------------------------------------------------------------------------


def model_names(incomplete: str = "") -> list[str]:
    """Return the names of models that begin so; the shell completes them."""
    from bagwise.catalog import ENTRIES, METHODS

    names = {method.name for method in METHODS} | {entry.class_name for entry in ENTRIES}
    return sorted(name for name in names if name.startswith(incomplete))


@dataclass(frozen=True)
class ModelOptions:
    """The model and its parameters."""

    model: Annotated[
        str,
        typer.Option(
            "-m",
            "--model",
            help="Paper name or class, such as MI-SVM or WitnessSVC (see `bagwise models`).",
            autocompletion=model_names,
            metavar="NAME",
        ),
    ]
    param: Annotated[
        list[str] | None,
        typer.Option(
            "-p", "--param", help="Parameter of the model; repeatable.", metavar="NAME=VALUE"
        ),
    ] = None
    positive: Positive = None

    def settings(self) -> dict[str, Any]:
        """Return the parameters by name."""
        settings: dict[str, Any] = {}
        for text in self.param or []:
            name, equals, value = text.partition("=")
            if not equals or not name.isidentifier():
                raise typer.BadParameter(f"--param {text!r}: write NAME=VALUE, as in --param C=10.")
            if name in settings:
                raise typer.BadParameter(f"--param {name} is given twice; candidates are one list.")
            settings[name] = value_of(name, value)
        return settings

    def build(
        self, settings: dict[str, Any], bags: Any = None, y: Any = None, **options: Any
    ) -> Any:
        """Return the estimator, its parameters checked; with data, its positive label too."""
        if y is None:
            return build_model(self.model, settings)
        plain = build_model(self.model, settings)
        label = positive_label(self.positive, y, bags, plain, **options)
        return plain if label is None else plain.set_params(pos_label=label)


def scaler_for(bags: Bags, scale: str | None, impute: str | None = None) -> Any:
    """Return the scaler of that name for the bags, None where none is wanted."""
    from bagwise.model_selection import scalings

    (scaler,) = scalings(bags, scale, impute=impute).values()
    return scaler
