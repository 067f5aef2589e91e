"""Bad inputs as data: what is done, and which words the message must contain.

Each case says at which door it knocks: "estimator" (any bag estimator), "data" (`Bags`, metrics,
model selection), "file" (every format) or "command".
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.base import clone

from bad_inputs import data, estimators, files

Command = Callable[[list[str]], tuple[int, str]]


@dataclass(frozen=True)
class BadInput:
    """A bad input and how it must be refused."""

    name: str  # what is wrong, in a few words
    door: str  # "estimator", "data", "file" or "command"
    words: tuple[str, ...]  # the message must contain them, in any case
    # Takes an estimator, nothing, or an empty folder. Of a command, its arguments, where {data} is
    # a table with bags and {folder} an empty folder.
    run: Any
    error: Any = ValueError  # the kind of exception; of a command, the exit status
    parameter: str = ""  # one that the estimator must have for the case to apply


def bad_inputs(door: str | None = None) -> Iterator[BadInput]:
    """Yield the bad inputs of a door, or all of them."""
    for name, words, run, *more in estimators.ROWS:
        yield from _case(door, "estimator", name, words, run, ValueError, *more)
    for name, words, run, *more in data.ROWS:
        yield from _case(door, "data", name, words, run, *more)
    for name, words, run, *more in files.rows():
        yield from _case(door, "file", name, words, run, *more)
    for status, words, *arguments in files.COMMANDS:
        yield from _case(door, "command", " ".join(arguments), words, tuple(arguments), status)


def _case(wanted: str | None, door: str, name: str, words: str, *rest: Any) -> Iterator[BadInput]:
    if wanted in (None, door):
        yield BadInput(name, door, tuple(words.split("|")), *rest)


def check_bad_input(case: BadInput, estimator: Any = None, command: Command | None = None) -> None:
    """Raise an AssertionError if a bad input is not refused as it must be.

    A command takes the list of arguments, and returns the exit status and what was printed to
    stderr. None runs `python -m bagwise`.
    """
    with TemporaryDirectory() as folder:
        if case.door == "command":
            status, message = (command or _in_a_process)(_filled(case.run, Path(folder)))
            found: Any = status
        else:
            given = {"estimator": [clone(estimator)] if estimator else [], "file": [Path(folder)]}
            found, message = _raised(case, given.get(case.door, []))
    refused = found == case.error if case.door == "command" else isinstance(found, case.error)
    said = " ".join(message.replace("│", " ").split()).lower()
    missing = [word for word in case.words if word.lower() not in said]
    if not refused or missing or "traceback" in said:
        ended = repr(found) if case.door == "command" else type(found).__name__
        wanted = f"expected {case.error} that says {missing or case.words}"
        raise AssertionError(f"{case.name}: ended with {ended}, {wanted}: {message}") from (
            found if isinstance(found, Exception) else None
        )


def _raised(case: BadInput, given: list[Any]) -> tuple[Exception | None, str]:
    try:
        case.run(*given)
    except Exception as error:  # noqa: BLE001 - its kind is what the caller judges
        return error, str(error)
    return None, "no error was raised"


def _filled(arguments: tuple[str, ...], folder: Path) -> list[str]:
    table = folder / "data.csv"
    table.write_text(files.TABLE)
    return [each.format(data=table, folder=folder) for each in arguments]


def _in_a_process(arguments: list[str]) -> tuple[int, str]:
    words = [sys.executable, "-m", "bagwise", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


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
