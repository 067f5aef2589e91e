"""``bagwise evaluate``: predictions against the true labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from bagwise.cli.applied import Applied, ApplyOptions
from bagwise.cli.options import Label, labeled
from bagwise.cli.output import Json, plain_table, show, show_json


def evaluate(options: ApplyOptions, label: Label = None, as_json: Json = False) -> None:
    """Compare a model's predictions with the true labels of bags it has not seen.

    If the file has a column `instance_label` with the true labels of the instances, it also reports
    how often the key instance is truly positive.

    `bagwise evaluate slides.bagwise test.csv --bag slide --label diagnosis`
    """
    from bagwise.metrics import bag_report

    applied = options.load(label=label)
    y = _known_labels(applied, options.data)
    report = bag_report(applied.classifier, applied.seen, y)
    confusion = _confusion(applied, y)
    if as_json:
        known = {name: value if np.isfinite(value) else None for name, value in report.items()}
        show_json({"n_bags": len(y), **known, "confusion": confusion})
        return
    table = plain_table("metric", "value", right=("value",), title=f"{len(y)} bags")
    for name, value in report.items():
        table.add_row(name.replace("_", " "), f"{value:.4f}")
    show(table)
    show(_confusion_table(confusion))


def _known_labels(applied: Applied, data: Path) -> Any:
    """Return the true labels; both classes of the model and no others."""
    _, y = labeled(applied.seen, applied.y, data)
    unknown = sorted({str(value) for value in y.tolist() if value not in applied.classes})
    if unknown:
        raise ValueError(f"{data} has the label {unknown[0]}; the model knows {applied.classes}.")
    if len(np.unique(y)) == 1:
        raise ValueError(f"All bags of {data} are {y[0]}: an evaluation needs both classes.")
    return y


def _confusion(applied: Applied, y: Any) -> dict[str, dict[str, int]]:
    predicted = applied.classifier.predict(applied.seen)
    return {
        str(true): {
            str(other): int(np.sum((y == true) & (predicted == other))) for other in applied.classes
        }
        for true in applied.classes
    }


def _confusion_table(confusion: dict[str, dict[str, int]]) -> Table:
    names = [escape(name) for name in confusion]
    table = plain_table("true \\ predicted", *names, right=tuple(names))
    for name, row in confusion.items():
        table.add_row(escape(name), *map(str, row.values()))
    return table
