"""One outer fold of nested cross-validation: choose inside, judge outside.

Inner folds of the training part choose the grid point and, for two classes, the threshold on bag
scores. The chosen model is fitted on the whole training part and judged on the held-out bags,
which took no part in the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import bag_scores, folds
from bagwise.errors import Argument
from bagwise.model_selection.clock import NEVER, Deadline, watch
from bagwise.model_selection.intervals import task_of
from bagwise.model_selection.scaling import scalings, with_scaler
from bagwise.model_selection.search import FOLDS, Choice, grid_points, search

INNER_FOLDS = Argument("inner_cv", "")


@dataclass(frozen=True)
class Protocol:
    """How models are judged: what changes a number, and nothing else."""

    cv: int
    inner_cv: int
    metric: str
    scale: str | None
    random_state: int
    impute: str | None = None

    @property
    def task(self) -> str:
        """What the labels are: the metric says it."""
        return task_of(self.metric)

    @property
    def inside(self) -> dict[str, Any]:
        """The settings of searches within training parts."""
        names = ("metric", "scale", "impute", "random_state")
        return {"cv": self.inner_cv} | {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class NestedCell:
    """One fit to be judged: a model on one outer fold of one repeat."""

    name: str
    model: Any
    repeat: int
    fold: int

    @property
    def head(self) -> dict[str, Any]:
        """What the record says besides the result."""
        code = repr(self.model)
        return {"model": self.name, "code": code, "repeat": self.repeat, "fold": self.fold}

    @property
    def id(self) -> str:
        """A text that names the record in a store."""
        return identify(self.head)


def identify(record: dict[str, Any]) -> str:
    """Return the id of a record's cell, "" for a record of something else."""
    if "code" not in record:
        return ""
    return f"{record['model']}/{record['code']}/{record['repeat']}/{record['fold']}"


@dataclass(frozen=True)
class OuterFolds:
    """The data and the protocol, which all cells share."""

    bags: Bags
    y: Array
    protocol: Protocol

    def splits(self, repeat: int) -> list[tuple[Array, Array]]:
        """Return the training and test bags of each outer fold."""
        seed, ordered = self.protocol.random_state + repeat, self.protocol.task != "classes"
        return folds(self.bags, self.y, self.protocol.cv, seed, name=FOLDS, ordered=ordered)

    def count_fits(self, model: Any) -> int:
        """Return the number of fits of a model in a cell."""
        scales = len(scalings(self.bags, self.protocol.scale, impute=self.protocol.impute))
        return len(grid_points(model)) * scales * self.protocol.inner_cv + 1

    def judge(self, cell: NestedCell, until: Deadline = NEVER) -> dict[str, Any]:
        """Return the choice and the scores of the test bags."""
        train, test = self.splits(cell.repeat)[cell.fold]
        best, scores = self._choose(watch(cell.model, until), train, test)
        if np.isnan(scores).any():
            raise ValueError("Some scores are not numbers (NaN).")
        scores = np.nan_to_num(scores)  # the largest number keeps the place of infinity
        return {"point": best.point, "scale": best.scale, "scores": scores.tolist()}

    def _choose(self, model: Any, train: Array, test: Array) -> tuple[Choice, Array]:
        """Return the choice and the test bags' scores, its threshold subtracted."""
        rules, y = self.protocol, self.y[train]
        part, held_out, plain = self.bags[train], self.bags[test], model
        if "threshold" in plain.get_params(deep=False):
            plain.set_params(threshold=0.0)  # calibrated here, by the folds that also choose
        points, scales = grid_points(plain), scalings(part, rules.scale, impute=rules.impute)
        if rules.task != "classes" and len(points) == len(scales) == 1:
            choices = [Choice(points[0], 0.0, 0.0, *scales)]  # nothing to choose
        else:
            calibrate = rules.task == "classes"
            choices = search(plain, points, part, y, calibrate=calibrate, **rules.inside)
        best = max(choices, key=lambda choice: choice.value)
        scaler = scalings(part, best.scale, impute=rules.impute)[best.scale]
        fitted = with_scaler(plain.set_params(**best.point), scaler).fit(part, y)
        return best, bag_scores(fitted, held_out) - best.threshold
