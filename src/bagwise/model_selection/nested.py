"""One outer fold of nested cross-validation: choose inside, judge outside.

Inner folds of the training part choose the grid point and, for two classes, the threshold on bag
scores. The chosen model is fitted on the whole training part and judged on the held-out bags,
which took no part in the choice.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import bag_scores, folds
from bagwise.errors import Argument, message_of
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


@dataclass(frozen=True)
class Cell:
    """One fit to be judged: a model on one outer fold of one repeat."""

    name: str
    model: Any
    repeat: int
    fold: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What names it in a file of results."""
        return self.name, repr(self.model), self.repeat, self.fold


@dataclass(frozen=True)
class OuterFolds:
    """The data and the protocol, which all cells share."""

    bags: Bags
    y: Array
    protocol: Protocol

    def splits(self, repeat: int) -> list[tuple[Array, Array]]:
        """Return the training and test bags of each outer fold."""
        seed = self.protocol.random_state + repeat
        return folds(self.bags, self.y, self.protocol.cv, seed, name=FOLDS)

    def fold_of_bag(self, repeat: int) -> Array:
        """Return the outer fold in which each bag is held out."""
        held_out = np.empty(len(self.y), dtype=int)
        for fold, (_, test) in enumerate(self.splits(repeat)):
            held_out[test] = fold
        return held_out

    def judge(self, cell: Cell) -> dict[str, Any]:
        """Return the record of a cell: scores of the test bags, or why there are none."""
        began = time.process_time()
        head = {"model": cell.name, "code": repr(cell.model)}
        record: dict[str, Any] = {**head, "repeat": cell.repeat, "fold": cell.fold}
        with warnings.catch_warnings(record=True) as caught, one_blas_thread():
            warnings.simplefilter("always")
            try:
                record |= self._judged(cell)
            except Exception as error:  # noqa: BLE001 (the result of this model; others go on)
                record["failure"] = _failure(error)
        record["warned"] = [message_of(warning.message) for warning in caught]
        return record | {"seconds": time.process_time() - began}

    def _judged(self, cell: Cell) -> dict[str, Any]:
        train, test = self.splits(cell.repeat)[cell.fold]
        best, scores = self._chosen(cell.model, train, test)
        if np.isnan(scores).any():
            raise ValueError("Some scores are not numbers (NaN).")
        scores = np.nan_to_num(scores)  # the largest number keeps the place of infinity
        return {"point": best.point, "scale": best.scale, "scores": scores.tolist()}

    def _chosen(self, model: Any, train: Array, test: Array) -> tuple[Choice, Array]:
        """Return the choice and the test bags' scores, its threshold subtracted."""
        rules, y = self.protocol, self.y[train]
        part, held_out, plain = self.bags[train], self.bags[test], clone(model)
        if "threshold" in plain.get_params(deep=False):
            plain.set_params(threshold=0.0)  # calibrated here, by the folds that also choose
        choices = search(
            plain,
            grid_points(plain),
            part,
            y,
            cv=rules.inner_cv,
            metric=rules.metric,
            calibrate=True,
            scale=rules.scale,
            impute=rules.impute,
            random_state=rules.random_state,
        )
        best = max(choices, key=lambda choice: choice.value)
        scaler = scalings(part, best.scale, impute=rules.impute)[best.scale]
        fitted = with_scaler(plain.set_params(**best.point), scaler).fit(part, y)
        return best, bag_scores(fitted, held_out) - best.threshold


def judged(outer: OuterFolds, cell: Cell) -> dict[str, Any]:
    """Judge a cell in a worker process."""
    return outer.judge(cell)


def _failure(error: Exception) -> str:
    said = message_of(error)
    if isinstance(error, MemoryError):
        return said or "not enough memory"
    return said if isinstance(error, ValueError) else f"{type(error).__name__}: {said}"
