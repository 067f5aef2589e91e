"""Options that several commands share.

Options that belong together are the fields of a dataclass; `expand_groups` turns a command that
takes such groups into one that typer can read.
"""

from __future__ import annotations

import csv
import inspect
import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from bagwise.cli.output import is_default, say, settle_outputs
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


def _check_scale(context: typer.Context, scale: str) -> str:
    if is_default(context, "scale"):
        return scale
    from bagwise.model_selection.scaling import WORDS

    if scale in WORDS:
        return scale
    problem = f"there is no scale {scale!r}. {suggestion(scale, WORDS)}"
    raise typer.BadParameter(f"{problem} If it is the data, give it before --scale.")


_JOBS = "Worker processes; -1: one per core."
_SCALE = (
    "Scale the features: standard (also without a word), robust, quantile, raw, auto (standard if "
    "their spreads differ much) or search."
)
Folds = Annotated[int, typer.Option(min=2, help="Number of folds.")]
Jobs = Annotated[
    int,
    typer.Option("-j", "--jobs", callback=lambda jobs: check_jobs("--jobs", jobs), help=_JOBS),
]
Scale = Annotated[str, typer.Option(help=_SCALE, metavar="HOW", callback=_check_scale)]
Seed = Annotated[int, typer.Option(min=0, max=2**30, help="Seed of the folds.")]


# Where the work is done ---------------------------------------------------------------------------

_LOCAL = re.compile(r"local(?::([1-9]\d{0,2}))?")
_THERE = ("MI-SVM", "AW-SVM", "AL-SVM", "mi-SVM", "SIL")  # compared unless others are named
_LINEAR = {"kernel": "linear", "loss": "squared_hinge"}  # what is spread over a cluster
_DEVICE = "Work on a GPU: cuda, cuda:1, ... (needs PyTorch)."
_DASK = (
    "Work on a Dask cluster: tcp://HOST:PORT, or local, local:4 for processes here. "
    "DATA is then a .bags store."
)


def _check_device(device: str | None) -> str | None:
    if device is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        raise typer.BadParameter(
            f'--device {device}: give cuda, cuda:1, ... for GPUs, or cpu: "cuda" needs PyTorch.'
        )
    return device


def _check_dask(address: str | None) -> str | None:
    if address is not None and not _LOCAL.fullmatch(address) and "://" not in address:
        raise typer.BadParameter(
            f"--dask {address}: give the address of a scheduler, such as tcp://10.0.0.1:8786, or "
            "local, or local:4 for four processes on this computer."
        )
    return address


@dataclass(frozen=True)
class Place:
    """Where the instances are while a model works on them."""

    device: Annotated[
        str | None, typer.Option(help=_DEVICE, metavar="NAME", callback=_check_device)
    ] = None
    dask: Annotated[
        str | None, typer.Option(help=_DASK, metavar="ADDRESS", callback=_check_dask)
    ] = None

    def __bool__(self) -> bool:
        return self.dask is not None or self.device not in (None, "cpu")

    @property
    def flag(self) -> str:
        """The option, as the user wrote it."""
        return f"--dask {self.dask}" if self.dask is not None else f"--device {self.device}"

    def jobs(self, jobs: int) -> int:
        """Return the number of processes here: one, where others do the work."""
        return 1 if self else jobs

    def check(self, estimator: Any, scale: str | None = None, impute: str | None = None) -> None:
        """Refuse what would be done here in spite of the option."""
        if not self:
            return
        if scale not in (None, "auto", "raw", "standard") or impute is not None:
            what = "--impute" if impute is not None else f"--scale {scale}"
            raise typer.BadParameter(
                f"{what} makes a copy of the features in memory here, which {self.flag} is to "
                f"avoid: prepare the features before they are written, and leave {what} away. "
                "--scale standard makes no copy."
            )
        if not _can_follow(estimator):
            raise typer.BadParameter(
                f"{self.flag}: {type(estimator).__name__} works in one process only. SIL, mi-SVM, "
                "MI-SVM, AL-SVM, AW-SVM, ALP-SVM and MIMN work there."
            )
        given = estimator.get_params(deep=False)
        missing = {k: v for k, v in _LINEAR.items() if given.get(k, v) not in (None, v)}
        if self.dask is not None and "kernel" in given and missing:
            options = " ".join(f"--param {name}={value}" for name, value in missing.items())
            raise typer.BadParameter(
                f"{self.flag}: only linear models with the squared hinge are spread over a "
                f"cluster. Add {options}."
            )

    def models(self, names: list[str] | None, scale: str | None, impute: str | None) -> Any:
        """Return models to compare that work there, by name."""
        from bagwise.catalog import make_estimator

        models = {name: make_estimator(name) for name in names or _THERE}
        for model in models.values():
            if self.dask is not None and "kernel" in model.get_params(deep=False):
                model.set_params(kernel="linear")
            self.check(model, scale, impute)
        return models

    @contextmanager
    def move(self, bags: Any) -> Iterator[Any]:
        """Yield the bags where they are to be; a local cluster ends with the block."""
        if self.dask is None:
            yield self._to_device(bags)
            return
        self._need_store(bags)
        with _client(self.dask):
            yield bags.to("dask", device=self.device)

    def _to_device(self, bags: Any) -> Any:
        if not self:
            return bags
        try:
            moved = bags.to(self.device)
        except RuntimeError as error:
            raise typer.BadParameter(f"{self.flag}: {str(error).partition(':')[0]}.") from error
        if moved.X.rest is not None:  # it will take longer
            say(f"{moved.X.where}.")
        return moved

    def _need_store(self, bags: Any) -> None:
        try:
            bags.to("dask")
        except ValueError as error:
            raise typer.BadParameter(
                f"{self.flag}: workers open the data by its path, as a .bags store of dense "
                "features. Write one first: bagwise convert DATA features.bags"
            ) from error


def _can_follow(estimator: Any) -> bool:
    """Tell whether a model works on rows that are elsewhere, if need be with a linear kernel."""
    given = estimator.get_params(deep=False)
    if "kernel" in given:
        estimator = type(estimator)(**{**given, "kernel": "linear"})
    return getattr(estimator, "_follows_rows", False)


@contextmanager
def _client(address: str) -> Iterator[None]:
    from distributed import Client, LocalCluster

    found = _LOCAL.fullmatch(address)
    with ExitStack() as stack:
        if found:
            n_workers = int(found.group(1) or os.cpu_count() or 1)
            options = {"threads_per_worker": 1, "dashboard_address": None}
            local: Any = LocalCluster(n_workers=n_workers, silence_logs=logging.ERROR, **options)
            stack.enter_context(local)
        try:
            client = stack.enter_context(Client(local if found else address))
        except (OSError, ValueError) as error:
            raise typer.BadParameter(
                f"--dask {address}: no scheduler answers there ({error}). Start one with "
                "`dask scheduler`, and workers with `dask worker ADDRESS`."
            ) from error
        if not client.nthreads():
            raise typer.BadParameter(
                f"--dask {address}: the cluster has no workers. Start some with "
                f"`dask worker {address}`."
            )
        yield
