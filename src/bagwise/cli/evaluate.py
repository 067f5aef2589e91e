"""``bagwise evaluate``: predictions against the true labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from bagwise.cli.applied import Applied, ApplyOptions
from bagwise.cli.options import Label
from bagwise.cli.output import Json, plain_table, say, show, show_json
from bagwise.cli.places import Place


def evaluate(
    options: ApplyOptions, place: Place, label: Label = None, as_json: Json = False
) -> None:
    """Compare a model's predictions with the true labels of bags it has not seen.

    For two classes: accuracy, AUC, sensitivity (of the positive class), specificity, F1 and average
    precision, with intervals of 95 % confidence, and the confusion matrix.

    If the file has a column `instance_label` with the true labels of the instances, it also reports
    how often the key instance is truly positive.

    `bagwise evaluate slides.bagwise test.csv --bag slide --label diagnosis`
    """
    applied = options.load(check=not place, label=label)
    y, positive = applied.labels(options.data), applied.description["positive_class"]
    if applied.n_seen:
        say(
            f"The model was trained on {applied.n_seen} of these {len(y)} bags: the result is too "
            "good. `bagwise report` and `bagwise cv` judge by folds instead."
        )
    with applied.at(place) as moved:
        numbers, confusion = _numbers(moved, y), _confusion(moved, y)
    if as_json:
        values = {n: value if np.isfinite(value) else None for n, (value, *_) in numbers.items()}
        bounds = {n: b for n, (_, *b) in numbers.items() if b and np.isfinite(b).all()}
        record = {"n_bags": len(y), "positive": positive, **values}
        show_json({**record, "intervals": bounds, "confusion": confusion})
        return
    show(_metric_table(numbers, len(y), positive))
    show(_confusion_table(confusion))


def _numbers(applied: Applied, y: Any) -> dict[str, tuple[float, ...]]:
    """Return the metrics; of two classes with their intervals."""
    from bagwise.metrics import bag_report, evaluation

    numbers: dict[str, tuple[float, ...]] = {}
    if len(applied.classes) == 2:
        numbers |= evaluation(applied.classifier, applied.seen, y)
    report = bag_report(applied.classifier, applied.seen, y)
    return numbers | {name: (value,) for name, value in report.items() if name not in numbers}


def _metric_table(numbers: dict[str, tuple[float, ...]], n_bags: int, positive: Any) -> Table:
    named = None if positive is None else f"Positive class: {escape(str(positive))}."
    columns = ("value", "95 % interval")
    table = plain_table("metric", *columns, right=columns, title=f"{n_bags} bags", caption=named)
    for name, (value, *bounds) in numbers.items():
        known = bounds and np.isfinite(bounds).all()
        interval = f"{bounds[0]:.3f} to {bounds[1]:.3f}" if known else ""
        table.add_row(name.replace("_", " "), f"{value:.4f}", interval)
    return table


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
