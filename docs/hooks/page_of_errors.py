"""The index of error messages: the battery of bad inputs of `bagwise.testing`, run and quoted."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from sklearn.base import clone

from bagwise import AnnealedProportionSVC, GraphSVC, WitnessSVC
from bagwise.testing import BadInput, bad_inputs

HEAD = """# Error messages

Search this page for a word of the message you see. Each message names what is wrong and what to do.
The page is written by running the battery of bad inputs that tests every estimator and every file
format (`bagwise.testing.bad_inputs`), so that the messages are those of this version. Messages of
the command line are on a page of [their own](mistakes.md).
"""
DOORS = {
    "estimator": "Estimators: `fit` and `predict`",
    "data": "Bags, metrics, model selection",
    "file": "Files",
}
# Every parameter that a case needs is in one of these.
ESTIMATORS = (WitnessSVC(), AnnealedProportionSVC(), GraphSVC())


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for door, title in DOORS.items():
        parts.append(f"## {title}\n")
        shown: set[str] = set()
        for case, message in _messages(door):
            if message not in shown:
                shown.add(message)
                name = case.name.replace("_", " ")
                parts.append(f"**{name}** ({_kind(case)})\n\n```text\n{message}\n```\n")
    return "\n".join(parts)


def _kind(case: BadInput) -> str:
    kinds = case.error if isinstance(case.error, tuple) else (case.error,)
    return ", ".join(f"`{kind.__name__}`" for kind in kinds)


def _messages(door: str) -> Iterator[tuple[BadInput, str]]:
    for case in bad_inputs(door):
        with TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            message = _message(case, Path(folder)).replace(f"{folder}/", "")
        if message:
            yield case, re.sub(r"0x[0-9a-f]+", "0x...", message).strip()


def _message(case: BadInput, folder: Path) -> str:
    given = {"estimator": _able(case.parameter), "file": [folder]}.get(case.door, [])
    try:
        case.run(*given)
    except Exception as error:  # noqa: BLE001 - its message is what is shown
        return str(error)
    return ""


def _able(parameter: str) -> list[object]:
    able = (model for model in ESTIMATORS if not parameter or parameter in model.get_params())
    model = next(able, None)
    return [] if model is None else [clone(model)]
