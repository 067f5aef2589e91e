"""Labels of bags on the command line: which task they set, and which ones are missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

from bagwise.errors import list_names


def settle_task(source: Any, own: str | None = None) -> str | None:
    """Return the task that the options name, else that of a model; None: the labels say it."""
    times = source.duration is not None or source.event is not None
    if times and source.task not in (None, "times"):
        raise typer.BadParameter(f"--duration and --event are times, not {source.task}.")
    named = "times" if times else source.task or ("grades" if source.order is not None else None)
    if (named or own) == "times" and not times:
        raise typer.BadParameter(
            "labels are times: give --duration and --event; for other labels take --model auto."
        )
    if named == "classes" and source.order is not None:
        raise typer.BadParameter("--order is for grades: take --task grades.")
    return named or (None if own == "classes" else own)


def check_task(y: Any, task: str, source: Any) -> None:
    """Refuse labels of another task, and ask about numbers that may be classes."""
    from bagwise.estimators.input import are_classes_in_disguise, is_measurement

    if task == "classes" and is_measurement(y):
        raise ValueError(
            f"The labels of {source.data} are {len(np.unique(y))} different numbers, and this "
            f"model learns classes: --cut {np.median(y):.6g} makes two, split at the median; "
            "`bagwise fit --model AutoBagRegressor` predicts the numbers."
        )
    if task != "numbers" or y.dtype.kind not in "fiub":
        return
    if source.task is None and are_classes_in_disguise(y):
        shown = ", ".join(f"{value:g}" for value in np.unique(y))
        raise typer.BadParameter(
            f"the labels are {shown}: are they classes, grades or numbers? Give --task classes "
            "with a classifier, --task grades if they have an order, or --task numbers to predict "
            "them as numbers."
        )


def order_of(y: Any, order: str | None) -> list[Any]:
    """Return the grades from the lowest to the highest; text needs ``--order``."""
    from bagwise.models.ordinal import needs_order

    found = np.unique(y).tolist()
    if order is None:
        if needs_order(found):
            raise typer.BadParameter(f"--order gives the order of {list_names(found)}.")
        return found
    known = {str(label): label for label in found}
    names = [name.strip() for name in order.split(",")]
    missing = next((name for name in known if name not in names), None)
    if len({*names}) < len(names):
        raise typer.BadParameter(f"--order {order} has a label twice.")
    if missing is not None:
        raise typer.BadParameter(f"--order {order} does not have the label {missing}.")
    return [known[name] for name in names if name in known]


def number_grades(y: Any, order: list[Any]) -> Any:
    """Return the number of each grade in their order."""
    number = {grade: k for k, grade in enumerate(order)}
    return np.array([number[grade] for grade in y.tolist()])


def cut_labels(y: Any, cut: float | None) -> Any:
    """Return labels that are numbers as two classes; others as they are."""
    if y is None or cut is None or np.asarray(y).dtype.kind not in "fiu":
        return y
    return np.where(np.asarray(y) >= cut, "yes", "no")


def need_labels(y: Any, data: Path) -> Any:
    """Return the labels as an array; raise an error where there are none."""
    if y is None:
        raise ValueError(f"{data} has no labels: name their column with --label.")
    return np.asarray(y)
