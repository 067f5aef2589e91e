"""Which model suits given bags: nested cross-validation over many models, at any time.

All models see the same folds, which keep ``bags.groups`` together (see `nested`). Models that cost
little come first; every finished fold counts at once and is kept in a file, so that the table so
far is there when time is up, or when the run is interrupted or killed (see `runner`). Models that
are clearly behind the best after one repeat of the folds are not repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from bagwise._removed import refuse_value
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import check_enough_bags
from bagwise.crossfit.folds import number_folds
from bagwise.errors import Message, Parameter, suggestion
from bagwise.estimators.covariates import covariate_settings
from bagwise.estimators.input import order_is_meaning, read_task, warn_of_unclear
from bagwise.io._records import ResultsError
from bagwise.kernels import memory_limit
from bagwise.model_selection.candidates import adapt_to, by_names, candidates
from bagwise.model_selection.clock import Deadline, Probe
from bagwise.model_selection.comparison import Comparison
from bagwise.model_selection.intervals import OF_TASKS, PARTS, RATES, Sample
from bagwise.model_selection.nested import INNER_FOLDS, NestedCell, OuterFolds, Protocol, identify
from bagwise.model_selection.runner import Runner, Store, hash_data
from bagwise.model_selection.scaling import scalings, settle_scale, with_scaler
from bagwise.model_selection.search import FOLDS
from bagwise.models.ordinal import needs_order, number_grades, order_of_categories, sort_grades
from bagwise.models.statistics import StatisticsForestRegressor, StatisticsLogistic
from bagwise.rowstores import RowStore
from bagwise.rowstores.cluster import for_processes
from bagwise.times import check_times

POSITIVE = Parameter("pos_label", "")
RESULTS = "comparison.jsonl"
COVARIATES = "covariates"  # the model of covariates alone


def compare(
    bags: Any,
    y: Any,
    models: Any = None,
    *,
    task: str | None = None,
    metric: str | None = None,
    cv: int = 5,
    inner_cv: int = 3,
    n_repeats: int = 3,
    scale: str | None = "auto",
    impute: str | None = None,
    pos_label: Any = None,
    covariates: bool = False,
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
        Labels of the bags: classes, numbers, grades that are numbers or ordered categories, or
        events and times.
    models : dict of str to estimator, or list of str, default=None
        Models by name, or names of methods as `bagwise.by_paper_name` knows them, with the linear
        kernel above 50,000 instances. All methods that make sense for the bags when None (see
        `candidates`), those that cost little first.
    task : {"classes", "numbers", "grades", "times"}, default=None
        What the labels are; None reads it from them, and takes grades as classes. Of grades and
        times, the name of a classifier stands for its copies at all thresholds
        (`OrdinalBagClassifier`, `BagSurvival`).
    metric : str, default=None
        The metric to choose and rank by: of classes "auc" (None), "accuracy" or
        "balanced_accuracy", of two classes also "sensitivity" and "specificity". Numbers have
        "r2", grades "kappa", times "harrell_c".
    cv, inner_cv : int, default=5, 3
        Number of outer folds, which judge, and of inner folds, which choose.
    n_repeats : int, default=3
        How many times the bags are divided into outer folds; models that are clearly behind after
        one repeat are not repeated.
    scale : {"auto", "raw", "standard", "robust", "quantile", "search"} or None, default="auto"
        How features are scaled, by the training part of each fold. "auto" standardizes where the
        spreads of features differ by more than a factor of 100, unless 30 % of the values are
        zero; "search" chooses with the parameters, for each model; None is "raw".
    impute : {"median", "mean", "most_frequent", "zero"} or None, default=None
        What replaces missing values, by the training part of each fold; None refuses them.
    pos_label : object, default=None
        The positive label, for models that have such a parameter.
    covariates : bool, default=False
        Let models that can also learn from ``bags.bag_features``, such as age and stage, and add a
        model of those alone, "covariates" (of classes and numbers).
    time_limit : float, default=None
        Seconds after which to stop, with what was found until then. The limit is soft: a fit that
        is under way may end a little later. Models that would not finish in time are left out,
        and ``left_out`` says why.
    out : str or Path, default=None
        Folder in which every result is kept as it comes. The same call resumes what is in it.
    random_state : int, default=0
        Seed of the folds; repeat ``r`` uses ``random_state + r``.
    n_jobs : int, default=None
        Number of folds that are judged at the same time; -1 is one per core.
    callback : callable, default=nothing
        Called with the comparison so far after each outer fold, and before the first one of a
        model, where ``ahead`` says what the model would need.

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
    deadline = Deadline.after(time_limit)
    bags, task = check_bags(bags, finite=impute is None or "allow-nan"), task or read_task(y)
    scale, y = settle_scale(bags, scale), _check_labels(bags, y, task)
    metric = metric or OF_TASKS.get(task, "auc")
    outer = OuterFolds(bags, y, Protocol(cv, inner_cv, metric, scale, random_state, impute))
    _check(outer, n_repeats, task)
    positive = _positive(y, pos_label) if task == "classes" else None
    chosen, left_out = _models(models, bags, y, positive, task, covariates)
    classes = np.unique(y) if task == "classes" else np.empty(0)
    sample = Sample(y, classes, cv, bags.groups, positive, task)
    folds = [number_folds(outer.splits(repeat)) for repeat in range(n_repeats)]
    start = Comparison(chosen, [], sample, folds, outer.protocol, left_out)
    with ExitStack() as stack:
        store = None if out is None else _open_store(Path(out), outer, stack)
        runner = _make_runner(outer, chosen, n_jobs, store=store, deadline=deadline)
        return _Run(start, outer, runner, callback).finish()


def _check_labels(bags: Bags, y: Any, task: str) -> Array:
    """Return labels as an array: events and times with their names, grades as numbers."""
    if task == "times":
        return check_times(y, bags.ids).as_array()
    order, y = order_of_categories(y), np.asarray(y)
    if task != "grades" or y.dtype.kind in "iufb":
        return y
    if order is None and needs_order(np.unique(y).tolist()):
        raise ValueError("Grades that are text have no order: pass ordered categories, or numbers.")
    return number_grades(y, sort_grades(y, order))


def _check(outer: OuterFolds, n_repeats: int, task: str) -> None:
    """Refuse what cannot work before anything is fitted."""
    rules, y = outer.protocol, outer.y
    refuse_value(compare, "metric", rules.metric)
    if rules.metric not in PARTS:
        hint = suggestion(rules.metric, PARTS)
        raise ValueError(f"There is no metric {rules.metric!r} to compare by. {hint}")
    if rules.task != task:
        raise ValueError(f"{rules.metric} is a metric of {rules.task}, and the labels are {task}.")
    if rules.metric in RATES and len(np.unique(y)) > 2:
        raise ValueError(f"{rules.metric} needs two classes, there are {len(np.unique(y))}.")
    if n_repeats < 1:
        raise ValueError(f"n_repeats must be at least 1, got {n_repeats}.")
    if len(y) != len(outer.bags):
        raise ValueError(f"y has {len(y)} labels, there are {len(outer.bags)} bags.")
    scalings(outer.bags, rules.scale, impute=rules.impute)
    if task != "classes":
        outer.splits(0)  # refuses more folds than bags
        return
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
    models: Any, bags: Bags, y: Array, pos_label: Any, task: str, covariates: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    left_out: dict[str, str] = {}
    if models is None:
        models, left_out = candidates(bags, len(np.unique(y)) if task == "classes" else 2, task)
    elif not isinstance(models, dict):
        models = by_names(models, bags)
    if not models:
        raise ValueError("Give at least one model to compare.")
    models = {name: clone(adapt_to(task, model)) for name, model in models.items()}
    if covariates:
        alone = {"classes": StatisticsLogistic, "numbers": StatisticsForestRegressor}
        if task in alone:
            models[COVARIATES] = alone[task](statistics="none")
        for model in models.values():
            model.set_params(**covariate_settings(model))
    for model in models.values():
        if pos_label is not None and "pos_label" in model.get_params(deep=False):
            model.set_params(pos_label=pos_label)
    return models, left_out


# The results in a folder --------------------------------------------------------------------------


def _open_store(folder: Path, outer: OuterFolds, stack: ExitStack) -> Store:
    """Open the folder of a comparison; refuse one of other data or another protocol."""
    data = hash_data(outer.bags, outer.y.tolist(), outer.bags.groups)
    head = {"data": data, **asdict(outer.protocol)}
    store = stack.enter_context(Store(folder / RESULTS, identify))
    heads = [record["comparison"] for record in store.heads if "comparison" in record]
    if not heads and (store.heads or store.records):
        raise ResultsError(f"{folder / RESULTS} holds no comparison: name another folder.")
    if heads and heads[0] != head:
        what = _differences(heads[0], head)
        raise ResultsError(f"{folder} holds a comparison of {what}: name another folder.")
    if not heads:
        store.append({"comparison": head})
    return store


def _differences(theirs: dict[str, Any], ours: dict[str, Any]) -> str:
    names = [name for name, value in ours.items() if theirs.get(name) != value]
    named = [f"{n}={theirs.get(n)!r} instead of {ours[n]!r}" for n in names if n != "data"]
    return " and ".join(["other data"] * ("data" in names) + named)


# The run ------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """A comparison under way: the runner, and what it found so far."""

    start: Comparison
    outer: OuterFolds
    runner: Runner
    callback: Callable[[Comparison], Any]
    records: list[dict[str, Any]] = field(default_factory=list)

    def finish(self) -> Comparison:
        """Run everything, or until time is up or the user interrupts."""
        stopped, self.runner.announce = "", self._announce
        try:
            for repeat in range(len(self.start.folds)):
                self._run_repeat(repeat)
        except KeyboardInterrupt:
            stopped = "interrupted"
        found = self._summarize()
        left_out = {name: why for name, why in found.left_out.items() if name not in found.results}
        stopped = stopped or "time" * (not self.runner.in_time)
        return replace(found, left_out=left_out, stopped=stopped)

    def _announce(self, name: str, seconds: float) -> None:
        self.callback(replace(self._summarize(), ahead=(name, seconds)))

    def _summarize(self) -> Comparison:
        """Return the comparison so far."""
        left_out = {**self.start.left_out, **self.runner.left_out}
        return replace(self.start, records=list(self.records), left_out=left_out)

    def _run_repeat(self, repeat: int) -> None:
        """Judge all models, after the first repeat those that are tied with the best."""
        groups = self._summarize().groups if repeat else [tuple(self.start.models)]
        cells = [
            NestedCell(name, self.start.models[name], repeat, fold)
            for name in (groups[0] if groups else ())
            for fold in range(self.outer.protocol.cv)
        ]
        self.records += [record for _, record in self.runner.recall(cells)]
        for _, record in self.runner.run(cells):
            self.records.append(record)
            self.callback(self._summarize())


def _make_runner(
    outer: OuterFolds, models: dict[str, Any], n_jobs: int | None, **settings: Any
) -> Runner:
    X = outer.bags.X
    if isinstance(X, RowStore) and not X.is_here:
        n_jobs = 1  # the work is done where the rows are
    n_workers = effective_n_jobs(1 if n_jobs is None else n_jobs)
    if n_workers > 1:
        X = for_processes(X, is_finite=outer.protocol.impute is None)
        outer = replace(outer, bags=outer.bags.replace(X=X))
    memory, rules = memory_limit() / n_workers, outer.protocol
    scaler = next(iter(scalings(outer.bags, rules.scale, impute=rules.impute).values()))
    probes = {
        name: Probe(
            with_scaler(model, scaler), outer.bags, outer.y, outer.count_fits(model), memory
        )
        for name, model in models.items()
    }
    return Runner(OuterFolds.judge, lambda _: outer, n_jobs=n_jobs, probes=probes, **settings)
