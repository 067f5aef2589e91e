"""Bad inputs as data: what is done, and which words the message must contain.

Each case says at which door it knocks: "estimator" (any bag estimator), "data" (`Bags`, metrics,
model selection) or "file" (every format). Those of commands are docs/mistakes.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.base import clone

from bad_inputs import data, estimators, files
from bagwise.io import FormatError


@dataclass(frozen=True)
class BadInput:
    """A bad input and how it must be refused."""

    name: str  # what is wrong, in a few words
    door: str  # "estimator", "data" or "file"
    words: tuple[str, ...]  # the message must contain them, in any case
    run: Callable[..., Any]  # takes an estimator, nothing, or an empty folder
    error: Any = ValueError  # the kind of exception
    parameter: str = ""  # one that the estimator must have for the case to apply


def bad_inputs(door: str) -> Iterator[BadInput]:
    """Yield the bad inputs of a door."""
    rows = {"estimator": estimators.ROWS, "data": data.ROWS, "file": files.rows()}[door]
    for name, words, run, *more in rows:
        rest = (ValueError, *more) if door == "estimator" else more
        yield BadInput(name, door, tuple(words.split("|")), run, *rest)


def check_bad_input(case: BadInput, estimator: Any = None) -> None:
    """Raise an AssertionError if a bad input is not refused as it must be."""
    with TemporaryDirectory() as folder:
        given = {"estimator": [clone(estimator)] if estimator else [], "file": [Path(folder)]}
        found, message = _raised(case, given.get(case.door, []))
    said = " ".join(message.split()).lower()
    missing = [word for word in case.words if word.lower() not in said]
    is_exact = case.error is not FormatError or type(found) is FormatError  # no subclass of it
    if missing or not (isinstance(found, case.error) and is_exact):
        wanted = f"expected {case.error} that says {missing or case.words}"
        ended = type(found).__name__
        raise AssertionError(f"{case.name}: ended with {ended}, {wanted}: {message}") from found


def _raised(case: BadInput, given: list[Any]) -> tuple[Exception | None, str]:
    try:
        case.run(*given)
    except Exception as error:  # noqa: BLE001 - its kind is what the caller judges
        return error, str(error)
    return None, "no error was raised"


def estimator_checks() -> Iterator[Callable[[Any], None]]:
    """Yield the cases of estimators as checks, one per name."""
    cases = list(bad_inputs("estimator"))
    for name in dict.fromkeys(case.name for case in cases):
        yield _as_check([case for case in cases if case.name == name])


def _as_check(cases: list[BadInput]) -> Callable[[Any], None]:
    def check(estimator: Any) -> None:
        for case in cases:
            check_bad_input(case, estimator)

    check.__name__ = f"check_{cases[0].name}"
    check.parameters = {cases[0].parameter} - {""}
    return check
