"""The index of error messages: the tests' bad inputs and `messages`, run and quoted."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.base import clone

import messages
from bagwise import AnnealedProportionSVC, GraphSVC, WitnessSVC

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # mkdocs runs without it
from bad_inputs import BadInput, bad_inputs

HEAD = """# Error messages and warnings

Search this page for a word of the message that you see. Each message says what is wrong and what to
do about it. Names of bags, features and files are those of an example. The page is made by
provoking every error, so its messages are those of this version. The command line words the same
errors in terms of its options: see [Mistakes, and what is printed](mistakes.md).
"""
DOORS = {
    "estimator": "Estimators: `fit` and `predict`",
    "data": "Bags, metrics, model selection",
    "file": "Files",
}
# Every parameter that a case needs is in one of these.
ESTIMATORS = (WitnessSVC(), AnnealedProportionSVC(), GraphSVC())
Quoted = tuple[str, str, str]  # what is wrong, kind of error, message


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for door, title in DOORS.items():
        parts += [f"## {title}", *_listed(_of_battery(door))]
    parts += [
        "## Names, shares, conformal sets, graphs, places",
        *_listed(_of(messages.LATER)),
    ]
    about = "A fit that warns has a result. Read the warning before you trust it."
    return "\n\n".join([*parts, "## Warnings", about, *_listed(_of(messages.WARNINGS))]) + "\n"


def _listed(quoted: Iterator[Quoted]) -> Iterator[str]:
    """Yield what is wrong, each once, with all messages about it."""
    by_title: dict[str, dict[str, str]] = {}
    for title, kind, message in quoted:
        by_title.setdefault(title, {}).setdefault(message, kind)
    for title, told in by_title.items():
        yield f"**{title}** ({', '.join(f'`{kind}`' for kind in dict.fromkeys(told.values()))})"
        yield from (f"```text\n{message}\n```" for message in told)


def _of(cases: list[messages.Case]) -> Iterator[Quoted]:
    for title, call in cases:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            try:
                call()
            except Exception as error:  # noqa: BLE001 - its message is what is shown
                yield title, type(error).__name__, str(error)
            else:
                yield title, seen[0].category.__name__, str(seen[0].message)


def _of_battery(door: str) -> Iterator[Quoted]:
    for case in bad_inputs(door):
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            error = _error(case, Path(folder))
        if error is not None:
            message = str(error).replace(f"{folder}/", "")
            text = re.sub(r"0x[0-9a-f]+", "0x...", message).strip()
            yield _title(case.name), type(error).__name__, text


def _title(name: str) -> str:
    """Return what a case is about; the cases of one kind of file belong together."""
    kind = re.match(r"(?:\w+(\.\w+)|of_(\w+))", name)
    if kind is None:
        return name.replace("_", " ")
    return f"folders of {kind[2]}" if kind[2] else f"`{kind[1]}` files"


def _error(case: BadInput, folder: Path) -> Exception | None:
    given = {"estimator": _able(case.parameter), "file": [folder]}.get(case.door, [])
    try:
        case.run(*given)
    except Exception as error:  # noqa: BLE001 - its message is what is shown
        return error
    return None


def _able(parameter: str) -> list[object]:
    able = (model for model in ESTIMATORS if not parameter or parameter in model.get_params())
    model = next(able, None)
    return [] if model is None else [clone(model)]
