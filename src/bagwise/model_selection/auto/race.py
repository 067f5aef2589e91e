"""The race: candidates on shared folds, the better half after the first one, within a budget.

A *cell* is one candidate on one fold: the scores of the held-out bags and the seconds it took.
Cells are stored as they finish, so that a fit on the same bags can continue where one stopped.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.crossfit import bag_scores, fit_weighted
from bagwise.errors import said_by

FAILURES = (ValueError, MemoryError, FloatingPointError)  # of a candidate; recorded as its result


class OutOfTimeError(Exception):
    """The time limit passed while a candidate was being fitted."""


@dataclass(frozen=True)
class Deadline:
    """The moment at which candidates stop; estimators call it as their ``callback``."""

    moment: float  # of time.monotonic, which is the same clock in all processes

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return the deadline that many seconds from now, none at all for None."""
        return cls(np.inf if seconds is None else time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return self.moment - time.monotonic()

    def __call__(self, record: Any = None) -> None:
        """Raise OutOfTimeError once the moment has passed."""
        if self.left < 0:
            raise OutOfTimeError


@dataclass
class Trial:
    """What is known about a candidate: cells by fold, or the reason of its failure."""

    name: str
    estimator: Any
    cells: dict[int, Array] = field(default_factory=dict)  # held-out scores (n_test, columns)
    seconds: float = 0.0
    failure: str = ""
    warned: list[str] = field(default_factory=list)

    def held_out(self, splits: list[tuple[Array, Array]], n_bags: int) -> Array:
        """Return the scores of all bags, NaN where the fold was not run."""
        columns = next(iter(self.cells.values())).shape[1]
        scores = np.full((n_bags, columns), np.nan)
        for fold, cell in self.cells.items():
            scores[splits[fold][1]] = cell
        return scores


@dataclass
class Track:
    """The data that all candidates see, and the folds."""

    bags: Bags
    y: Array
    weight: Array
    splits: list[tuple[Array, Array]]
    deadline: Deadline
    n_jobs: int | None = None
    store: Path | None = None
    report: Callable[[dict[str, Any]], None] = lambda record: None

    def run(self, trials: Iterable[Trial], folds: Iterable[int]) -> None:
        """Fill in missing cells, fold by fold, in the order of the trials."""
        every = [(trial, fold) for fold in folds for trial in trials]
        todo = []
        for trial, fold in every:
            stored = self._stored(trial, fold)
            if stored is not None:
                self._keep(trial, fold, stored)
            elif not trial.failure and fold not in trial.cells:
                todo.append((trial, fold))
        for (trial, fold), cell in zip(todo, self._cells(todo), strict=True):
            if cell is None:  # out of time
                continue
            self._write(trial, fold, cell)
            self._keep(trial, fold, cell)

    def refit(self, trial: Trial) -> Any:
        """Fit a candidate to all bags."""
        model = watched(trial.estimator, self.deadline)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit_weighted(model, self.bags, self.y, self.weight)
        trial.warned += [said_by(warning.message) for warning in caught]
        return watched(model, None)

    def _cells(self, todo: list[tuple[Trial, int]]) -> Iterator[dict[str, Any] | None]:
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        data = self.bags, self.y, self.weight
        yield from jobs(
            delayed(_cell)(trial.estimator, *data, *self.splits[fold], self.deadline)
            for trial, fold in todo
        )

    def _keep(self, trial: Trial, fold: int, cell: dict[str, Any]) -> None:
        trial.seconds += cell["seconds"]
        trial.failure = trial.failure or cell["failure"]
        trial.warned += cell["warned"]
        if not cell["failure"]:
            trial.cells[fold] = np.asarray(cell["scores"])
        self.report({"model": trial.name, "fold": fold, "seconds": cell["seconds"]})

    # Stored cells --------------------------------------------------------------------------------

    def _path(self, trial: Trial, fold: int) -> Path | None:
        """Return the file of a cell, whose name is a digest of all that the cell depends on."""
        if self.store is None:
            return None
        digest = hashlib.sha256(self._fingerprint())
        digest.update(f"{trial.estimator!r}".encode())
        for part in self.splits[fold]:
            digest.update(np.ascontiguousarray(part).tobytes())
        return self.store / f"{digest.hexdigest()[:32]}.json"

    def _fingerprint(self) -> bytes:
        digest = hashlib.sha256()
        X = self.bags.X
        parts = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (np.asarray(X),)
        for part in (*parts, self.bags.offsets, self.weight):
            digest.update(np.ascontiguousarray(part).data)
        digest.update(repr(self.y.tolist()).encode())
        return digest.digest()

    def _stored(self, trial: Trial, fold: int) -> dict[str, Any] | None:
        path = self._path(trial, fold)
        return json.loads(path.read_text()) if path is not None and path.exists() else None

    def _write(self, trial: Trial, fold: int, cell: dict[str, Any]) -> None:
        path = self._path(trial, fold)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")  # a killed process leaves no half-written cell
        partial.write_text(json.dumps({"model": trial.name, "fold": fold, **cell}))
        partial.replace(path)


def watched(model: Any, deadline: Deadline | None) -> Any:
    """Return an unfitted copy whose iterations look at the clock; with None, the model itself."""
    model = clone(model) if deadline is not None else model
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if "callback" in last.get_params(deep=False):
        last.set_params(callback=deadline)
    return model


def _cell(
    estimator: Any,
    bags: Bags,
    y: Array,
    weight: Array,
    train: Array,
    test: Array,
    deadline: Deadline,
) -> dict[str, Any] | None:
    """Return scores and seconds of a candidate on one fold, None if the time was up."""
    began = time.process_time()
    cell: dict[str, Any] = {"scores": [], "failure": ""}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            deadline()
            model = watched(estimator, deadline)
            fit_weighted(model, bags[train], y[train], weight[train])
            cell["scores"] = bag_scores(model, bags[test]).reshape(len(test), -1).tolist()
        except OutOfTimeError:
            return None
        except FAILURES as error:
            cell["failure"] = f"{said_by(error)}"
    warned = sorted({str(said_by(warning.message)) for warning in caught})
    return cell | {"warned": warned, "seconds": time.process_time() - began}
