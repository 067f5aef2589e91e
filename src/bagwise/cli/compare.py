"""``bagwise compare``: all sensible models on the same folds, and what the bags can tell apart."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import join
from typing import Annotated, Any

import numpy as np
import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from bagwise.cli import output
from bagwise.cli.audit import judge_unseen, unseen_table
from bagwise.cli.model import (
    Positive,
    build_model,
    order_of,
    positive_label,
    scaler_for,
    settle_task,
)
from bagwise.cli.options import Folds, Jobs, Place, Scale, Seed, as_words, one_of, split_names
from bagwise.cli.recommend import build_command, set_aside
from bagwise.cli.source import Site, Source
from bagwise.io._files import writing

_SHORT = {
    "auc": "AUC",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced",
    "sensitivity": "sens.",
    "specificity": "spec.",
    "r2": "R2",
    "kappa": "kappa",
    "harrell_c": "Harrell's C",
}


def _seconds(text: str) -> float:
    """Read "90", "5m", "1h30m" or "none"."""
    word = text.strip().lower()
    if word == "none":
        return float("inf")
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?", word)
    if not word or found is None:
        raise typer.BadParameter(f"--time {text}: write it as in 90s, 5m or 1h30m, or none.")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return 3600.0 * hours + 60.0 * minutes + seconds


def compare(
    source: Source,
    place: Place,
    models: Annotated[
        str | None, typer.Option(help="Paper names, with commas. Default: all sensible models.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What to choose and rank by: auc (default), accuracy, balanced_accuracy, "
            "sensitivity or specificity. Numbers, grades and times have one each."
        ),
    ] = None,
    limit: Annotated[
        str,
        typer.Option(
            "--time",
            help="Stop after this time, such as 90s, 5m or 1h30m, with the table so far; none: "
            "no limit.",
            metavar="TIME",
        ),
    ] = "2m30s",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder in which every result is kept as it comes; a started run is resumed.",
            file_okay=False,
            metavar="FOLDER",
        ),
    ] = None,
    positive: Positive = None,
    scale: Scale = "auto",
    folds: Folds = 5,
    repeats: Annotated[
        int, typer.Option(min=1, max=1000, help="Maximum number of repetitions of the folds.")
    ] = 3,
    seed: Seed = 0,
    jobs: Jobs = -1,
    site: Site = None,
    report: Annotated[
        Path | None, output.page("Also write a page: ranking, ties, and time against accuracy.")
    ] = None,
    as_json: output.Json = False,
) -> None:
    """Try all sensible models on your data, and see which ones your bags can tell apart.

    Cross-validation is nested: in each fold, parameters and threshold are chosen by inner folds of
    the training bags, and the test bags are used once. The most promising models come first, and
    each is shown as it finishes. Ctrl-C shows the table so far.

    `bagwise compare cells.csv --bag slide --label diagnosis --groups patient`

    `bagwise compare musk1 --models MI-SVM,MI-Kernel,MILES --time 10m --out musk1-comparison`

    `bagwise compare cells.csv --bag slide --duration months --event died --groups patient`

    With `--covariates age,stage`, models that can learn from facts of the bag as well do so, and
    the row "covariates" is a model of those alone.

    With `--site`, a second table shows the AUC of sites, such as hospitals, that were left out.

    Labels that are numbers are predicted, and ranked by R2; `--task grades` or `--order` and
    `--duration` with `--event` compare models of grades (quadratic kappa) and of times (C-index).

    Models that are tied with the best are shown as one group. The command that builds the
    recommended one, the simplest of the best that points at instances, is printed at the end.
    """
    import bagwise
    from bagwise import model_selection
    from bagwise.crossfit.sites import site_of_units
    from bagwise.estimators.input import read_task
    from bagwise.model_selection.candidates import adapt_to
    from bagwise.model_selection.intervals import PARTS
    from bagwise.model_selection.scaling import settle_scale

    if metric is not None:
        one_of(metric, PARTS, "metric")
    named, seconds = split_names(models), _seconds(limit)
    if named == []:
        raise typer.BadParameter("--models: give at least one name.")
    built = [build_model(name, {}) for name in named or []]  # refuses wrong names first
    tried: Any = place.models(named, scale, source.impute) if place else named
    own = next((model.task for model in built if model.task != "classes"), None)
    task = settle_task(source, own)
    bags, y = source.read_labeled(check=not place, task=task or "", site=site)
    task = task or read_task(y)
    if site is not None:
        site_of_units(bags)  # refuses sites that cannot be left out
    if task == "grades":
        from bagwise.models.ordinal import number_grades

        y = number_grades(y, order_of(y, source.order))
    for model in built:
        adapt_to(task, model)  # refuses models of other tasks
    options: dict[str, Any] = {"metric": metric, "cv": folds, "n_repeats": repeats}
    options |= {"random_state": seed, "task": task, "covariates": bool(source.covariates)}
    scale = settle_scale(bags, scale)
    scaler = scaler_for(bags, "auto" if scale == "search" else scale, source.impute)
    with place.move(bags) as there:
        label = None
        if task == "classes":
            label = positive_label(positive, y, there, scaler=scaler, random_state=seed)
        options |= {"scale": scale, "impute": source.impute, "pos_label": label, "n_jobs": jobs}
        options |= {"time_limit": None if np.isinf(seconds) else seconds, "out": out}
        with _show_progress() as update:
            found = model_selection.compare(there, y, tried, callback=update, **options)
    if not found.results and found.failures and not found.unfinished:
        name, failure = next(iter(found.failures.items()))
        raise ValueError(f"No model could be fitted. {name}: {output.reword(failure)}")
    unseen = None if site is None else judge_unseen(found, bags, y, source.impute, jobs)
    if as_json:
        output.show_json(_record(found) | ({} if unseen is None else {"unseen_sites": unseen}))
    elif found.results:
        output.show(_table(found))
        if unseen is not None:
            output.show(unseen_table(found, unseen))
    named = [] if label is None else ["--positive", str(label)]
    build = build_command(found, set_aside(found, source, site).words() + named)
    _conclude(found, build)
    _say_rest(found)
    if out is not None and found.results:
        with writing(out / "comparison.csv") as file:
            file.write(found.frame.to_csv(index=False).encode())
        output.say_written("Table", out / "comparison.csv")
    if report is not None and found.results:
        given: dict[str, Any] = {"models": models, "metric": metric, "time": limit}
        given |= {"out": out, "report": report, "scale": scale, "folds": folds}
        given |= {"repeats": repeats, "seed": seed, "site": site}
        command = join(["bagwise", "compare", *source.words(), *named, *as_words(**given)])
        about: dict[str, Any] = {"data_name": source.data.name, "build": join(build)}
        about["unseen"] = unseen and {name: rate["mean"] for name, rate in unseen.items()}
        bagwise.report_comparison(found, bags, command=command, **about).save(report)
        output.say_written("Report", report)
    _say_end(found, out)


# While it runs ------------------------------------------------------------------------------------


@contextmanager
def _show_progress() -> Iterator[Callable[[Any], None]]:
    """Show one line per result as it comes."""
    with output.steps("comparing") as tell:
        began = time.monotonic()
        seen: dict[str, str] = {}

        def update(so_far: Any) -> None:
            name, seconds = so_far.ahead
            if seconds > output.SILENCE:
                _log(time.monotonic() - began, name, f"needs {_cost(seconds)} s or more", so_far)
            news = {**so_far.failures, **{n: _line(r, so_far) for n, r in so_far.results.items()}}
            for name, text in news.items():
                if seen.get(name) != text:
                    seen[name] = text
                    _log(time.monotonic() - began, name, text, so_far)
            tell("comparing", len(so_far.results) + len(so_far.failures), len(so_far.models))

        yield update


def _log(seconds: float, name: str, text: str, so_far: Any) -> None:
    done = len(so_far.results) + len(so_far.failures)
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
    failed = "failed: " if name in so_far.failures else ""
    output.say(
        escape(f"{clock} [{done}/{len(so_far.models)}] {name}: {failed}{output.reword(text)}")
    )


def _line(one: Any, so_far: Any) -> str:
    main, n_repeats = so_far.protocol.metric, len(next(iter(one.estimates.values())).values)
    others = [f"{_SHORT[m]} {100 * e.value:.1f} %" for m, e in one.estimates.items() if m != main]
    value, interval = _interval(one.estimates[main])
    numbers = ", ".join([f"{_SHORT[main]} {value} % ({interval})", *others])
    times = f", {n_repeats} repeats" if n_repeats > 1 else ""
    return f"{numbers}, {_cost(one.seconds)} CPU s per fold{times}"


def _interval(found: Any) -> tuple[str, str]:
    interval = f"{100 * found.low:.0f} to {100 * found.high:.0f}" if found.low == found.low else "-"
    return f"{100 * found.value:.1f}", interval


def _cost(seconds: float) -> str:
    digits = 2 if seconds < 1 else 1 if seconds < 100 else 0
    return f"{seconds:.{digits}f}"


# The table ----------------------------------------------------------------------------------------


def _table(found: Any) -> Table:
    main, folds = found.protocol.metric, found.protocol.cv
    others = [name for name in found.sample.metrics if name != main]
    if "sensitivity" in found.sample.metrics:  # more columns would break names at a width of 80
        others = [name for name in others if "accuracy" not in name]
    numbers = [f"{_SHORT[main]}", "95 %\ninterval", *(f"{_SHORT[m]}" for m in others)]
    cost, many = "CPU s\nper fold", f", up to {found.n_repeats} times" * (found.n_repeats > 1)
    table = output.plain_table(
        "model", *numbers, "points at\ninstances", cost,
        right=(*numbers, cost),
        title=f"{len(found.results)} of {len(found.models)} models, {len(found.sample.y)} bags: "
        f"nested cross-validation with {folds} folds{many}, in %",
        caption=_settings_line(found),
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )  # fmt: skip
    for column in table.columns[1:]:  # narrow screens may break words, but no numbers
        column.no_wrap = "instances" not in str(column.header)
    for group in found.groups:
        for name in group:
            one = found.results[name]
            cells = [*_interval(one.estimates[main])]
            cells += [f"{100 * one.estimates[m].value:.1f}" for m in others]
            cells += [one.instance_scores or "no", _cost(one.seconds)]
            style = "bold" if name == found.recommendation else None
            table.add_row(escape(name), *cells, style=style)
        table.add_section()
    if found.results:
        value, *rest = [f"{100 * found.majority[m]:.1f}" for m in (main, *others)]
        least = "always majority" if len(found.sample.classes) else "chance"
        table.add_row(least, value, "", *rest, "no", "")
    return table


def _settings_line(found: Any) -> str:
    label = found.positive
    positive = "" if label is None else f"Positive class: {escape(str(label))}. "
    return f"{positive}Features: {escape(_scales(found))}."


def _scales(found: Any) -> str:
    """Say how features were scaled; where folds chose, for which models how most often."""
    if found.protocol.scale != "search":
        return found.protocol.scale or "raw"
    by_scale: dict[str, list[str]] = {}
    for name, one in found.results.items():
        by_scale.setdefault(one.usual_scale, []).append(name)
    return "; ".join(f"{scale} for {', '.join(names)}" for scale, names in by_scale.items())


def _record(found: Any) -> dict[str, Any]:
    rules = found.protocol
    return {
        "metric": rules.metric,
        "folds": rules.cv,
        "repeats": found.n_repeats,
        "seed": rules.random_state,
        "positive": found.positive,
        "scale": rules.scale or "raw",
        "n_bags": len(found.sample.y),
        "majority": found.majority,
        "groups": found.groups,
        "recommendation": found.recommendation if found.results else None,
        "more_bags": found.more_bags,
        "reversed": found.reversed_models,
        "models": found.to_records(),
        "unfinished": found.unfinished,
        "left_out": found.left_out,
        "stopped": found.stopped or None,
    }


# What it means ------------------------------------------------------------------------------------


def _conclude(found: Any, build: list[str]) -> None:
    """Say which models are tied, and which one to build."""
    from bagwise.reports.comparison import describe_choice, find_warnings

    if not found.results:
        return
    tied, n_bags, name = found.groups[0], len(found.sample.y), found.recommendation
    if len(tied) > 1:
        more = found.more_bags
        needed = (
            "; many times more bags would be needed" if more is None
            else f"; about {more} more bags would be needed to tell the first from the last"
        )  # fmt: skip
        output.say(f"The first {len(tied)} are not distinguishable with {n_bags} bags{needed}.")
    for text in find_warnings(found):
        output.say(f"[yellow]{escape(output.reword(text))}[/yellow]")
    output.say(f"Recommended: [bold]{escape(name)}[/bold], {describe_choice(found)}.")
    output.say_next(build)


def _say_rest(found: Any) -> None:
    for name, failure in found.failures.items():
        output.say(f"[red]{escape(name)} failed:[/red] {escape(output.reword(failure))}")
    for name, one in found.results.items():
        if one.warned:
            many = "1 warning" if len(one.warned) == 1 else f"{len(one.warned)} warnings"
            first = escape(output.reword(one.warned[0]))
            output.say(f"[yellow]{escape(name)}: {many}[/yellow], the first: {first}")
    reasons: dict[str, list[str]] = {}
    for name, why in found.left_out.items():
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        output.say(f"Left out: {escape(', '.join(names))} ({escape(why)}).")


def _say_end(found: Any, out: Path | None) -> None:
    """Say what is missing and how to go on; an interrupted comparison exits with 130."""
    if found.unfinished and not found.results:
        output.say(f"Not finished: {escape(', '.join(found.unfinished))}.")
    if not found.stopped:
        return
    resume = (
        "No results were kept: with --out FOLDER the same command would resume."
        if out is None
        else f"All results are in {out}: give the same command again to resume."
    )
    if found.stopped == "interrupted":
        output.say(escape(f"Interrupted. {resume}"))
        raise typer.Exit(130)  # 128 + SIGINT, as shells count
    output.say(escape(f"Time is up; --time 10m gives more. {resume}"))
