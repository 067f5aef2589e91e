"""Which model suits given bags: nested cross-validation over many models, at any time.

All models see the same folds, which keep ``bags.groups`` together (see `nested`). The most
promising models come first; every finished fold counts at once and is kept in a file, so that the
table so far is there when time is up, or when the run is interrupted or killed. A fold that takes
more than its share of the time is stopped and tried again, with four times the share, after the
others. Models that are clearly behind the best after one repeat of the folds are not repeated.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.bags.fingerprint import fingerprints
from bagwise.crossfit import check_enough_bags
from bagwise.errors import Message, Parameter, suggestion
from bagwise.estimators.positive import order_is_meaning, warn_of_unclear
from bagwise.io._lock import locked
from bagwise.io._records import ResultsError, ResultsFile, read_records
from bagwise.metrics import MEASURES
from bagwise.model_selection._workers import Stopped, Workers
from bagwise.model_selection.candidates import MANY_TO_READ, by_names, candidates
from bagwise.model_selection.comparison import Comparison
from bagwise.model_selection.intervals import METRICS, Sample
from bagwise.model_selection.nested import INNER_FOLDS, Cell, OuterFolds, Protocol, judged
from bagwise.model_selection.scaling import scalings
from bagwise.model_selection.search import FOLDS
from bagwise.rowstores import RowStore
from bagwise.rowstores.cluster import for_processes

POSITIVE = Parameter("pos_label", "")
RESULTS = "comparison.jsonl"
_SHARES = 2.0  # how many times its equal share of the time a fold may take at first
_SHORTEST = 5.0  # seconds that a fold of few rows may take: a new process costs half as much
_PATIENCE = 4.0  # how much more it may take each time that it is tried again


def compare(
    bags: Any,
    y: Any,
    models: Any = None,
    *,
    metric: str = "auc",
    cv: int = 5,
    inner_cv: int = 3,
    n_repeats: int = 3,
    scale: str | None = None,
    impute: str | None = None,
    pos_label: Any = None,
    time_limit: float | None = None,
    out: str | Path | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callable[[Comparison], Any] = lambda so_far: None,
) -> Comparison:
    """Compare models by nested cross-validation, and say which ones the bags can tell apart.

    Parameters
    ----------
    bags : Bags, or anything check_bags takes
        The data.
    y : array-like of shape (n_bags,)
        Labels of the bags.
    models : dict of str to estimator, or list of str, default=None
        Models by name, or names of methods as `bagwise.by_paper_name` knows them, with the linear
        kernel above 50,000 instances. All methods that make sense for the bags when None (see
        `candidates`), the most promising first.
    metric : str, default="auc"
        The metric to choose and rank by: "auc", "accuracy", "balanced_accuracy" or "f1"; for two
        classes also "average_precision", "sensitivity", "specificity", "sensitivity@0.9" and
        "sensitivity@0.95", the sensitivity at that specificity.
    cv, inner_cv : int, default=5, 3
        Number of outer folds, which judge, and of inner folds, which choose.
    n_repeats : int, default=3
        How many times the bags are divided into outer folds; models that are clearly behind after
        one repeat are not repeated.
    scale : {"raw", "standard", "robust", "quantile", "auto"} or None, default=None
        How features are scaled, by the training part of each fold; "auto" chooses with the
        parameters, for each model. None is "raw".
    impute : {"median", "mean", "most_frequent", "zero"} or None, default=None
        What replaces missing values, by the training part of each fold; None refuses them.
    pos_label : object, default=None
        The positive label, for models that have such a parameter.
    time_limit : float, default=None
        Seconds after which to stop, with what was found until then.
    out : str or Path, default=None
        Folder in which every result is kept as it comes. The same call resumes what is in it.
    random_state : int, default=0
        Seed of the folds; repeat ``r`` uses ``random_state + r``.
    n_jobs : int, default=None
        Number of worker processes; -1 is one per core.
    callback : callable, default=nothing
        Called with the comparison so far after each outer fold.

    Returns
    -------
    Comparison
        Table, groups of tied models, recommendation and figure. Where Ctrl-C or the time limit
        ended it, ``stopped`` says so.

    Examples
    --------
    >>> from bagwise import InstanceSVC, WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import compare
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> models = {"SIL": InstanceSVC(), "MI-SVM": WitnessSVC(kernel="linear")}
    >>> comparison = compare(bags, y, models, cv=3, n_repeats=1)
    >>> comparison.recommendation, list(comparison.results)
    ('MI-SVM', ['MI-SVM', 'SIL'])
    """
    began = time.monotonic()
    bags, y = check_bags(bags, finite=impute is None), np.asarray(y)
    outer = OuterFolds(bags, y, Protocol(cv, inner_cv, metric, scale, random_state, impute))
    _check(outer, n_repeats)
    positive = _positive(y, pos_label)
    chosen, left_out = _models(models, bags, y, positive)
    sample = Sample(y, np.unique(y), cv, bags.groups, positive)
    folds = [outer.fold_of_bag(repeat) for repeat in range(n_repeats)]
    start = Comparison(chosen, [], sample, folds, outer.protocol, left_out)
    limit = np.inf if time_limit is None else time_limit
    with ExitStack() as stack:
        kept = None if out is None else stack.enter_context(_opened(Path(out), outer))
        run = _Run(start, outer, n_repeats, began + limit, n_jobs, kept, callback)
        return run.finished()


def _check(outer: OuterFolds, n_repeats: int) -> None:
    """Refuse what cannot work before anything is fitted."""
    rules, y = outer.protocol, outer.y
    if rules.metric not in MEASURES:
        hint = suggestion(rules.metric, MEASURES)
        raise ValueError(f"There is no metric {rules.metric!r} to compare by. {hint}")
    if rules.metric not in (*METRICS, "f1") and len(np.unique(y)) > 2:
        raise ValueError(f"{rules.metric} needs two classes, there are {len(np.unique(y))}.")
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}.")
    if len(y) != len(outer.bags):
        raise ValueError(f"y has {len(y)} labels, there are {len(outer.bags)} bags.")
    scalings(outer.bags, rules.scale, impute=rules.impute)
    check_enough_bags(outer.bags, y, (FOLDS, rules.cv), (INNER_FOLDS, rules.inner_cv))


def _positive(y: Array, pos_label: Any) -> Any:
    """Return the positive label, after one warning where nobody said it and it is not clear."""
    classes = np.unique(y).tolist()
    if pos_label is not None and pos_label not in classes:
        raise ValueError(
            Message(f"There is no label {pos_label!r} for ", POSITIVE, f": {classes}.")
        )
    if pos_label is not None or order_is_meaning(classes):
        return pos_label
    warn_of_unclear(classes)
    return classes[1]


def _models(
    models: Any, bags: Bags, y: Array, pos_label: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    left_out: dict[str, str] = {}
    if models is None:
        models, left_out = candidates(bags, len(np.unique(y)))
    elif not isinstance(models, dict):
        models = by_names(models, bags)
    if not models:
        raise ValueError("Give at least one model to compare.")
    models = {name: clone(model) for name, model in models.items()}
    for model in models.values():
        if pos_label is not None and "pos_label" in model.get_params(deep=False):
            model.set_params(pos_label=pos_label)
    return models, left_out


# The results in a folder --------------------------------------------------------------------------


@dataclass
class _Kept:
    """A file of results: those of an earlier run, and where new ones go."""

    file: ResultsFile
    earlier: list[dict[str, Any]]


class _opened:
    """Hold the folder of a comparison; refuse one of other data or another protocol."""

    def __init__(self, folder: Path, outer: OuterFolds) -> None:
        bags, y = outer.bags, outer.y
        X = fingerprints(bags) if isinstance(bags.X, RowStore) else bags.X
        data = joblib.hash((X, bags.offsets, y.tolist(), bags.groups))
        self.folder, self.head = folder, {"data": data, **asdict(outer.protocol)}
        self.stack = ExitStack()

    def __enter__(self) -> _Kept:
        self.stack.enter_context(locked(self.folder))
        records = read_records(self.folder / RESULTS)
        heads = [record["comparison"] for record in records if "comparison" in record]
        if records and not heads:
            raise ResultsError(f"{self.folder / RESULTS} holds no comparison: name another folder.")
        if heads and heads[0] != self.head:
            raise ResultsError(self._differs(heads[0]))
        file = self.stack.enter_context(ResultsFile(self.folder / RESULTS))
        if not heads:
            file.append({"comparison": self.head})
        return _Kept(file, [record for record in records if "model" in record])

    def __exit__(self, *reason: object) -> None:
        self.stack.close()

    def _differs(self, head: dict[str, Any]) -> str:
        names = [name for name, value in self.head.items() if head.get(name) != value]
        named = [n for n in names if n != "data"]
        what = " and ".join(f"{n}={head.get(n)!r} instead of {self.head[n]!r}" for n in named)
        other = " and ".join(["other data"] * ("data" in names) + [what] * bool(what))
        return f"{self.folder} holds a comparison of {other}: name another folder."


# The run ------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """What is done, what is being done, and what comes next."""

    start: Comparison
    outer: OuterFolds
    n_repeats: int
    deadline: float
    n_jobs: int | None
    kept: _Kept | None
    callback: Callable[[Comparison], Any]
    records: list[dict[str, Any]] = field(default_factory=list)
    running: list[Cell] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    share: float = np.inf

    def finished(self) -> Comparison:
        """Run everything, or until time is up or the user interrupts."""
        stopped = ""
        earlier = [] if self.kept is None else self.kept.earlier
        codes = {(name, repr(model)) for name, model in self.start.models.items()}
        known = [r for r in earlier if (r["model"], r["code"]) in codes]
        self.records = [r for r in known if "scores" in r]  # failures are tried again
        try:
            self._run()
            stopped = "time" if time.monotonic() >= self.deadline else ""
        except KeyboardInterrupt:
            stopped = "interrupted"
        return replace(self._so_far(), stopped=stopped)

    def _so_far(self) -> Comparison:
        return replace(self.start, records=list(self.records))

    def _run(self) -> None:
        plan = self._plan()
        limited = np.isfinite(self.deadline)
        n_jobs = effective_n_jobs(1 if self.n_jobs is None else self.n_jobs)
        X = self.outer.bags.X
        elsewhere = isinstance(X, RowStore) and not X.is_here  # where the work is done, too
        if elsewhere or (n_jobs == 1 and not limited):
            for cell in plan:
                if time.monotonic() >= self.deadline:
                    break
                self._keep(cell, self.outer.judge(cell))
            return
        if limited:
            equal = (self.deadline - time.monotonic()) * n_jobs / len(self.start.models)
            shortest = _SHORTEST * max(1.0, self.outer.bags.n_instances / MANY_TO_READ)
            self.share = max(shortest, _SHARES * equal / self.outer.protocol.cv)
        X = for_processes(X, is_finite=self.outer.protocol.impute is None)
        outer = replace(self.outer, bags=self.outer.bags.replace(X=X))
        with Workers(judged, outer, n_jobs) as workers:
            for cell, result in workers.run(
                lambda: self._next(plan), lambda _: self.share, self.deadline
            ):
                self.running.remove(cell)
                if not isinstance(result, Stopped):
                    self._keep(cell, result)
                elif result.died is None:
                    self.slow.append(cell.name)
                else:
                    self._keep(cell, _died(cell, result.died))

    def _next(self, plan: Iterator[Cell | None]) -> Cell | None:
        cell = next(plan, None)
        if cell is not None:
            self.running.append(cell)
        return cell

    def _keep(self, cell: Cell, record: dict[str, Any]) -> None:
        self.records.append(record)
        if self.kept is not None:
            self.kept.file.append(record)
        self.callback(self._so_far())

    # What comes next ------------------------------------------------------------------------------

    def _plan(self) -> Iterator[Any]:
        """Yield cells; None means: ask again when one of the running cells has ended."""
        names = list(self.start.models)
        while names:
            self.slow = []
            yield from self._repeat(names, 0)
            names = [name for name in names if name in self.slow]
            self.share *= _PATIENCE
            if self.share > self.deadline - time.monotonic():
                break
        self.share = np.inf
        for repeat in range(1, self.n_repeats):
            groups = self._so_far().groups
            yield from self._repeat(list(groups[0]) if groups else [], repeat)

    def _repeat(self, names: list[str], repeat: int) -> Iterator[Cell | None]:
        """Yield the cells of one repeat that are not done, then wait for the last ones."""
        done = {(r["model"], r["repeat"], r["fold"]) for r in self.records if "scores" in r}
        for name in names:
            for fold in range(self.outer.protocol.cv):
                out = name in self.slow or self._failed(name)
                if not out and (name, repeat, fold) not in done:
                    yield Cell(name, self.start.models[name], repeat, fold)
        while self.running:
            yield None

    def _failed(self, name: str) -> bool:
        """Whether a fold of this model failed: the others would, too."""
        return any(record["model"] == name and "failure" in record for record in self.records)


def _died(cell: Cell, status: int) -> dict[str, Any]:
    memory = ", probably for lack of memory" if status == -signal.SIGKILL else ""
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    failure = f"its process ended ({how}{memory})"
    head = {"model": cell.name, "code": repr(cell.model), "repeat": cell.repeat, "fold": cell.fold}
    return {**head, "failure": failure, "warned": [], "seconds": 0.0}
