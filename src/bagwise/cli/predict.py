"""``bagwise predict``: labels, scores, probabilities and key instances."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from bagwise.cli.applied import Applied, ApplyOptions, Out
from bagwise.cli.output import Json, deliver
from bagwise.cli.places import Place


def predict(
    options: ApplyOptions,
    place: Place,
    instances: Annotated[
        bool, typer.Option("--instances", help="One row per instance instead of one per bag.")
    ] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Predict bags: one row per bag with its label, score, probability and key instance.

    A positive score means the positive class; with three or more classes there is one score per
    class. Probabilities need a model fitted with `--param probability=sigmoid`. The key instance is
    the one most responsible for the score, given by its id or its position in the bag. Columns that
    the model does not know are ignored.

    `bagwise predict slides.bagwise new.csv --bag slide --out predictions.csv`
    """
    with options.load(check=not place).at(place) as applied:
        applied.say_positive()
        columns = _instance_columns(applied) if instances else _bag_columns(applied)
    deliver(columns, out, as_json)


def _bag_columns(applied: Applied) -> dict[str, Any]:
    classifier, seen = applied.classifier, applied.seen
    columns = {"bag": seen.ids, "label": classifier.predict(seen)}
    columns |= applied.scores(classifier.decision_function(seen)) | _probabilities(applied)
    if hasattr(classifier, "key_instances"):
        rows = seen.flat(classifier.key_instances(seen))
        columns["key_instance"] = applied.instance_names(rows)
    return columns


def _probabilities(applied: Applied) -> dict[str, Any]:
    """Return the columns of probabilities; none where the model has none."""
    if not hasattr(applied.classifier, "predict_proba"):
        return {}
    chances = applied.classifier.predict_proba(applied.seen)
    if len(applied.classes) == 2:
        return {"probability": chances[:, 1 if applied.sign > 0 else 0]}
    return {f"probability_{name}": chances[:, k] for k, name in enumerate(applied.classes)}


def _instance_columns(applied: Applied) -> dict[str, Any]:
    applied.need_instances()
    classifier, seen = applied.classifier, applied.seen
    rows, key = np.arange(seen.n_instances), np.zeros(seen.n_instances, dtype=bool)
    key[seen.flat(classifier.key_instances(seen))] = True
    columns = {"bag": np.repeat(seen.ids, seen.sizes), "instance": applied.instance_names(rows)}
    columns |= applied.positions(rows)
    if hasattr(classifier, "predict_instances"):
        columns["label"] = classifier.predict_instances(seen)
    return columns | applied.scores(classifier.instance_decision_function(seen)) | {"key": key}
