"""The positive class: named by the user, clear from the labels, or tried by cross-validation."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from bagwise.cli.output import say
from bagwise.errors import listed

Positive = Annotated[
    str | None,
    typer.Option(
        help="The positive label: its bags contain an instance of interest; auto tries both.",
        metavar="LABEL",
    ),
]


def positive_label(
    wanted: str | None, y: Any, bags: Any = None, model: Any = None, **options: Any
) -> Any:
    """Return the positive label; None where the labels say it, or there are more than two.

    Labels whose order is their meaning (0/1, no/yes, neg/pos) need no option; others do. With
    "auto", ``model`` is cross-validated with either label; ``options`` go to `choose_positive`.
    """
    labels = np.unique(y).tolist()
    if wanted == "auto" and "auto" not in labels and len(labels) == 2:
        return _tried(bags, y, model, **options)
    if wanted is not None:
        found = next((label for label in labels if str(label) == wanted), None)
        if found is None:
            raise typer.BadParameter(f"--positive {wanted}: the labels are {_named(labels)}.")
        return found
    _refuse_unclear(labels)
    return None


def _refuse_unclear(labels: list[Any]) -> None:
    from bagwise.estimators.positive import order_is_meaning

    if not order_is_meaning(labels):
        one, other = labels
        raise typer.BadParameter(
            f"the labels are {_named(labels)}: which one marks bags that contain an instance of "
            f"interest? Give --positive {one} or --positive {other}; --positive auto tries both."
        )


def _named(labels: list[Any]) -> str:
    return listed(map(str, labels))


def _tried(bags: Any, y: Any, model: Any, **options: Any) -> Any:
    from bagwise.model_selection import choose_positive

    if model is None:  # a fast model that needs the right class
        from bagwise import WitnessSVC

        model = WitnessSVC(kernel="linear")
    choice = choose_positive(model, bags, y, **options)
    say(escape(f"{choice}."))
    return choice.label
