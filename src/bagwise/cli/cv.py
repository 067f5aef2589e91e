"""``bagwise cv``: how well one model does on bags it has not seen."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli.options import (
    Folds,
    Jobs,
    ModelOptions,
    Scale,
    Seed,
    Source,
    scaler_for,
    with_scaler,
)
from bagwise.cli.output import (
    Json,
    interruptible,
    plain_table,
    progress,
    say,
    show,
    show_json,
    worded,
)


def cv(
    source: Source,
    choice: ModelOptions,
    scale: Scale = False,
    folds: Folds = 10,
    repeats: Annotated[
        int, typer.Option(min=1, max=10_000, help="Number of repetitions, each with other folds.")
    ] = 1,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Cross-validate one model with given parameters.

    Folds are stratified by label and keep the groups of `--groups` together. Scaling, thresholds
    and probabilities are learned in the training part of each fold.

    `bagwise cv cells.csv --bag slide --label diagnosis --model MI-SVM --param C=10 --scale`

    `bagwise cv musk1 --model MI-Kernel --repeats 5`
    """
    settings = choice.settings()
    choice.build(settings)  # a wrong name or value is refused before the data are read
    bags, y = source.read_labeled()
    estimator = choice.build(settings, y)
    whole = with_scaler(estimator, scaler_for(bags, scale))
    options = {"cv": folds, "n_repeats": repeats, "random_state": seed, "n_jobs": jobs}
    with interruptible("No results are kept: fewer --folds take less time."):
        result = _cross_validate(whole, bags, y, **options)
    record: dict[str, Any] = {
        "model": repr(estimator), "folds": folds, "repeats": repeats, "seed": seed,
        "metrics": result.summary(), "warnings": list(map(worded, result.warned)),
    }  # fmt: skip
    if as_json:
        show_json(record)
        return
    show(_table(record))
    if result.warned:
        first = escape(record["warnings"][0])
        say(f"[yellow]{len(result.warned)} warnings[/yellow], the first: {first}")


def _cross_validate(estimator: Any, bags: Any, y: Any, **options: Any) -> Any:
    from bagwise.model_selection import cross_validate_bags

    with progress() as bar:
        steps = bar.add_task("folds", total=options["cv"] * options["n_repeats"])
        advance = partial(bar.advance, steps)
        return cross_validate_bags(estimator, bags, y, callback=advance, **options)


def _table(record: dict[str, Any]) -> Table:
    times = "" if record["repeats"] == 1 else f", {record['repeats']} times"
    table = plain_table(
        "metric",
        "mean",
        "standard error",
        right=("mean", "standard error"),
        title=f"{escape(record['model'])}: {record['folds']} folds{times}",
    )
    for name, values in record["metrics"].items():
        numbers = ("-" if number is None else f"{number:.4f}" for number in values.values())
        table.add_row(name.replace("_", " "), *numbers)
    return table
