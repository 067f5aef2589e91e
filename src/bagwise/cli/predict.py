"""``bagwise predict``: labels, scores, probabilities and key instances."""

from __future__ import annotations

from dataclasses import replace
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
    applied = options.load(check=not place)
    place.check(applied.classifier, "steps" if hasattr(applied.model, "steps") else None)
    applied.say_positive()
    with place.moved(applied.bags) as there:
        applied = replace(applied, bags=there)
        columns = _of_instances(applied) if instances else _of_bags(applied)
    deliver(columns, out, as_json)


def _of_bags(applied: Applied) -> dict[str, Any]:
    classifier, seen = applied.classifier, applied.seen
    columns = {"bag": seen.ids, "label": classifier.predict(seen)}
    columns |= applied.scores(classifier.decision_function(seen)) | applied.probabilities()
    if applied.scores_instances:
        rows = seen.flat(classifier.key_instances(seen))
        columns["key_instance"] = applied.instance_names(rows)
    return columns


def _of_instances(applied: Applied) -> dict[str, Any]:
    applied.need_instances()
    classifier, seen = applied.classifier, applied.seen
    key = np.zeros(seen.n_instances, dtype=bool)
    key[seen.flat(classifier.key_instances(seen))] = True
    return {
        "bag": np.repeat(seen.ids, seen.sizes),
        "instance": applied.instance_names(np.arange(seen.n_instances)),
        **applied.positions(np.arange(seen.n_instances)),
        **applied.instance_labels(),
        **applied.scores(classifier.instance_decision_function(seen)),
        "key": key,
    }
