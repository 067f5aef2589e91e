"""A model from a file and the bags it is applied to: what predict, evaluate and explain share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape

from bagwise.bags.ids import resolve_names
from bagwise.cli.model import need_labels
from bagwise.cli.options import Place, join_names
from bagwise.cli.output import RECORD_SUFFIXES, check_writable, say
from bagwise.cli.source import (
    TABLES,
    Bag,
    Data,
    Decimal,
    Format,
    InstanceId,
    Labels,
    Regroup,
    Source,
    Unit,
    column_names,
    missing_file,
)

_OUT = "Write all rows to a .csv, .tsv, .json or .parquet file."
Out = Annotated[
    Path | None, typer.Option("--out", "-o", help=_OUT, callback=check_writable(*RECORD_SUFFIXES))
]
Only = Annotated[
    list[str] | None,
    typer.Option("--only", help="Only these bags, with commas; repeatable.", metavar="IDS"),
]


ModelFile = Annotated[
    Path, typer.Argument(help="Model file written by `bagwise fit`.", metavar="MODEL")
]


@dataclass(frozen=True)
class ApplyOptions:
    """A model file, and bags to apply it to."""

    model: ModelFile
    data: Data
    bag: Bag = None
    format: Format = None
    regroup: Regroup = False
    labels: Labels = None
    instance_id: InstanceId = None
    unit: Unit = None
    decimal: Decimal = None

    def load(self, only: list[str] | None = None, *, check: bool = True, **roles: Any) -> Applied:
        """Read the model and the bags; ``roles`` are further columns, such as the label's.

        ``only`` names the bags that are wanted: of a folder of slides, others are not read.
        """
        import bagwise
        from bagwise.persistence import describe

        if self.data.suffix == ".bagwise" != self.model.suffix:
            raise typer.BadParameter(f"the model comes first: {self.data} {self.model}.")
        if not self.model.exists():
            raise missing_file(self.model)
        description, model = describe(self.model), bagwise.load(self.model)
        columns, more = self._as_in_fit(description, roles, only)
        bags, y = Source(self.data, **columns).read(check=check, **more)
        if only:
            names = [str(name) for name in bags.ids.tolist()]
            rows = np.flatnonzero(np.isin(names, [*resolve_names(only, names)]))
            bags, y = bags[rows], None if y is None else np.asarray(y)[rows]
        return Applied(model, description, bags, y)

    def _as_in_fit(
        self, description: dict[str, Any], roles: dict[str, Any], only: list[str] | None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return fields of `Source`, and arguments of readers: what is not named is as in fit."""
        from bagwise.io._assemble import ROLES
        from bagwise.io.dispatch import recognize
        from bagwise.io.tables import sniff

        notes = description["notes"]
        unit = self.unit or notes.get("unit")
        columns = {"bag": self.bag, "unit": unit, "cut": notes.get("cut"), **roles}
        columns["covariates"] = join_names(notes.get("covariates") or []) or None
        more = {"sites": columns.pop("site", None), "labeled": "label" in roles}
        times = {role: columns.pop(role, None) for role in ("event", "duration")}
        if description.get("task") == "times" and "label" in roles:
            columns |= {role: own or notes.get(role) for role, own in times.items()}
        if not self.data.exists():
            return columns, more
        format = self.format or recognize(self.data)
        is_table = format in TABLES
        if is_table or (format == "slides" and self.labels is not None):
            table = (self.data, format) if self.labels is None else (self.labels, "csv")
            noted = {r: notes.get(r) for r in ("bag", "label", "groups", "smiles", "instance_ids")}
            names = column_names(*table, noted.values())
            known = {r: c for r, c in noted.items() if c and (c in names or c.isdecimal())}
            for role in columns.keys() & {"bag", "label", "groups"}:
                columns[role] = columns[role] or known.get(role)
        if is_table:
            columns |= {"smiles": known.get("smiles"), "instance_id": known.get("instance_ids")}
            if columns["smiles"] is None:
                more["features"] = tuple(description["feature_names"] or ()) or None
                dropped = {*names} & {*(notes.get("drop") or [])} & {*ROLES.values()}
                # Readers know these names; without names there are positions.
                more["drop"] = sorted(dropped) or (None if names else notes.get("drop"))
        columns["groups"] = None if unit is not None else columns.get("groups")
        columns["instance_id"] = self.instance_id or columns.get("instance_id")
        mark = notes.get("decimal")  # fields apart by commas have no such numbers
        texts = self.data if format == "csv" else self.labels
        has_mark = texts is not None and sniff(texts).delimiter != mark
        columns["decimal"] = self.decimal or (mark if has_mark else None)
        columns["regroup"] = self.regroup or (is_table and notes.get("regroup", False))
        if format == "svmlight":  # the last features may be zero everywhere
            more["n_features"] = str(description["n_features"])
        if format == "slides" and unit is None:  # names of units are no names of bags in files
            more["only"] = only or None
        return {**columns, "format": format, "labels": self.labels}, more


@dataclass(frozen=True)
class Applied:
    """A fitted model, what its file says about it, and bags with their labels."""

    model: Any
    description: dict[str, Any]
    bags: Any
    y: Any

    @cached_property
    def classifier(self) -> Any:
        """The last step of the model."""
        return self.model.steps[-1][1] if hasattr(self.model, "steps") else self.model

    @cached_property
    def seen(self) -> Any:
        """The bags as the classifier sees them, after the steps before it."""
        if hasattr(self.model, "steps"):
            return self.model[:-1].transform(self.bags)
        return self.bags

    @contextmanager
    def at(self, place: Place) -> Iterator[Applied]:
        """Yield the model with its bags on a GPU or a cluster."""
        place.check(self.classifier)
        steps = self.model[:-1] if hasattr(self.model, "steps") else ()
        if place and not all(getattr(step, "_follows_rows", False) for step in steps):
            raise typer.BadParameter(
                f"{place.flag}: this model prepares features by more than standardizing, which "
                "happens in memory here."
            )
        with place.move(self.bags) as there:
            yield replace(self, bags=there)

    @cached_property
    def n_seen(self) -> int:
        """Number of bags that the model was trained on, where its file tells."""
        from bagwise.bags.leaks import fingerprints, unpack_prints

        known = self.description["notes"].get("trained_on")
        if known is None:
            return 0
        return int(np.isin(fingerprints(self.bags), unpack_prints(known)).sum())

    def labels(self, data: Path) -> Any:
        """Return the true labels; both classes of the model and no others."""
        y = need_labels(self.y, data)
        if self.classifier.task in ("numbers", "times"):
            return y
        unknown = sorted({str(value) for value in y.tolist() if value not in self.classes})
        if unknown:
            raise ValueError(f"{data} has the label {unknown[0]}; the model knows {self.classes}.")
        if len(np.unique(y)) == 1:
            raise ValueError(f"All bags of {data} are {y[0]}: an evaluation needs both classes.")
        return y

    @property
    def classes(self) -> list[Any]:
        """The labels that the model knows."""
        return self.classifier.classes_.tolist()

    def find_class(self, name: str | None) -> Any:
        """Return the class of this name; None where none is named."""
        known = {str(label): label for label in self.classes}
        if name is not None and name not in known:
            raise typer.BadParameter(f"--positive {name}: the classes are {', '.join(known)}.")
        return None if name is None else known[name]

    @property
    def answer(self) -> str:
        """What the column of predictions is called."""
        return {"numbers": "number", "times": "risk"}.get(self.classifier.task, "label")

    def scores(self, values: Any) -> dict[str, Any]:
        """Name the columns of scores: one toward the positive class, or one per class."""
        return self.name_columns("score", self.toward_positive(values))

    def toward_positive(self, values: Any) -> Any:
        """Return scores toward the positive class; of several classes as they are."""
        from bagwise.estimators.explanation import toward_positive

        return toward_positive(self.classifier, values) if values.ndim == 1 else values

    def scores_of_class(self, labels: Any) -> Any:
        """Return instance scores toward the positive class, of several that of each bag's label."""
        scores = self.classifier.instance_decision_function(self.seen)
        return self.of_class(self.toward_positive(scores), labels)

    def of_class(self, values: Any, labels: Any) -> Any:
        """Return values of instances, of several classes those of the label of each bag."""
        if values.ndim == 1:
            return values
        column = [self.classes.index(label) for label in labels.tolist()]
        return values[np.arange(len(values)), np.repeat(column, self.seen.sizes)]

    def name_columns(self, name: str, values: Any) -> dict[str, Any]:
        """Name one column, or one per class."""
        if values.ndim == 1:
            return {name: values}
        return {f"{name}_{label}": values[:, k] for k, label in enumerate(self.classes)}

    def say_positive(self) -> None:
        """Say which class positive scores speak for."""
        positive = self.description["positive_class"]
        if positive is not None:
            say(f"Scores above 0 speak for {escape(str(positive))}.")

    def pvalues(self) -> Any:
        """Return p-values of instances and say what they promise; None where there are none."""
        from bagwise.estimators.discovery import is_calibrated

        if not is_calibrated(self.classifier):
            say("Instances have scores only: the model was fitted without a reference for them.")
            return None
        say(f"Discoveries (p up to 0.1) are {self.classifier.discovery_guarantee()}.")
        return self.classifier.instance_pvalues(self.seen)

    def instance_names(self, rows: Any) -> Any:
        """Return the ids of instances, or their positions in the bag where they have none."""
        from bagwise.estimators.explanation import instance_names

        return instance_names(self.bags)[rows]

    def positions(self, rows: Any) -> dict[str, Any]:
        """Return the columns of coordinates; none where the bags have none."""
        if self.bags.coords is None:
            return {}
        return {"x": self.bags.coords[rows, 0], "y": self.bags.coords[rows, 1]}
