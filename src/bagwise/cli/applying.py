"""``bagwise predict``, ``evaluate`` and ``explain``: what a model file says about bags."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from bagwise.cli.options import Bag, Data, Format, Label, ModelFile, Regroup, labelled, read_bags
from bagwise.cli.records import check_suffix, record_table, write_records
from bagwise.cli.terminal import Json, say, show, show_json

__all__ = ["evaluate", "explain", "predict"]

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Write .csv, .tsv, .json or .parquet.", callback=check_suffix),
]


class Applied:
    """A model from a file, and bags as its classifier sees them."""

    def __init__(self, model: Path, data: Path, format: str | None, regroup: bool, **columns: Any):
        import bagwise
        from bagwise.modelfile import describe

        self.description = describe(model)
        loaded = bagwise.load(model)
        self.bags, self.y = self._read(data, format, regroup, columns)
        self.seen = self.bags
        self.classifier = loaded
        if hasattr(loaded, "steps"):
            self.classifier = loaded.steps[-1][1]
            self.seen = loaded[:-1].transform(self.bags)
        self.classes = self.classifier.classes_.tolist()

    def _read(
        self, data: Path, format: str | None, regroup: bool, columns: dict[str, Any]
    ) -> tuple[Any, Any]:
        """Read the model's own features; columns are called as they were in the fit."""
        if not data.exists():
            return read_bags(data)
        from bagwise.io.dispatch import recognise

        format = format or recognise(data)
        notes, names = self.description["notes"], self.description["feature_names"]
        if format in ("csv", "parquet", "arrow"):
            for role in columns:
                columns[role] = columns[role] or self._noted(data, format, notes.get(role))
            columns["features"] = names
        if format == "svmlight":  # the last features may be zero everywhere
            columns["n_features"] = str(self.description["n_features"])
        return read_bags(data, format, regroup, **columns)

    @staticmethod
    def _noted(data: Path, format: str, column: str | None) -> str | None:
        """Return a column's name in the fit, where this file has it too."""
        from bagwise.io._tabletext import sniff

        if column is None or format != "csv" or column.isdecimal():
            return column
        return column if column in sniff(data, None, None).names else None

    @property
    def sign(self) -> int:
        """What turns scores towards the positive class."""
        return 1 if self.description["positive_class"] in (None, self.classes[1]) else -1

    def scores(self, values: Any) -> dict[str, Any]:
        """Name the columns of scores: one towards the positive class, or one a class."""
        if values.ndim == 1:
            return {"score": self.sign * values}
        return {f"score_{name}": values[:, k] for k, name in enumerate(self.classes)}

    def probabilities(self) -> dict[str, Any]:
        """Return the columns of probabilities; none where the model has none."""
        if not hasattr(self.classifier, "predict_proba"):
            return {}
        chances = self.classifier.predict_proba(self.seen)
        if len(self.classes) == 2:
            return {"probability": chances[:, 1 if self.sign > 0 else 0]}
        return {f"probability_{name}": chances[:, k] for k, name in enumerate(self.classes)}

    @property
    def scores_instances(self) -> bool:
        """Whether the model speaks of instances."""
        return hasattr(self.classifier, "key_instances")

    def need_instances(self) -> None:
        """Raise an error where the model compares whole bags."""
        if not self.scores_instances:
            raise ValueError(
                f"{self.description['class']} compares whole bags: its instances have no scores. "
                "Models that point at instances are MI-SVM, mi-SVM, MILES and most others."
            )

    def instance_label(self, rows: Any) -> Any:
        """Return the names of instances: their ids, else their positions in the bag."""
        if self.bags.has_instance_ids:
            return self.bags.instance_ids[rows]
        return rows - np.repeat(self.bags.offsets[:-1], self.bags.sizes)[rows]


def predict(
    model: ModelFile,
    data: Data,
    bag: Bag = None,
    out: Out = None,
    instances: Annotated[
        bool, typer.Option("--instances", help="One row an instance instead of one a bag.")
    ] = False,
    format: Format = None,
    regroup: Regroup = False,
    as_json: Json = False,
) -> None:
    """Predict bags: one row a bag with its label, score, probability and key instance.

    A score above 0 speaks for the positive class (with three classes or more there is one column a
    class). Probabilities are there where the model was fitted with `--param probability=sigmoid`.
    The key instance is the one most responsible for the score, by its id or its position in the
    bag. Columns that the model does not know are left alone.

    `bagwise predict slides.bagwise new.csv --bag slide --out predictions.csv`
    """
    applied = Applied(model, data, format, regroup, bag=bag)
    columns = _of_instances(applied) if instances else _of_bags(applied)
    _deliver(columns, out, as_json)


def _of_bags(applied: Applied) -> dict[str, Any]:
    classifier, seen = applied.classifier, applied.seen
    columns = {"bag": seen.ids, "label": classifier.predict(seen)}
    columns |= applied.scores(classifier.decision_function(seen)) | applied.probabilities()
    if applied.scores_instances:
        rows = seen.flat(classifier.key_instances(seen))
        columns["key_instance"] = applied.instance_label(rows)
    return columns


def _of_instances(applied: Applied) -> dict[str, Any]:
    applied.need_instances()
    classifier, seen = applied.classifier, applied.seen
    key = np.zeros(seen.n_instances, dtype=bool)
    key[seen.flat(classifier.key_instances(seen))] = True
    return {
        "bag": np.repeat(seen.ids, seen.sizes),
        "instance": applied.instance_label(np.arange(seen.n_instances)),
        "label": classifier.predict_instances(seen),
        **applied.scores(classifier.instance_decision_function(seen)),
        "key": key,
    }


def _deliver(columns: dict[str, Any], out: Path | None, as_json: bool) -> None:
    if out is not None:
        write_records(out, columns)
        n_rows = len(next(iter(columns.values())))
        say(f"{n_rows} rows written: [bold]{escape(str(out))}[/bold]")
    if as_json:
        plain = {name: np.asarray(values).tolist() for name, values in columns.items()}
        show_json([dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)])
    elif out is None:
        show(record_table(columns))


def evaluate(
    model: ModelFile,
    data: Data,
    bag: Bag = None,
    label: Label = None,
    format: Format = None,
    regroup: Regroup = False,
    as_json: Json = False,
) -> None:
    """Compare a model's predictions with the true labels of bags it has not seen.

    Where the file has a column `instance_label` with the true labels of the instances, it also says
    how often the key instance is truly positive.

    `bagwise evaluate slides.bagwise test.csv --bag slide --label diagnosis`
    """
    from bagwise.metrics import bag_report

    applied = Applied(model, data, format, regroup, bag=bag, label=label)
    _, y = labelled(applied.seen, applied.y, data)
    strange = sorted({str(value) for value in y.tolist() if value not in applied.classes})
    if strange:
        raise ValueError(f"{data} has the label {strange[0]}; the model knows {applied.classes}.")
    if len(np.unique(y)) == 1:
        raise ValueError(f"All bags of {data} are {y[0]}: an evaluation needs both classes.")
    report = bag_report(applied.classifier, applied.seen, y)
    predicted = applied.classifier.predict(applied.seen)
    confusion = {
        str(true): {str(other): int(np.sum((y == true) & (predicted == other)))
                    for other in applied.classes}
        for true in applied.classes
    }  # fmt: skip
    if as_json:
        known = {name: value if np.isfinite(value) else None for name, value in report.items()}
        return show_json({"n_bags": len(y), **known, "confusion": confusion})
    table = Table(title=f"{len(y)} bags", title_justify="left")
    table.add_column("metric")
    table.add_column("value", justify="right")
    for name, value in report.items():
        table.add_row(name.replace("_", " "), f"{value:.4f}")
    show(table)
    show(_confusion_table(confusion))


def _confusion_table(confusion: dict[str, dict[str, int]]) -> Table:
    table = Table()
    table.add_column("true \\ predicted")
    for name in confusion:
        table.add_column(escape(name), justify="right")
    for name, row in confusion.items():
        table.add_row(escape(name), *map(str, row.values()))
    return table


def explain(
    model: ModelFile,
    data: Data,
    bag: Bag = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="Only this bag; may be repeated.", metavar="ID"),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="Most instances shown of a bag.")] = 3,
    every: Annotated[
        bool, typer.Option("--all", help="Also the bags that are predicted negative.")
    ] = False,
    out: Out = None,
    format: Format = None,
    regroup: Regroup = False,
    as_json: Json = False,
) -> None:
    """Say which instances made each bag positive.

    Shows the instances with the highest scores of every bag that is predicted positive (of the
    predicted class, with three classes or more), the highest first. For linear models the last
    column names the features that contributed most to the instance's score.

    `bagwise explain slides.bagwise new.csv --bag slide --only s17 --top 5`
    """
    applied = Applied(model, data, format, regroup, bag=bag)
    applied.need_instances()
    wanted = _wanted(applied, only, every)
    columns = _explanation(applied, wanted, top)
    if not len(wanted):
        say("No bag is predicted positive; --all explains the others too.")
    _deliver(columns, out, as_json)


def _wanted(applied: Applied, only: list[str] | None, every: bool) -> Any:
    """Return the numbers of the bags to explain."""
    if only:
        names = [str(name) for name in applied.seen.ids]
        missing = next((name for name in only if name not in names), None)
        if missing is not None:
            raise ValueError(f"There is no bag {missing!r}; the first ones are {names[:5]}.")
        return np.array([i for i, name in enumerate(names) if name in only])
    if every or len(applied.classes) > 2:
        return np.arange(len(applied.seen))
    predicted = applied.classifier.predict(applied.seen)
    return np.flatnonzero(predicted == applied.description["positive_class"])


def _explanation(applied: Applied, wanted: Any, top: int) -> dict[str, Any]:
    classifier, seen = applied.classifier, applied.seen
    predicted = classifier.predict(seen)
    scores = classifier.instance_decision_function(seen)
    rows: list[int] = []
    ranks: list[int] = []
    values: list[float] = []
    for i in wanted:
        start, stop = seen.offsets[i], seen.offsets[i + 1]
        towards = applied.sign * scores[start:stop]
        if scores.ndim == 2:
            towards = scores[start:stop, applied.classes.index(predicted[i])]
        best = np.argsort(-towards, kind="stable")[:top]
        rows += (start + best).tolist()
        ranks += range(1, len(best) + 1)
        values += towards[best].tolist()
    of = np.repeat(np.arange(len(seen)), seen.sizes)[rows] if rows else np.empty(0, int)
    chosen = np.array(rows, dtype=np.int64)
    columns = {
        "bag": seen.ids[of],
        "label": predicted[of],
        "rank": np.array(ranks, dtype=np.int64),
        "instance": applied.instance_label(chosen),
        "score": np.array(values, dtype=float),
    }
    because = _contributions(applied, chosen)
    return columns if because is None else columns | {"because": np.array(because, dtype=object)}


def _contributions(applied: Applied, rows: Any, n_features: int = 3) -> list[str] | None:
    """Name the features that add most to a linear score; None where the model is not linear."""
    coef = getattr(applied.classifier, "coef_", None)
    linear = getattr(applied.classifier, "kernel", None) == "linear"
    if not linear or coef is None or coef.shape != (1, applied.seen.n_features):
        return None
    names = applied.seen.feature_names
    names = [f"x{j}" for j in range(coef.shape[1])] if names is None else names
    said = []
    for row in rows:
        x = applied.seen.X[[row]]
        shares = applied.sign * coef[0] * (x.toarray() if hasattr(x, "toarray") else x)[0]
        best = [j for j in np.argsort(-shares, kind="stable")[:n_features] if shares[j] > 0]
        said.append(", ".join(f"{names[j]} {shares[j]:+.3g}" for j in best))
    return said
