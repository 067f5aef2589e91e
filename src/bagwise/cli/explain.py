"""``bagwise explain``: the instances responsible, and the features that made them so."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from bagwise.cli.applied import Applied, ApplyOptions, Out
from bagwise.cli.output import Json, deliver, say
from bagwise.rowstores import here


def explain(
    options: ApplyOptions,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only this bag; repeatable.", metavar="ID")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Maximum number of instances per bag.")] = 3,
    every: Annotated[bool, typer.Option("--all", help="Include bags predicted negative.")] = False,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Show which instances made each bag positive.

    Lists the instances with the highest scores of every bag that is predicted positive, the highest
    first. With three or more classes, scores are those of the predicted class. For linear models,
    the last column names the features that contributed most to the instance's score.

    `bagwise explain slides.bagwise new.csv --bag slide --only s17 --top 5`
    """
    applied = options.load()
    applied.need_instances()
    wanted = _choose_bags(applied, only, every)
    if not len(wanted):
        say("No bag is predicted positive; --all explains the others too.")
    deliver(_explanation(applied, wanted, top), out, as_json)


def _choose_bags(applied: Applied, only: list[str] | None, every: bool) -> Any:
    """Return the numbers of the bags to explain."""
    if only:
        return np.array(applied.find_bags(only))
    if every or len(applied.classes) > 2:
        return np.arange(len(applied.seen))
    predicted = applied.classifier.predict(applied.seen)
    return np.flatnonzero(predicted == applied.description["positive_class"])


def _explanation(applied: Applied, wanted: Any, top: int) -> dict[str, Any]:
    """Return the columns of the table: the best instances of each wanted bag."""
    seen, predicted = applied.seen, applied.classifier.predict(applied.seen)
    scores = _toward_predicted(applied, predicted)
    rows, ranks = [], []
    for start, stop in zip(seen.offsets[wanted], seen.offsets[wanted + 1], strict=True):
        best = np.argsort(-scores[start:stop], kind="stable")[:top]
        rows.append(start + best)
        ranks.append(np.arange(1, len(best) + 1))
    chosen = np.concatenate([np.empty(0, np.int64), *rows])
    of = np.repeat(np.arange(len(seen)), seen.sizes)[chosen]
    columns = {
        "bag": seen.ids[of],
        "label": predicted[of],
        "rank": np.concatenate([np.empty(0, np.int64), *ranks]),
        "instance": applied.instance_names(chosen),
        **applied.positions(chosen),
        "score": scores[chosen],
    }
    because = _contributions(applied, chosen)
    return columns if because is None else columns | {"because": np.array(because, dtype=object)}


def _toward_predicted(applied: Applied, predicted: Any) -> Any:
    """Return instance scores toward the positive class, or toward the bag's predicted class."""
    scores = applied.classifier.instance_decision_function(applied.seen)
    if scores.ndim == 1:
        return applied.sign * scores
    column = np.array([applied.classes.index(label) for label in predicted.tolist()])
    return scores[np.arange(len(scores)), np.repeat(column, applied.seen.sizes)]


def _contributions(applied: Applied, rows: Any) -> list[str] | None:
    """Name the features that add most to a linear score; None where the model is not linear."""
    from bagwise.plot.features import MOST_FEATURES

    coef = getattr(applied.classifier, "coef_", None)
    linear = getattr(applied.classifier, "kernel", None) == "linear"
    if not linear or coef is None or coef.shape != (1, applied.seen.n_features):
        return None
    names = applied.seen.feature_names
    names = [f"x{j}" for j in range(coef.shape[1])] if names is None else names
    said = []
    for row in rows:
        x = here(applied.seen.X[[row]])
        shares = applied.sign * coef[0] * (x.toarray() if hasattr(x, "toarray") else x)[0]
        best = [j for j in np.argsort(-shares, kind="stable")[:MOST_FEATURES] if shares[j] > 0]
        said.append(", ".join(f"{names[j]} {shares[j]:+.3g}" for j in best))
    return said
