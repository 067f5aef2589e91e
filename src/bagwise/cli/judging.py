"""``bagwise cv`` and ``bagwise compare``: how well models do on bags they have not seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from bagwise.cli.options import (
    Bag,
    Data,
    Features,
    Format,
    Groups,
    Jobs,
    Label,
    Model,
    Params,
    Positive,
    Regroup,
    Scale,
    Seed,
    build_model,
    labelled,
    parameters,
    positive_label,
    read_bags,
    split_names,
)
from bagwise.cli.terminal import Json, progress, say, show, show_json

__all__ = ["compare", "cv"]

Folds = Annotated[int, typer.Option("--folds", min=2, help="Number of folds.")]


def cv(
    data: Data,
    model: Model,
    bag: Bag = None,
    label: Label = None,
    param: Params = None,
    positive: Positive = None,
    groups: Groups = None,
    scale: Scale = False,
    features: Features = None,
    format: Format = None,
    regroup: Regroup = False,
    folds: Folds = 10,
    repeats: Annotated[int, typer.Option(min=1, help="Times, each with other folds.")] = 1,
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
    settings = parameters(param)
    build_model(model, settings)
    bags, y = read_bags(
        data, format, regroup,
        bag=bag, label=label, groups=groups, features=split_names(features),
    )  # fmt: skip
    bags, y = labelled(bags, y, data)
    estimator = build_model(model, settings, pos_label=positive_label(positive, y))
    reports, warned = _cross_validated(estimator, bags, y, scale, folds, repeats, seed, jobs)
    metrics = _summary(reports)
    if as_json:
        return show_json(
            {"model": repr(estimator), "folds": folds, "repeats": repeats, "seed": seed,
             "metrics": metrics, "warnings": warned}
        )  # fmt: skip
    times = "" if repeats == 1 else f", {repeats} times"
    table = Table(title=f"{escape(repr(estimator))}: {folds} folds{times}", title_justify="left")
    table.add_column("metric")
    table.add_column("mean", justify="right")
    table.add_column("standard error", justify="right")
    for name, values in metrics.items():
        table.add_row(name.replace("_", " "), _number(values["mean"]), _number(values["error"]))
    show(table)
    _tell_warnings(warned)


def _cross_validated(
    estimator: Any,
    bags: Any,
    y: Any,
    scale: bool,
    n_folds: int,
    repeats: int,
    seed: int,
    jobs: int,
) -> tuple[list[dict[str, float]], list[str]]:
    from joblib import Parallel, delayed

    from bagwise.comparison import check_enough
    from bagwise.crossfit import folds

    check_enough(bags, y, n_folds)
    splits = [split for r in range(repeats) for split in folds(bags, y, n_folds, seed + r)]
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    results = parallel(delayed(_one_fold)(estimator, bags, y, *split, scale) for split in splits)
    reports, warned = [], []
    with progress() as bar:
        steps = bar.add_task("folds", total=len(splits))
        for report, messages in results:
            reports.append(report)
            warned += messages
            bar.advance(steps)
    return reports, warned


def _one_fold(
    estimator: Any, bags: Any, y: Any, train: Any, test: Any, scale: bool
) -> tuple[dict[str, float], list[str]]:
    import warnings

    from sklearn.base import clone

    from bagwise.comparison import standardiser
    from bagwise.metrics import bag_report

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        part, held_out = bags[train], bags[test]
        if scale:
            scaler = standardiser(bags).fit(part)
            part, held_out = scaler.transform(part), scaler.transform(held_out)
        report = bag_report(clone(estimator).fit(part, y[train]), held_out, y[test])
    return report, [str(warning.message) for warning in caught]


def _summary(reports: list[dict[str, float]]) -> dict[str, dict[str, float | None]]:
    """Return mean and standard error over folds; a fold without a metric is left out of it."""
    names = list(dict.fromkeys(name for report in reports for name in report))
    summary: dict[str, dict[str, float | None]] = {}
    for name in names:
        given = np.array([report.get(name, np.nan) for report in reports], dtype=float)
        values = given[np.isfinite(given)]
        several = len(values) > 1
        summary[name] = {
            "mean": float(values.mean()) if len(values) else None,
            "error": float(values.std(ddof=1) / np.sqrt(len(values))) if several else None,
        }
    return summary


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _tell_warnings(messages: list[str]) -> None:
    if messages:
        say(f"[yellow]{len(messages)} warnings[/yellow], the first: {escape(messages[0])}")


def compare(
    data: Data,
    bag: Bag = None,
    label: Label = None,
    models: Annotated[
        str | None,
        typer.Option(
            "--models", help="Papers' names, with commas; all sensible ones when left out."
        ),
    ] = None,
    metric: Annotated[
        str, typer.Option(help="Rank by accuracy, balanced_accuracy or auc.")
    ] = "accuracy",
    positive: Positive = None,
    groups: Groups = None,
    scale: Scale = False,
    features: Features = None,
    format: Format = None,
    regroup: Regroup = False,
    folds: Folds = 5,
    seed: Seed = 0,
    jobs: Jobs = -1,
    as_json: Json = False,
) -> None:
    """Try all sensible models on your data and rank them.

    The numbers are honest (nested): in every fold, C and its like and the threshold are chosen by
    cross-validation within the training bags, and the test bags are used once. Models whose means
    differ by less than the standard errors are not told apart by your data.

    `bagwise compare cells.csv --bag slide --label diagnosis --groups patient`

    `bagwise compare musk1 --models MI-SVM,MI-Kernel,MILES`

    The command that builds the winner is printed at the end.
    """
    from bagwise.comparison import METRICS, compare_models

    if metric not in METRICS:
        raise typer.BadParameter(f"--metric {metric}: there are {', '.join(METRICS)}.")
    named = split_names(models)
    if named is not None:
        for name in named:
            build_model(name, {})
    bags, y = read_bags(
        data, format, regroup,
        bag=bag, label=label, groups=groups, features=split_names(features),
    )  # fmt: skip
    bags, y = labelled(bags, y, data)
    chosen, left_out = _chosen(named, bags, y, positive)
    with progress() as bar:
        steps = bar.add_task("", total=folds * len(chosen))

        def tell(name: str) -> None:
            bar.update(steps, description=name, advance=1)

        rankings = compare_models(
            chosen, bags, y, cv=folds, metric=metric, scale=scale, seed=seed, n_jobs=jobs, tell=tell
        )
    if all(ranking.failure for ranking in rankings):
        raise ValueError(f"No model could be fitted. {rankings[0].name}: {rankings[0].failure}")
    if as_json:
        show_json(_as_record(rankings, left_out, metric, folds, seed, y))
    else:
        show(_ranking_table(rankings, metric, folds, y))
    _tell_rest(rankings, left_out)
    _tell_command(rankings[0], data, bag, label, groups, positive, scale)


def _chosen(named: list[str] | None, bags: Any, y: Any, positive: str | None) -> Any:
    from bagwise.comparison import candidates

    if named is None:
        models, left_out = candidates(bags, len(np.unique(y)))
    else:
        models, left_out = {name: build_model(name, {}) for name in named}, {}
    label = positive_label(positive, y)
    if label is not None:
        models = {name: model.set_params(pos_label=label) for name, model in models.items()}
    return models, left_out


def _as_record(
    rankings: Any, left_out: dict[str, str], metric: str, folds: int, seed: int, y: Any
) -> dict[str, Any]:
    from bagwise.comparison import METRICS

    return {
        "metric": metric,
        "folds": folds,
        "seed": seed,
        "most_frequent_class": _most_frequent(y),
        "models": [
            {
                "name": ranking.name,
                "model": repr(ranking.model),
                **{name: _finite(ranking.mean(name)) for name in METRICS},
                **{f"{name}_error": _finite(ranking.error(name)) for name in METRICS},
                "chosen": ranking.points,
                "cpu_seconds": ranking.seconds,
                "warnings": ranking.warned,
                "failure": ranking.failure or None,
            }
            for ranking in rankings
        ],
        "left_out": left_out,
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _most_frequent(y: Any) -> float:
    return float(np.unique(y, return_counts=True)[1].max() / len(y))


def _ranking_table(rankings: Any, metric: str, folds: int, y: Any) -> Table:
    from bagwise.comparison import METRICS

    table = Table(
        title=f"Nested cross-validation: {folds} folds, ranked by {metric.replace('_', ' ')}",
        caption=f"Always saying the most frequent label is right on {_most_frequent(y):.1%}.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("model", no_wrap=True)
    for column in METRICS:
        table.add_column(column.replace("_", "\n") + ", %", justify="right", no_wrap=True)
    table.add_column("usual choice", overflow="fold")
    table.add_column("CPU s", justify="right", no_wrap=True)
    for rank, ranking in enumerate((r for r in rankings if not r.failure), 1):
        point = ", ".join(f"{key}={value:g}" for key, value in ranking.usual_point().items())
        cells = [
            f"{100 * ranking.mean(name):.1f} ± {100 * ranking.error(name):.1f}" for name in METRICS
        ]
        table.add_row(str(rank), escape(ranking.name), *cells, point, f"{ranking.seconds:.1f}")
    return table


def _tell_rest(rankings: Any, left_out: dict[str, str]) -> None:
    for ranking in rankings:
        if ranking.failure:
            say(f"[red]{escape(ranking.name)} failed:[/red] {escape(ranking.failure)}")
        elif ranking.warned:
            first = escape(ranking.warned[0])
            say(f"[yellow]{escape(ranking.name)}: {len(ranking.warned)} warnings[/yellow], {first}")
    for name, why in left_out.items():
        say(f"{escape(name)} was left out: {escape(why)}.")


def _tell_command(
    winner: Any,
    data: Path,
    bag: str | None,
    label: str | None,
    groups: str | None,
    positive: str | None,
    scale: bool,
) -> None:
    from shlex import join

    words = ["bagwise", "fit", str(data)]
    given = {"--bag": bag, "--label": label, "--groups": groups, "--positive": positive}
    for flag, value in given.items():
        words += [] if value is None else [flag, value]
    words += ["--model", winner.name, *(["--scale"] if scale else [])]
    for key, value in winner.usual_point().items():
        words += ["--param", f"{key}={value:g}"]
    words += ["--param", "threshold=calibrated", "--out", "model.bagwise"]
    say(f"Build the winner: [bold]{escape(join(words))}[/bold]")
