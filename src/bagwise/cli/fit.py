"""``bagwise fit``: from labeled bags to a model file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli import output
from bagwise.cli.model import ModelOptions, scaler_for
from bagwise.cli.options import Folds, Jobs, Place, Scale, Seed, as_words, one_of
from bagwise.cli.source import Source

_SCALED = {
    "own": "scaled as the names of the models say",
    "raw": "as they are",
    "standard": "standardized",
    "robust": "scaled by median and quartiles",
    "quantile": "made normally distributed",
}


def fit(
    source: Source,
    choice: ModelOptions,
    place: Place,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The model file.", callback=output.check_writable())
    ] = Path("model.bagwise"),
    cv: Annotated[
        bool, typer.Option("--cv", help="Choose parameters by cross-validation.")
    ] = False,
    folds: Folds = 5,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What --cv and --scale search choose by: accuracy, balanced_accuracy, auc, f1, "
            "average_precision, sensitivity or specificity. Numbers, grades and times have one "
            "each."
        ),
    ] = None,
    scale: Scale = "auto",
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: output.Json = False,
) -> None:
    """Learn a model from labeled bags and write it to a file.

    DATA is a table with one row per instance: one column names the bag of each row, one gives the
    bag's label, and all others are features. Other formats work too (see `bagwise convert --help`).

    `bagwise fit cells.csv --bag slide --label diagnosis --positive tumor --model MI-SVM`

    `bagwise fit cells.csv --bag slide --label dx --groups patient --model MI-SVM --cv`

    `bagwise fit features.bags --model AL-SVM --param kernel=linear --dask local:4`

    With `--cv`, a list gives the candidates, `--param "C=[0.1,1,10]"`; without a list the usual
    ones are tried. Most models have `class_weight=balanced` and `kernel=linear`. Threshold,
    probabilities and p-values of instances come from scores of copies of the model that did not
    see the bag. What is printed includes the objective and a proven bound on its distance from the
    optimum of the last convex problem (the duality gap).
    """
    from sklearn.base import clone

    from bagwise.bags.leaks import fingerprints, pack_prints
    from bagwise.model_selection.scaling import settle_scale, with_scaler
    from bagwise.persistence import describe, save

    plain, points = _settings(choice, cv, source)
    metric = _settle_metric(metric, choice.task(source))
    place.check(choice.build(plain, source=source), scale, source.impute)
    source, bags, y = choice.read(source, check=not place)
    task = choice.task(source)
    for leak in [] if place or task not in ("classes", "grades") else bags.check(y):
        output.say(escape(f"Look at this before you trust the model. {leak}."))
    options: dict[str, Any] = {"random_state": seed, "n_jobs": place.jobs(jobs)}
    with output.interruptible(f"{out} was not written."), place.move(bags) as there:
        first = scaler_for(bags, "auto" if scale == "search" else scale, source.impute)
        estimator = choice.build(plain, there, y, source=source, scaler=first, **options)
        choices = []
        if hasattr(estimator, "time_limit"):  # an automatic model, which scales each candidate
            estimator.scale, scale = estimator.scale if scale == "auto" else scale, "raw"
        scale = settle_scale(bags, scale)
        if cv or scale == "search":
            options |= {"cv": folds, "metric": metric, "scale": scale, "impute": source.impute}
            truth, candidate = y, estimator
            if task == "grades":
                from bagwise.models.ordinal import number_grades

                truth, candidate = number_grades(y, estimator.order), clone(estimator)
                candidate.order = None
            choices = _search(candidate, points, there, truth, **options)
            best = max(choices, key=lambda choice: choice.value)
            estimator.set_params(**best.point)
            scale = best.scale
        title = repr(estimator)
        n_folds = choice.calibrate(estimator, bags, y)
        with show_iterations(estimator):
            scaler = scaler_for(bags, scale, source.impute)
            fitted = with_scaler(estimator, scaler).fit(there, y)
        if n_folds and not getattr(estimator, "interrupted_", False):
            with output.steps("Comparing instances with negative bags"):
                fitted.calibrate_instances(there, y, cv=n_folds)
    notes = {"data": source.data.name, **source.notes} | _ensemble(fitted)
    notes |= _decisions(estimator) | {"trained_on": pack_prints(fingerprints(bags))}
    save(fitted, out, notes=notes)
    shown = "own" if hasattr(estimator, "time_limit") else scale
    described = describe(out)
    if as_json:
        tried = [{**c.point, "scale": c.scale, metric: c.value} for c in choices]
        counts = {"n_bags": len(bags), "n_instances": bags.n_instances}
        output.show_json(
            {"file": str(out), **described, **counts, "scale": shown, "cross_validation": tried}
        )
    else:
        output.show(_table(title, described, bags, choices, shown, metric))
        output.say_written("Written", out)
    words = ["bagwise", "report", str(out), str(source.data)]
    many = task == "classes" and len(described["classes"]) > 2
    several = described["classes"][-1] if many else None
    given = {"labels": source.labels, "format": source.format, "positive": several}
    output.say_next([*words, *as_words(**given)])
    _conclude(estimator)


@contextmanager
def show_iterations(model: Any) -> Iterator[None]:
    """Show each outer iteration of a fit, with its objective and gap, where a terminal watches.

    Models without outer iterations, and fits in other processes, which could not draw, get a clock.
    """
    import numpy as np

    known = model.get_params(deep=False)
    with output.steps("fitting") as tell:
        if "callback" not in known or known["callback"] or known.get("n_jobs") not in (None, 1):
            yield
            return

        def advance(record: dict[str, Any]) -> None:
            shown = [
                f"{name} {float(np.max(record[name])):.4g}"
                for name in ("objective", "gap")
                if record.get(name) is not None
            ]
            what = record.get("model", "")  # the automatic model says which one it tried
            tell(", ".join([f"fitting {what}".strip(), *shown]))

        model.set_params(callback=advance)
        try:
            yield
        finally:
            model.set_params(callback=None)


def _settle_metric(metric: str | None, task: str) -> str:
    """Return what parameters are chosen by."""
    from bagwise.metrics import MEASURES
    from bagwise.model_selection.intervals import OF_TASKS

    if task == "classes":
        return one_of(metric or "accuracy", MEASURES, "metric")
    return one_of(metric or OF_TASKS[task], (OF_TASKS[task],), f"metric of {task}")


def _conclude(estimator: Any) -> None:
    """Say what an automatic model found out; interrupted, it is kept, and the command exits 130."""
    if getattr(estimator, "hint_", ""):
        output.say(escape(estimator.hint_))
    if getattr(estimator, "interrupted_", False):
        raise typer.Exit(130)  # 128 + SIGINT, as shells count


def _decisions(estimator: Any) -> dict[str, Any]:
    """Return how the model decides about bags that it has not seen, as a note."""
    from scipy.special import expit

    if not hasattr(estimator, "held_out_"):
        return {}
    chance = {}
    if hasattr(estimator, "slope_"):
        chance["threshold_probability"] = float(expit(estimator.threshold_log_odds_[0]))
    return {"held_out": {**estimator.held_out_, **chance}}


def _ensemble(fitted: Any) -> dict[str, Any]:
    """Return what an automatic model combines, as a note; none for other models."""
    last = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted
    if not hasattr(last, "leaderboard_"):
        return {}
    board = last.leaderboard_
    columns = ["model", last._metric, "weight", "seconds"]
    return {"leaderboard": board.loc[board["weight"] > 0, columns].to_dict("records")}


def _settings(
    choice: ModelOptions, search: bool, source: Source
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the fixed parameters and the points of the search, all of them checked."""
    plain = choice.settings(source.covariates)
    grid: dict[str, list[Any]] = {}
    if search:
        grid = {name: value for name, value in plain.items() if isinstance(value, list)}
        plain = {name: value for name, value in plain.items() if name not in grid}
    for name, values in grid.items():
        if not values:
            raise typer.BadParameter(f"--param {name}=[]: give at least one candidate.")
        for value in values:
            choice.build({**plain, name: value})
    estimator = choice.build(plain)
    points = _points(estimator, plain, grid) if search else [{}]
    if choice.task(source) != estimator.task:  # a classifier at the thresholds of the task
        points = [{f"estimator__{name}": value for name, value in p.items()} for p in points]
    return plain, points


def _points(estimator: Any, plain: dict[str, Any], grid: dict[str, Any]) -> list[dict[str, Any]]:
    from bagwise.model_selection import grid_points

    points = grid_points(estimator, grid, fixed=plain)
    if points != [{}]:
        return points
    what = f"{type(estimator).__name__} has no usual candidates"
    if grid_points(estimator) != [{}]:
        what = f"nothing is left to choose beside {', '.join(plain)}"
    raise typer.BadParameter(f'--cv: {what}. Give candidates as in --param "NAME=[1,2]".')


def _search(estimator: Any, points: list[Any], bags: Any, y: Any, **options: Any) -> list[Any]:
    from bagwise.model_selection import search
    from bagwise.model_selection.scaling import scalings

    with output.steps("choosing", len(points) * len(scalings(bags, options["scale"]))) as advance:
        return search(estimator, points, bags, y, callback=advance, **options)


def _table(
    title: str, described: dict[str, Any], bags: Any, choices: list[Any], scale: str, metric: str
) -> Table:
    from bagwise.measures import NAMES

    certificate, impute = described["certificate"], described["notes"].get("impute")
    filled = "" if impute is None else f", missing values filled ({impute})"
    error = certificate.get("kernel_error")
    rows = {
        "bags": f"{len(bags)}, with {bags.n_instances} instances of {bags.n_features} features",
        "classes": ", ".join(map(str, described["classes"])) or None,
        "positive": described["positive_class"],
        "features": _SCALED[scale] + filled,
        "threshold": _name_threshold(described),
        "held out": _name_rates(described["notes"].get("held_out")),
        "objective": _numbers(certificate["objective"]),
        "proven gap": _numbers(certificate["gap"]),
        "kernel error": None if error is None else f"{error:.2%} of the kernel's trace",
    }
    for choice in choices:
        named = {**choice.point, "scale": choice.scale}
        point = ", ".join(f"{key}={value}" for key, value in named.items())
        rows[point] = f"cross-validated {metric.replace('_', ' ')} {choice.value:.1%}"
    for model in described["notes"].get("leaderboard", []):
        (name, value), *_ = [(NAMES[k], v) for k, v in model.items() if k in NAMES]
        rows[model["model"]] = f"weight {model['weight']:.0%}, held-out {name} {value:.3f}"
    known = {key: value for key, value in rows.items() if value is not None}
    return output.fact_table(known, title)


def _name_threshold(described: dict[str, Any]) -> str | None:
    found = described["notes"].get("held_out", {}).get("threshold_probability")
    return None if found is None else f"bags are positive from a probability of {found:.2f} on"


def _name_rates(found: dict[str, float] | None) -> str | None:
    if found is None:
        return None
    text = "AUC {auc:.3f}, sensitivity {sensitivity:.0%}, specificity {specificity:.0%}"
    return f"{text.format(**found)} (folds of the training bags)"


def _numbers(values: Any) -> str | None:
    return None if values is None else ", ".join(f"{float(value):.6g}" for value in values)
