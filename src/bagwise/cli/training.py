"""``bagwise fit`` and ``bagwise convert``: from a file to a model, from a file to another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
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
    split_candidates,
    split_names,
)
from bagwise.cli.terminal import Json, progress, say, show, show_json

__all__ = ["convert", "fit"]

_FOLDS = 5


def _writable(path: Path) -> Path:
    """Refuse a file that could not be written, before the work and not after it."""
    if not path.parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}: make it first.")
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder.")
    return path


def fit(
    data: Data,
    model: Model,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The model's file.", callback=_writable)
    ] = Path("model.bagwise"),
    bag: Bag = None,
    label: Label = None,
    param: Params = None,
    cv: Annotated[
        bool, typer.Option("--cv", help="Choose parameters by 5-fold cross-validation.")
    ] = False,
    positive: Positive = None,
    groups: Groups = None,
    scale: Scale = False,
    features: Features = None,
    format: Format = None,
    regroup: Regroup = False,
    seed: Seed = 0,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Learn a model from labelled bags and write it to a file.

    DATA has one row an instance, a column that names the bag of each row and one with the bag's
    label (or is of any other format that `bagwise.io.read` knows). All other columns are features.

    `bagwise fit cells.csv --bag slide --label diagnosis --model MI-SVM --out slides.bagwise`

    `bagwise fit cells.csv --bag slide --label diagnosis --model MI-SVM --cv --groups patient`

    With `--cv` a list gives candidates, `--param "C=[0.1,1,10]"`; without one the usual ones are
    tried, and a parameter with one value keeps it. All models know `threshold=calibrated`
    and `probability=sigmoid`, nearly all `class_weight=balanced`, most SVMs `kernel=linear` (in
    BagKernelSVC, `kernel` is the one between bags). A parameter that a model lacks is answered
    with those it has. What comes out reports its certificate: the objective and a bound on how far
    it is from the optimum of the convex problem it solved last.
    """
    import bagwise
    from bagwise.comparison import standardiser

    plain, grid = split_candidates(parameters(param), cv)
    points = _points(model, plain, grid) if cv else []
    build_model(model, plain)  # a wrong name or value ends it here
    bags, y = read_bags(
        data,
        format,
        regroup,
        bag=bag,
        label=label,
        groups=groups,
        features=split_names(features),
    )
    bags, y = labelled(bags, y, data)
    estimator = build_model(model, plain, pos_label=positive_label(positive, y))
    scaler = standardiser(bags) if scale else None
    choices = _search(estimator, points, bags, y, scaler, seed, jobs) if cv else []
    if choices:
        estimator.set_params(**max(choices, key=lambda choice: choice.value).point)
    fitted = (estimator if scaler is None else _scaled(scaler, estimator)).fit(bags, y)
    notes = {"data": data.name, "bag": bag, "label": label, "groups": groups}
    bagwise.save(fitted, out, notes=notes)
    _report(out, bags, choices, as_json)


def _scaled(scaler: Any, classifier: Any) -> Any:
    from sklearn.pipeline import Pipeline

    return Pipeline([("scale", scaler), ("classify", classifier)])


def _points(model: str, plain: dict[str, Any], grid: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the grid points of a search, each of them with values that the model takes."""
    from bagwise.comparison import grid_points

    for name, values in grid.items():
        for value in values:
            build_model(model, plain | {name: value})
    estimator = build_model(model, plain)
    points = grid_points(estimator, grid, fixed=plain)
    if points == [{}]:
        what = f"{type(estimator).__name__} has no usual candidates"
        if grid_points(estimator) != [{}]:
            what = f"nothing is left to choose beside {', '.join(plain)}"
        raise typer.BadParameter(f'--cv: {what}; give them as in --param "NAME=[1,2]".')
    return points


def _search(
    estimator: Any,
    points: list[dict[str, Any]],
    bags: Any,
    y: Any,
    scaler: Any,
    seed: int,
    jobs: int,
) -> Any:
    from bagwise.comparison import check_enough, search

    check_enough(bags, y, _FOLDS)
    with progress() as bar:
        steps = bar.add_task("choosing", total=len(points))
        return search(
            estimator, points, bags, y, cv=_FOLDS, scaler=scaler, seed=seed, n_jobs=jobs,
            tell=lambda: bar.advance(steps),
        )  # fmt: skip


def _report(out: Path, bags: Any, choices: Any, as_json: bool) -> None:
    from bagwise.modelfile import describe

    described = describe(out)
    tried = [{**choice.point, "accuracy": choice.value} for choice in choices]
    if as_json:
        counts = {"n_bags": len(bags), "n_instances": bags.n_instances}
        return show_json({"file": str(out), **described, **counts, "cross_validation": tried})
    table = Table(show_header=False, title=escape(described["model"]), title_justify="left")
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    certificate = described["certificate"]
    rows = {
        "bags": f"{len(bags)}, with {bags.n_instances} instances of {bags.n_features} features",
        "classes": ", ".join(map(str, described["classes"])),
        "positive": described["positive_class"],
        "objective": _numbers(certificate["objective"]),
        "proven gap": _numbers(certificate["gap"]),
    }
    for key, value in rows.items():
        if value is not None:
            table.add_row(key, escape(str(value)))
    for record in tried:
        accuracy = record.pop("accuracy")
        point = ", ".join(f"{key}={value}" for key, value in record.items())
        table.add_row(escape(point), f"cross-validated accuracy {accuracy:.1%}")
    show(table)
    say(f"Written: [bold]{escape(str(out))}[/bold]")


def _numbers(values: Any) -> str | None:
    return None if values is None else ", ".join(f"{float(value):.6g}" for value in values)


def _known_suffix(path: Path) -> Path:
    """Refuse a name that says no format, before the work and not after it."""
    from bagwise.io.dispatch import SUFFIXES, suffix_of

    if path.suffix and suffix_of(path) not in SUFFIXES:
        raise typer.BadParameter(f"{path} must end in {', '.join(SUFFIXES)}.")
    return path


def convert(
    data: Annotated[Path, typer.Argument(metavar="A", help="What to read.")],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="B", help="What to write; its suffix says how.", callback=_known_suffix
        ),
    ],
    bag: Bag = None,
    label: Label = None,
    groups: Groups = None,
    features: Features = None,
    format: Format = None,
    regroup: Regroup = False,
    force: Annotated[bool, typer.Option("--force", help="Replace B where it is there.")] = False,
    as_json: Json = False,
) -> None:
    """Turn bags of one format into another.

    Known are CSV and TSV (gzip too), Parquet, Arrow, WEKA's ARFF, C4.5, svmlight, MATLAB,
    `.bags` (memory-mapped, the fastest to read) and a folder with one file a bag.

    `bagwise convert cells.csv cells.bags --bag slide --label diagnosis`
    """
    from bagwise.io import write

    if out.exists() and not force:
        raise typer.BadParameter(f"{out} is there already; --force replaces it.")
    bags, y = read_bags(
        data,
        format,
        regroup,
        bag=bag,
        label=label,
        groups=groups,
        features=split_names(features),
    )
    options: dict[str, Any] = {"overwrite": True} if force and out.suffix == ".bags" else {}
    write(out, bags, y, **options)
    counts = {"n_bags": len(bags), "n_instances": bags.n_instances, "n_features": bags.n_features}
    if as_json:
        show_json({"file": str(out), **counts, "labels": y is not None})
    say(f"{escape(repr(bags))} written to [bold]{escape(str(out))}[/bold]")
