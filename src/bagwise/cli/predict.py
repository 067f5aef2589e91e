"""``bagwise predict``, ``evaluate`` and ``explain``: what a model says of bags, and why."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli.applied import Applied, ApplyOptions, Only, Out
from bagwise.cli.options import Place, split_names
from bagwise.cli.output import Json, deliver, plain_table, reword, say, show, show_json
from bagwise.cli.source import Duration, Event, Groups, Label


def predict(
    options: ApplyOptions,
    place: Place,
    instances: Annotated[
        bool, typer.Option("--instances", help="One row per instance instead of one per bag.")
    ] = False,
    only: Only = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Predict bags: one row per bag with its label, score, probability and key instance.

    A positive score means the positive class; with three or more classes there is one score per
    class. Models fitted with `--no-calibration` have no probabilities. The key instance is
    the one most responsible for the score, given by its id or its position in the bag. Columns that
    the model does not know are ignored. With `--instances`, the p-value of an instance is the share
    of negative bags with as high a score in them, and those up to 0.1 are discoveries.

    `bagwise predict slides.bagwise new.csv --bag slide --out predictions.csv`
    """
    with options.load(split_names(only), check=not place).at(place) as applied:
        applied.say_positive()
        columns = _instance_columns(applied) if instances else _bag_columns(applied)
    deliver(columns, out, as_json)


def _bag_columns(applied: Applied) -> dict[str, Any]:
    classifier, seen = applied.classifier, applied.seen
    columns = {"bag": seen.ids, applied.answer: classifier.predict(seen)}
    if classifier.task == "classes":
        columns |= applied.scores(classifier.decision_function(seen))
    columns |= _probabilities(applied)
    rows = seen.flat(classifier.key_instances(seen))
    columns["key_instance"] = applied.instance_names(rows)
    return columns | ({} if seen.parts is None else {"key_part": seen.parts[rows]})


def _probabilities(applied: Applied) -> dict[str, Any]:
    """Return the columns of probabilities; none where the model has none."""
    if hasattr(applied.classifier, "predict_survival_function"):
        times = applied.classifier.times_
        shown = np.unique(np.linspace(0, len(times) - 1, 5).astype(int))  # Cox has one per event
        survival = applied.classifier.predict_survival_function(applied.seen)
        return {f"survival_{times[k]:g}": survival[:, k] for k in shown}
    if not hasattr(applied.classifier, "predict_proba"):
        return {}
    chances = applied.classifier.predict_proba(applied.seen)
    if len(applied.classes) == 2:
        is_first = applied.description["positive_class"] == applied.classes[0]
        return {"probability": chances[:, 0 if is_first else 1]}
    return {f"probability_{name}": chances[:, k] for k, name in enumerate(applied.classes)}


def _instance_columns(applied: Applied) -> dict[str, Any]:
    from bagwise.estimators.discovery import LEVEL

    classifier, seen = applied.classifier, applied.seen
    rows, key = np.arange(seen.n_instances), np.zeros(seen.n_instances, dtype=bool)
    key[seen.flat(classifier.key_instances(seen))] = True
    columns = {"bag": np.repeat(seen.ids, seen.sizes), "instance": applied.instance_names(rows)}
    columns |= {} if seen.parts is None else {"part": seen.parts}
    columns |= applied.positions(rows)
    if hasattr(classifier, "predict_instances"):
        columns[applied.answer] = classifier.predict_instances(seen)
    columns |= applied.scores(classifier.instance_decision_function(seen)) | {"key": key}
    pvalues = applied.pvalues()
    if pvalues is None:
        return columns
    columns |= applied.name_columns("p_value", pvalues)
    return columns | applied.name_columns("discovery", pvalues <= LEVEL)


def evaluate(
    options: ApplyOptions,
    place: Place,
    label: Label = None,
    duration: Duration = None,
    event: Event = None,
    groups: Groups = None,
    as_json: Json = False,
) -> None:
    """Compare a model's predictions with the true labels of bags it has not seen.

    For two classes: accuracy, AUC, sensitivity (of the positive class), specificity, F1 and average
    precision; for more, accuracy and the sensitivity of each class. Of numbers RMSE, MAE, R2 and
    Spearman's correlation, of grades quadratic kappa, of times the C-index and the Brier score.
    With intervals of 95 % confidence, and the confusion matrix.

    If the file has a column `instance_label` with the true labels of the instances, it also reports
    how often the key instance is truly positive.

    `bagwise evaluate slides.bagwise test.csv --bag slide --label diagnosis`
    """
    columns: dict[str, Any] = {"label": label, "duration": duration, "event": event}
    applied = options.load(check=not place, groups=groups, **columns)
    y, positive = applied.labels(options.data), applied.description["positive_class"]
    of_classes = applied.classifier.task == "classes"
    if applied.n_seen:
        say(
            f"The model was trained on {applied.n_seen} of these {len(y)} bags: the result is too "
            "good. `bagwise report` and `bagwise cv` judge by folds instead."
        )
    with applied.at(place) as moved:
        numbers = _numbers(moved, y)
        confusion = _confusion(moved, y) if hasattr(moved.classifier, "classes_") else None
    if as_json:
        values = {name: value for name, (value, *_) in numbers.items()}
        bounds = {n: b for n, (_, *b) in numbers.items() if b and np.isfinite(b).all()}
        record = {"n_bags": len(y), "positive": positive, **values}
        show_json({**record, "intervals": bounds, "confusion": confusion})
        return
    show(_metric_table(numbers, len(y), positive))
    if of_classes and len(applied.classes) == 2:
        _say_decisions({name: value for name, (value, *_) in numbers.items()})
    if confusion is not None:
        show(_confusion_table(confusion))


def _say_decisions(rates: dict[str, float]) -> None:
    """Say it where the model ranks the bags well and calls many wrong."""
    from bagwise.crossfit import decides_badly

    text = decides_badly(rates)
    if text is not None:
        say(f"[yellow]{escape(reword(text))}[/yellow]")


def _numbers(applied: Applied, y: Any) -> dict[str, tuple[float, ...]]:
    """Return the metrics; of two classes with their intervals."""
    from bagwise.measures import evaluate_model
    from bagwise.metrics import bag_report, evaluation

    numbers: dict[str, tuple[float, ...]] = {}
    if applied.classifier.task != "classes":
        return {**evaluate_model(applied.classifier, applied.seen, y)}
    if len(applied.classes) == 2:
        numbers |= evaluation(applied.classifier, applied.seen, y)
    else:
        numbers |= _rates_of_classes(applied.classifier.predict(applied.seen), y)
    report = bag_report(applied.classifier, applied.seen, y)
    return numbers | {name: (value,) for name, value in report.items() if name not in numbers}


def _rates_of_classes(predicted: Any, y: Any) -> dict[str, tuple[float, ...]]:
    """Return the accuracy, and the share of each class that is found, with Wilson's intervals."""
    from bagwise.metrics import wilson

    parts = {"accuracy": np.ones(len(y), dtype=bool)}
    parts |= {f"sensitivity of {label}": y == label for label in np.unique(y).tolist()}
    shares = {name: float(np.mean(predicted[part] == y[part])) for name, part in parts.items()}
    return {name: (share, *wilson(share, parts[name].sum())) for name, share in shares.items()}


def _metric_table(numbers: dict[str, tuple[float, ...]], n_bags: int, positive: Any) -> Table:
    named = None if positive is None else f"Positive class: {escape(str(positive))}."
    columns = ("value", "95 % interval")
    table = plain_table("metric", *columns, right=columns, title=f"{n_bags} bags", caption=named)
    for name, (value, *bounds) in numbers.items():
        known = bounds and np.isfinite(bounds).all()
        interval = f"{bounds[0]:.3f} to {bounds[1]:.3f}" if known else ""
        shown = f"{value:.4f}" if np.isfinite(value) else "-"
        table.add_row(name.replace("_", " "), shown, interval)
    return table


def _confusion(applied: Applied, y: Any) -> dict[str, dict[str, int]]:
    from sklearn.metrics import confusion_matrix

    predicted, names = applied.classifier.predict(applied.seen), [*map(str, applied.classes)]
    counts = confusion_matrix(y, predicted, labels=applied.classes).tolist()
    rows = (dict(zip(names, row, strict=True)) for row in counts)
    return dict(zip(names, rows, strict=True))


def _confusion_table(confusion: dict[str, dict[str, int]]) -> Table:
    names = [escape(name) for name in confusion]
    table = plain_table("true \\ predicted", *names, right=tuple(names))
    for name, row in confusion.items():
        table.add_row(escape(name), *map(str, row.values()))
    return table


def explain(
    options: ApplyOptions,
    only: Only = None,
    top: Annotated[int, typer.Option(min=1, help="Maximum number of instances per bag.")] = 3,
    every: Annotated[bool, typer.Option("--all", help="Include bags predicted negative.")] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Show which instances made each bag positive.

    Lists the instances with the highest scores of every bag that is predicted positive, the highest
    first. With three or more classes, scores are those of the predicted class. The p-value of an
    instance is the share of negative bags with as high a score in them, and those up to 0.1 are
    discoveries. Of patients with several slides (`--unit`), the part is the slide of the instance
    (of rank 1, the key slide), and its share is that of the slide in the positive scores of the
    patient. For linear and rbf models, the lines below name the features that contributed most to
    the difference from the mean instance's score.

    `bagwise explain slides.bagwise new.csv --bag slide --only s17 --top 5`
    """
    applied = options.load(split_names(only))
    predicted = applied.classifier.predict(applied.seen)
    wanted = np.arange(len(predicted))
    if applied.classifier.task == "classes" and not (only or every or len(applied.classes) > 2):
        wanted = np.flatnonzero(predicted == applied.description["positive_class"])
    if not len(wanted):
        say("No bag is predicted positive; --all explains the others too.")
    deliver(_explanation(applied, predicted, wanted, top), out, as_json, below="because")


def _explanation(applied: Applied, predicted: Any, wanted: Any, top: int) -> dict[str, Any]:
    """Return the columns of the table: the best instances of each wanted bag."""
    from bagwise.bags.segments import bag_index
    from bagwise.estimators.discovery import LEVEL
    from bagwise.estimators.explanation import columns_of, name_features, part_columns

    seen, pvalues = applied.seen, applied.pvalues()
    scores = applied.scores_of_class(predicted)
    of_part = part_columns(seen, scores)
    of = bag_index(seen.offsets)
    chosen = np.lexsort((-scores, of))  # by bag, the highest scores first
    rank = 1 + np.arange(len(of)) - seen.offsets[of]
    kept = (rank <= top) & np.isin(of, wanted)
    chosen, of, rank = chosen[kept], of[kept], rank[kept]
    columns = {
        "bag": seen.ids[of],
        applied.answer: predicted[of],
        "rank": rank,
        "instance": applied.instance_names(chosen),
        **{name: of_part[name][chosen] for name in ("part", "part_share") if of_part},
        **applied.positions(chosen),
        "score": scores[chosen],
    }
    if pvalues is not None:
        columns["p_value"] = applied.of_class(pvalues, predicted)[chosen]
        columns["discovery"] = columns["p_value"] <= LEVEL
    column = columns_of(applied.classifier, predicted)[of]
    because, _ = name_features(applied.classifier, seen, chosen, column)
    return columns | ({"because": because} if any(because) else {})
