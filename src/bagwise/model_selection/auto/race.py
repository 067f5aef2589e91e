"""The race: candidates on shared folds, the better half after the first one, within a budget.

A *cell* is one candidate on one fold: the scores of the held-out bags and the seconds it took.
Cells of the same fold share scaled bags, statistics and Gram matrices. Finished cells are stored,
so that a fit to the same bags can continue where one stopped.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from bagwise.errors import message_of
from bagwise.io._atomic import writing
from bagwise.model_selection.grams import can_share, grams_here
from bagwise.models.statistics import Rows, shared_statistics

_FAILURES = (ValueError, MemoryError, FloatingPointError)  # of a candidate: recorded as its result


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
    family: str = ""
    cells: dict[int, Array] = field(default_factory=dict)  # held-out scores (n_test, columns)
    seconds: float = 0.0  # of CPU time
    elapsed: float = 0.0  # of wall time in the last cell
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
    """The data that all candidates see, the folds, and what the race may cost."""

    bags: Bags
    y: Array
    weight: Array
    splits: list[tuple[Array, Array]]
    deadline: Deadline
    n_jobs: int | None = None
    store: Path | None = None
    report: Callable[[dict[str, Any]], None] = lambda record: None
    token: str = ""  # names the data

    def __post_init__(self) -> None:
        self.token = _digest(self.bags, self.y, self.weight)

    def run(self, trials: Sequence[Trial], folds: Iterable[int], until: Deadline) -> None:
        """Fill in missing cells, fold by fold, in the order of the trials."""
        todo = []
        for fold in folds:
            for trial in trials:
                stored = self._stored(trial, fold)
                if stored is not None:
                    self._keep(trial, fold, stored)
                elif not trial.failure and fold not in trial.cells:
                    todo.append((trial, fold))
        for (trial, fold), cell in zip(todo, self._cells(todo, until), strict=True):
            if cell is not None:  # it had the time
                self._write(trial, fold, cell)
                self._keep(trial, fold, cell)

    def fold_numbers(self) -> Array:
        """Return the fold that holds out each bag."""
        number = np.empty(len(self.bags), dtype=int)
        for fold, (_, test) in enumerate(self.splits):
            number[test] = fold
        return number

    def refit(self, trial: Trial, until: Deadline) -> Any:
        """Fit a candidate to all bags."""
        model = watched(trial.estimator, until)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit_weighted(model, self.bags, self.y, self.weight)
        trial.warned += [str(message_of(warning.message)) for warning in caught]
        return unwatched(model)

    def affordable(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return those that can be finished in time, in order, given their time on one fold."""
        workers = max(1, self.n_jobs or 1)
        cost, kept = 0.0, list[Trial]()
        for trial in trials:
            # The other folds in parallel, then a fit to all bags with a margin.
            n_left = len(self.splits) - len(trial.cells)
            more = trial.elapsed * (n_left / workers + _REFIT)
            if not kept or cost + more <= self.deadline.left:
                cost += more
                kept.append(trial)
        return kept

    def _cells(
        self, todo: list[tuple[Trial, int]], until: Deadline
    ) -> Iterator[dict[str, Any] | None]:
        jobs = Parallel(n_jobs=self.n_jobs, return_as="generator")
        data = self.bags, self.y, self.weight
        yield from jobs(
            delayed(_cell)(trial.estimator, data, self.splits[fold], (self.token, fold), until)
            for trial, fold in todo
        )

    def _keep(self, trial: Trial, fold: int, cell: dict[str, Any]) -> None:
        trial.seconds += cell["seconds"]
        trial.elapsed = cell["elapsed"]
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
        parts = [np.ascontiguousarray(part).tobytes() for part in self.splits[fold]]
        named = [self.token.encode(), repr(trial.estimator).encode(), *parts]
        return self.store / f"{hashlib.sha256(b'/'.join(named)).hexdigest()[:32]}.json"

    def _stored(self, trial: Trial, fold: int) -> dict[str, Any] | None:
        path = self._path(trial, fold)
        return json.loads(path.read_text()) if path is not None and path.exists() else None

    def _write(self, trial: Trial, fold: int, cell: dict[str, Any]) -> None:
        path = self._path(trial, fold)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with writing(path) as file:
                file.write(json.dumps({"model": trial.name, "fold": fold, **cell}).encode())


_REFIT = 1.5  # fits to all bags cost this much of a fold: 5/4 of the bags, and some more


def watched(model: Any, deadline: Deadline) -> Any:
    """Return an unfitted copy whose iterations look at the clock."""
    return _with_callback(clone(model), deadline)


def unwatched(model: Any) -> Any:
    """Return the model itself, without a callback."""
    return _with_callback(model, None)


def _with_callback(model: Any, callback: Any) -> Any:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if "callback" in last.get_params(deep=False):
        last.set_params(callback=callback)
    return model


def _digest(bags: Bags, y: Array, weight: Array) -> str:
    digest, X = hashlib.sha256(repr(y.tolist()).encode()), bags.X
    values = (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (np.asarray(X),)
    for part in (*values, bags.offsets, weight):
        digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


# One cell, perhaps in another process ------------------------------------------------------------


def _cell(
    estimator: Any,
    data: tuple[Bags, Array, Array],
    split: tuple[Array, Array],
    key: tuple[str, int],
    until: Deadline,
) -> dict[str, Any] | None:
    """Return scores and seconds of a candidate on one fold, None if the time was up."""
    began, clock = time.process_time(), time.perf_counter()
    cell: dict[str, Any] = {"scores": [], "failure": ""}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            until()
            scores = _held_out_scores(watched(estimator, until), data, split, key)
            cell["scores"] = scores.reshape(len(split[1]), -1).tolist()
        except OutOfTimeError:
            return None
        except _FAILURES as error:
            cell["failure"] = str(message_of(error))
    cell["warned"] = sorted({str(message_of(warning.message)) for warning in caught})
    cell |= {"seconds": time.process_time() - began, "elapsed": time.perf_counter() - clock}
    return cell


def _held_out_scores(
    model: Any, data: tuple[Bags, Array, Array], split: tuple[Array, Array], key: tuple[str, int]
) -> Array:
    bags, y, weight = data
    train = split[0]
    steps = model.steps[:-1] if isinstance(model, Pipeline) else []
    last = model.steps[-1][1] if steps else model
    view = (*key, repr(steps))
    seen, held_out = _views.of(view, bags, y, split, [step for _, step in steps])
    with shared_statistics(_views.statistics):
        if can_share(last):
            grams_here().fit(last, seen, y[train], view, weight[train])
        else:
            fit_weighted(last, seen, y[train], weight[train])
        return bag_scores(last, held_out)


class _Views:
    """The two parts of the current fold as candidates see them, raw or scaled, and statistics."""

    def __init__(self) -> None:
        self.forget()

    def forget(self, fold: tuple[Any, ...] = ()) -> None:
        """Turn to a fold of which nothing is known."""
        self.fold = fold
        self.parts: dict[str, tuple[Bags, Bags]] = {}
        self.statistics: Rows = {}

    def of(
        self,
        view: tuple[str, int, str],
        bags: Bags,
        y: Array,
        split: tuple[Array, Array],
        steps: list[Any],
    ) -> tuple[Bags, Bags]:
        """Return training and held-out bags behind the steps, which see the training bags."""
        *fold, name = view
        if self.fold != tuple(fold):
            self.forget(tuple(fold))
        if name not in self.parts:
            train, test = bags[split[0]], bags[split[1]]
            for step in steps:
                train, test = step.fit_transform(train, y[split[0]]), step.transform(test)
            self.parts[name] = train, test
        return self.parts[name]


_views = _Views()


def forget_shared() -> None:
    """Forget scaled bags, statistics and Gram matrices of this process."""
    _views.forget()
    grams_here().kept.clear()
