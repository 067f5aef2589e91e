"""``bagwise compare``: all sensible models on the same folds, ranked."""

from __future__ import annotations

from shlex import join
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from bagwise.cli.options import (
    Folds,
    Jobs,
    Positive,
    Scale,
    Seed,
    Source,
    build_model,
    one_of,
    positive_label,
    split_names,
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


def compare(
    source: Source,
    models: Annotated[
        str | None,
        typer.Option(help="Paper names, with commas. Default: all sensible models."),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Rank by accuracy, balanced_accuracy or auc.")
    ] = "accuracy",
    positive: Positive = None,
    scale: Scale = None,
    folds: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Try all sensible models on your data and rank them.

    Cross-validation is nested: in each fold, parameters and threshold are chosen by inner folds of
    the training bags, and the test bags are used once. If two means differ by less than their
    standard errors, your data do not tell which model is better.

    `bagwise compare cells.csv --bag slide --label diagnosis --groups patient`

    `bagwise compare musk1 --models MI-SVM,MI-Kernel,MILES`

    The command that builds the best model is printed at the end.
    """
    from bagwise.model_selection import METRICS

    one_of(metric, METRICS, "metric")
    named = split_names(models)
    if named == []:
        raise typer.BadParameter("--models: give at least one name.")
    for name in named or []:
        build_model(name, {})  # a wrong name is refused before the data are read
    bags, y = source.read_labeled()
    chosen, left_out = _chosen(named, bags, y, positive)
    options = {"cv": folds, "metric": metric, "random_state": seed}
    with interruptible("No results are kept: --models, with fewer names, takes less time."):
        results = _compare(chosen, bags, y, scale=scale, n_jobs=jobs, **options)
    if as_json:
        record = {"metric": metric, "folds": folds, "seed": seed}
        record |= {"most_frequent_class": _most_frequent(y), "left_out": left_out}
        show_json({**record, "models": [_model_record(result) for result in results]})
    else:
        show(_ranking_table(results, metric, folds, y))
    _say_rest(results, left_out)
    words = source.words() + ([] if positive is None else ["--positive", positive])
    _say_command(results[0], words + (["--scale"] if scale else []))


def _chosen(named: list[str] | None, bags: Any, y: Any, positive: str | None) -> Any:
    from bagwise.model_selection import candidates

    if named is None:
        models, left_out = candidates(bags, len(np.unique(y)))
    else:
        models, left_out = {name: build_model(name, {}) for name in named}, {}
    label = positive_label(positive, y)
    if label is not None:
        models = {name: model.set_params(pos_label=label) for name, model in models.items()}
    return models, left_out


def _compare(models: dict[str, Any], bags: Any, y: Any, **options: Any) -> Any:
    from bagwise.model_selection import compare_models

    with progress() as bar:
        steps = bar.add_task("", total=options["cv"] * len(models))

        def advance(name: str) -> None:
            bar.update(steps, description=name, advance=1)

        results = compare_models(models, bags, y, callback=advance, **options)
    if all(result.failure for result in results):
        failure = worded(results[0].failure)
        raise ValueError(f"No model could be fitted. {results[0].name}: {failure}")
    return results


def _model_record(result: Any) -> dict[str, Any]:
    from bagwise.model_selection import METRICS

    numbers = {name: result.mean(name) for name in METRICS}
    numbers |= {f"{name}_error": result.error(name) for name in METRICS}
    return {
        "name": result.name,
        "model": repr(result.model),
        **{name: value if np.isfinite(value) else None for name, value in numbers.items()},
        "chosen": result.points,
        "cpu_seconds": result.seconds,
        "warnings": list(map(worded, result.warned)),
        "failure": worded(result.failure) or None,
    }


def _most_frequent(y: Any) -> float:
    return float(np.unique(y, return_counts=True)[1].max() / len(y))


def _ranking_table(results: Any, metric: str, folds: int, y: Any) -> Table:
    from bagwise.model_selection import METRICS

    numbers = [name.replace("_", "\n") + ", %" for name in METRICS]
    table = plain_table(
        "", "model", *numbers, "usual choice", "CPU s",
        right=("", *numbers, "CPU s"),
        title=f"Nested cross-validation: {folds} folds, ranked by {metric.replace('_', ' ')}",
        caption=f"Always predicting the most frequent label is right for {_most_frequent(y):.1%}.",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    for column in table.columns:
        column.no_wrap = column.header != "usual choice"
    for rank, result in enumerate((r for r in results if not r.failure), 1):
        point = ", ".join(_point(result))
        cells = [
            f"{100 * result.mean(name):.1f} ± {100 * result.error(name):.1f}" for name in METRICS
        ]
        table.add_row(str(rank), escape(result.name), *cells, point, f"{result.seconds:.1f}")
    return table


def _point(result: Any) -> list[str]:
    return [f"{key}={value:g}" for key, value in result.usual_point().items()]


def _say_rest(results: Any, left_out: dict[str, str]) -> None:
    for result in results:
        name = escape(result.name)
        if result.failure:
            say(f"[red]{name} failed:[/red] {escape(worded(result.failure))}")
        elif result.warned:
            first = escape(worded(result.warned[0]))
            say(f"[yellow]{name}: {len(result.warned)} warnings[/yellow], the first: {first}")
    for name, why in left_out.items():
        say(f"{escape(name)} was left out: {escape(why)}.")


def _say_command(winner: Any, options: list[str]) -> None:
    words = ["bagwise", "fit", *options, "--model", winner.name]
    for setting in (*_point(winner), "threshold=calibrated"):
        words += ["--param", setting]
    say(f"To build the best model: [bold]{escape(join([*words, '--out', 'model.bagwise']))}[/bold]")
