"""Models from their names and parameters, with every value checked before the data are read."""

from __future__ import annotations

import ast
import os
import re
from typing import Any

import typer

_MANY_JOBS = 16  # processes per core: more only fill the memory
_MANY_DIGITS = 300  # of a number: more are beyond the range of float64


def checked_jobs(name: str, jobs: int) -> int:
    """Return a number of processes that the computer can run."""
    cores = os.cpu_count() or 1
    if jobs > _MANY_JOBS * cores:
        raise typer.BadParameter(f"{name} {jobs} is too many: this computer has {cores} cores.")
    return jobs


def build_model(name: str, settings: dict[str, Any]) -> Any:
    """Build an estimator from its name and parameters, and check their values."""
    from bagwise.catalog import make_estimator

    try:
        estimator = make_estimator(name, **settings)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
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
        raise typer.BadParameter("--param n_jobs must be at least 1, or -1 for one per core.")
    if isinstance(settings.get("n_jobs"), int):
        checked_jobs("--param n_jobs", settings["n_jobs"])
    for name in ("cv", "calibration_cv"):
        if isinstance(settings.get(name), list | tuple):
            raise typer.BadParameter(f"--param {name}: give the number of folds, such as {name}=5.")


def _list_hint(message: str, settings: dict[str, Any]) -> str:
    """Say what a list is for, where the message is about one."""
    lists = [name for name, value in settings.items() if isinstance(value, list)]
    about_one = any(f"The {name!r} parameter" in message for name in lists)
    return " A list of candidates needs `bagwise fit --cv`." if about_one else ""


def value_of(name: str, text: str) -> Any:
    """Read a number, None, True, a list or a dict; everything else is a text."""
    if re.search(rf"\d{{{_MANY_DIGITS}}}", text):
        raise typer.BadParameter(f"--param {name}: a number of {_MANY_DIGITS} digits is too large.")
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        if text.lstrip().startswith(("[", "(", "{")):
            raise typer.BadParameter(
                f"--param {name}={text} is not a complete list or dict. Write it as in "
                '--param "C=[0.1,1,10]", with texts in quotes.'
            ) from error
        return {"true": True, "false": False, "null": None}.get(text, text)
