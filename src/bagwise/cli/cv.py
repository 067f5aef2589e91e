"""``bagwise cv``: how well one model does on bags it has not seen."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli import output
from bagwise.cli.model import ModelOptions, scaler_for
from bagwise.cli.options import Folds, Jobs, Place, Scale, Seed
from bagwise.cli.source import Site, Source


def cv(
    source: Source,
    choice: ModelOptions,
    place: Place,
    scale: Scale = "auto",
    folds: Folds = 10,
    repeats: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of repetitions, each with other folds.")
    ] = 1,
    seed: Seed = 0,
    jobs: Jobs = -1,
    site: Site = None,
    as_json: output.Json = False,
) -> None:
    """Cross-validate one model with given parameters.

    Folds are stratified by label and keep the groups of `--groups` together. Scaling, thresholds
    and probabilities are learned in the training part of each fold. With `--site`, sites such as
    hospitals are also left out one by one: the last column is the mean over sites.

    `bagwise cv cells.csv --bag slide --label diagnosis --positive tumor --model MI-SVM --scale`

    `bagwise cv musk1 --model MI-Kernel --repeats 5`
    """
    from bagwise.model_selection import cross_validate_bags
    from bagwise.model_selection.scaling import settle_scale, with_scaler

    if scale == "search":
        raise typer.BadParameter("--scale search is for fit and compare, which choose it.")
    settings = choice.settings(source.covariates)
    # A wrong name or value is refused before the data are read.
    place.check(choice.build(settings, source=source), scale, source.impute)
    source, bags, y = choice.read(source, check=not place, site=site)
    options: dict[str, Any] = {"random_state": seed, "n_jobs": place.jobs(jobs)}
    hint = "No results are kept: fewer --folds take less time."
    with output.interruptible(hint), place.move(bags) as bags:
        scale = settle_scale(bags, scale)
        scaler = scaler_for(bags, scale, source.impute)
        estimator = choice.build(settings, bags, y, source=source, scaler=scaler, **options)
        title = repr(estimator)
        choice.calibrate(estimator, bags, y, held_out=folds)
        whole = with_scaler(estimator, scaler)
        result = _cross_validate(whole, bags, y, cv=folds, n_repeats=repeats, **options)
        unseen = None
        if site is not None:
            unseen = cross_validate_bags(whole, bags, y, cv="sites", **options)
    record: dict[str, Any] = {
        "model": title, "positive": _positive(estimator, y),
        "scale": scale, "folds": folds, "repeats": repeats, "seed": seed,
        "metrics": result.summary(), "warnings": [*map(output.reword, result.warned)],
    }  # fmt: skip
    if unseen is not None:
        record |= {"unseen_sites": unseen.summary(), "n_sites": len(unseen.folds)}
    if as_json:
        output.show_json(record)
        return
    output.show(_table(record))
    _say_below_chance(record, y)
    if result.warned:
        first = escape(record["warnings"][0])
        output.say(f"[yellow]{len(result.warned)} warnings[/yellow], the first: {first}")


def _positive(estimator: Any, y: Any) -> Any:
    """Return the positive class; None for more than two classes, and for no classes."""
    if estimator.task != "classes":
        return None
    labels = np.unique(y).tolist()
    named = estimator.pos_label
    return None if len(labels) > 2 else labels[1] if named is None else named


def _say_below_chance(record: dict[str, Any], y: Any) -> None:
    """Say that the mean AUC is below chance, where it is significantly so."""
    from bagwise.crossfit import below_chance

    auc = record["metrics"].get("auc", {}).get("mean")
    if record["positive"] is not None and auc is not None:
        n_pos = int(np.sum(y == record["positive"]))
        text = below_chance(auc, n_pos, len(y) - n_pos)
        if text is not None:
            output.say(f"[yellow]Warning:[/yellow] {escape(output.reword(text))}")


def _cross_validate(estimator: Any, bags: Any, y: Any, **options: Any) -> Any:
    from bagwise.model_selection import cross_validate_bags

    with output.steps("folds", options["cv"] * options["n_repeats"]) as advance:
        return cross_validate_bags(estimator, bags, y, callback=advance, **options)


def _table(record: dict[str, Any]) -> Table:
    times = "" if record["repeats"] == 1 else f", {record['repeats']} times"
    named = record["positive"]
    positive = "" if named is None else f"Positive class: {escape(str(named))}. "
    table = output.plain_table(
        "metric",
        "mean",
        "standard error",
        *(["unseen sites"] if "unseen_sites" in record else []),
        right=("mean", "standard error", "unseen sites"),
        title=f"{escape(record['model'])}: {record['folds']} folds{times}",
        caption=f"{positive}Features: {record['scale']}.",
    )
    for name, values in record["metrics"].items():
        numbers = [*values.values()]
        if "unseen_sites" in record:
            numbers.append(record["unseen_sites"].get(name, {}).get("mean"))
        texts = ("-" if number is None else f"{number:.4f}" for number in numbers)
        table.add_row(name.replace("_", " "), *texts)
    return table
