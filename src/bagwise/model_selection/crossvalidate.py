"""How well one model does on bags it has not seen: cross-validation, and what is chosen by it.

`cross_validate_bags` leaves bags out, `transductive_cv` hides their labels only, and
`choose_positive` tells which of two classes is the positive one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring, roc_auc_score

from bagwise._removed import mark_removed_methods
from bagwise._typing import Array
from bagwise.bags import Bags, check_bags
from bagwise.crossfit import fit_folds, folds, in_order, out_of_fold_scores
from bagwise.crossfit.sites import leave_sites_out, meet_site, site_of_units
from bagwise.errors import message_of
from bagwise.estimators.tags import configure, last_step
from bagwise.measures import evaluate_model
from bagwise.metrics import bag_report
from bagwise.model_selection.scaling import with_scaler
from bagwise.model_selection.search import FOLDS
from bagwise.models.ordinal import order_of_categories
from bagwise.times import check_times

_TIE = 0.01  # of AUC: less says nothing, and models that treat classes alike differ by rounding


@dataclass(frozen=True)
class CrossValidation:
    """The metrics of every fold, and what the fits warned of.

    Parameters
    ----------
    folds : list of dict
        One report per fold, as `bagwise.metrics.bag_report` returns it.
    warned : list of str
        The warnings of all fits.

    Examples
    --------
    >>> from bagwise.model_selection import CrossValidation
    >>> result = CrossValidation([{"auc": 0.75}, {"auc": 1.0}, {"auc": float("nan")}], [])
    >>> result.summary()
    {'auc': {'mean': 0.875, 'error': 0.125}}
    """

    folds: list[dict[str, float]]
    warned: list[str]

    def summary(self) -> dict[str, dict[str, float | None]]:
        """Return the mean over folds of each metric, and its standard error.

        Returns
        -------
        dict of str to dict
            "mean" and "error" by metric; None where too few folds define it.
        """
        summary: dict[str, dict[str, float | None]] = {}
        for name in dict.fromkeys(name for fold in self.folds for name in fold):
            given = np.array([fold.get(name, np.nan) for fold in self.folds], dtype=float)
            values = given[np.isfinite(given)]  # not all folds may define it
            several = len(values) > 1
            summary[name] = {
                "mean": float(values.mean()) if len(values) else None,
                "error": float(values.std(ddof=1) / np.sqrt(len(values))) if several else None,
            }
        return summary


mark_removed_methods(CrossValidation)


def cross_validate_bags(
    estimator: Any,
    bags: Any,
    y: Any,
    *,
    cv: int | str | list[tuple[Array, Array]] = 10,
    n_repeats: int = 1,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callable[[], Any] = lambda: None,
) -> CrossValidation:
    """Judge an estimator by cross-validation, with every metric that it and the bags allow.

    Folds are stratified by label and keep ``bags.groups`` together. Whatever the estimator learns
    (scaling in a pipeline, threshold, probabilities) it learns in the training part of each fold.

    Parameters
    ----------
    estimator : bag estimator, or a Pipeline or search that ends in one
        Cloned for every fit.
    bags : Bags, or anything check_bags takes
        The data.
    y : array-like of shape (n_bags,)
        Labels of the bags: classes, numbers, grades, or events and times.
    cv : int, "sites" or list of (train, test), default=10
        Number of folds, or the folds themselves; "sites" leaves out those of ``bags.sites`` one by
        one.
    n_repeats : int, default=1
        How many times the bags are divided into folds, each time differently.
    random_state : int, default=0
        Seed of the first folds; repeat ``r`` uses ``random_state + r``.
    n_jobs : int, default=None
        Number of folds fitted at the same time.
    callback : callable, default=nothing
        Called without arguments after each fold.

    Returns
    -------
    CrossValidation
        The reports of all folds.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import cross_validate_bags
    >>> bags, y = make_gaussian_bags(n_bags=40, shift=4.0, random_state=0)
    >>> result = cross_validate_bags(WitnessSVC(kernel="linear"), bags, y, cv=4)
    >>> len(result.folds), round(result.summary()["auc"]["mean"], 2)
    (4, 0.98)
    """
    bags, task = check_bags(bags, finite=False), getattr(last_step(estimator), "task", "classes")
    ordered = task in ("numbers", "times")
    if task == "grades" and (order := order_of_categories(y)) is not None:
        estimator = configure(clone(estimator), order=list(order))  # arrays forget it
    y = check_times(y, bags.ids).as_array() if task == "times" else np.asarray(y)
    of_task = bag_report if task == "classes" else _report_values
    if cv == "sites":
        site_of_units(bags)  # a patient at two sites is an error
        estimator, splits = leave_sites_out(estimator, bags, y, ordered=ordered)
        if not splits:
            raise ValueError("Without any one site, a class has no bags: no site can be left out.")
    else:
        splits = cv if isinstance(cv, list) else [
            split
            for r in range(n_repeats)
            for split in folds(bags, y, cv, random_state + r, name=FOLDS, ordered=ordered)
        ]  # fmt: skip

    def judge(model: Any, held_out: Bags, labels: Array) -> dict[str, float]:
        if cv == "sites":
            meet_site(model, held_out)
        return of_task(model, held_out, labels)

    parallel: dict[str, Any] = {"n_jobs": n_jobs, "return_as": "generator"}
    weight = np.ones(len(y))
    results = fit_folds(
        estimator, bags, y, weight, splits, judge, around=_with_warnings, **parallel
    )
    reports, warned = [], []
    for report, messages in results:
        reports.append(report)
        warned += messages
        callback()
    return CrossValidation(reports, warned)


def _report_values(model: Any, bags: Bags, y: Array) -> dict[str, float]:
    """Return the metrics of numbers, grades or times, but calibrations: folds differ in times."""
    found = evaluate_model(model, bags, y).items()
    return {name: value for name, (value, *_) in found if not name.startswith("calibration_")}


def _with_warnings(fold: Callable[..., Any]) -> Callable[..., tuple[Any, list[str]]]:
    """Let a function also return its warnings, which would be lost in a worker process."""

    def record(*split: Array) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fold(*split)
        return result, [message_of(warning.message) for warning in caught]

    return record


def transductive_cv(
    estimator: Any,
    bags: Any,
    y: Any,
    *,
    unlabeled: Any = None,
    cv: Any = 5,
    scoring: Any = None,
    n_jobs: int | None = None,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Cross-validate an estimator that sees the test bags without their labels.

    Where test bags take part in learning, as linked web pages do, leaving them out would evaluate
    another method. The held-out bags of every fold stay in the fit as ``unlabeled``.

    Parameters
    ----------
    estimator : object
        Its ``fit`` takes ``unlabeled`` bags, as that of `GraphSVC` does.
    bags : Bags, or anything check_bags takes
        Labeled bags.
    y : array-like of shape (n_bags,)
        Their labels.
    unlabeled : Bags, default=None
        Further bags without labels, in every fit.
    cv : int, splitter of scikit-learn or iterable, default=5
        Folds; a number of folds is stratified and keeps ``bags.groups`` together.
    scoring : str, callable or None, default=None
        As in scikit-learn; the estimator's own ``score`` when not given.
    n_jobs : int, default=None
        Number of folds fitted at the same time.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Returns
    -------
    dict
        ``test_score`` (one per fold), ``decision`` (one row per bag, from the fit that did not see
        its label) and ``estimator`` (the fitted ones).

    Examples
    --------
    >>> from bagwise import Graph, GraphSVC
    >>> from bagwise.datasets import make_graph_bags
    >>> from bagwise.model_selection import transductive_cv
    >>> data = make_graph_bags(60, homophily=1.0, random_state=0)
    >>> graph = Graph.from_edges(data.edges, directed=True)
    >>> result = transductive_cv(GraphSVC(bag_graph=graph, mu=10.0), data.bags, data.y, cv=3)
    >>> len(result["test_score"])
    3
    """
    bags, y = check_bags(bags), np.asarray(y)
    scorer, splits = check_scoring(estimator, scoring), folds(bags, y, cv, random_state)

    def fit(model: Any, train: Array, test: Array) -> None:
        hidden = bags[test] if unlabeled is None else Bags.concat([bags[test], unlabeled])
        model.fit(bags[train], y[train], unlabeled=hidden)

    def judge(model: Any, held_out: Bags, truth: Array) -> tuple[float, Array, Any]:
        return scorer(model, held_out, truth), model.decision_function(held_out), model

    results = fit_folds(estimator, bags, y, None, splits, judge, fit=fit, n_jobs=n_jobs)
    scores, decisions, models = zip(*results, strict=True)
    return {
        "test_score": np.array(scores),
        "decision": in_order(decisions, splits),
        "estimator": list(models),
    }


@dataclass(frozen=True)
class PositiveChoice:
    """A positive class, and the AUC on held-out bags with each class as the positive one.

    Parameters
    ----------
    label : object
        The class.
    aucs : dict of object to float
        By class.

    Examples
    --------
    >>> from bagwise.model_selection import PositiveChoice
    >>> print(PositiveChoice("mut", {"mut": 1.0, "wt": 0.46}))
    mut is taken as the positive class (cross-validated AUC: mut 1.000, wt 0.460)
    """

    label: Any
    aucs: dict[Any, float]

    def __str__(self) -> str:
        aucs = ", ".join(f"{label} {auc:.3f}" for label, auc in self.aucs.items())
        one, other = self.aucs.values()
        close = "; both do equally well" if abs(one - other) < _TIE else ""
        return f"{self.label} is taken as the positive class (cross-validated AUC: {aucs}{close})"


def choose_positive(
    model: Any,
    bags: Any,
    y: Any,
    *,
    scaler: Any = None,
    cv: int = 3,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> PositiveChoice:
    """Try both classes as the positive one, and take the one whose model ranks bags better.

    Parameters
    ----------
    model : BagClassifier
        Cloned for every fit, with either class as its ``pos_label``.
    bags : Bags, or anything check_bags takes
        The training bags.
    y : array-like of shape (n_bags,)
        Their labels, of two classes.
    scaler : transformer of bags, default=None
        Fitted before the model on the training part of each fold.
    cv : int, default=3
        Number of folds.
    random_state : int, default=0
        Seed of the folds.
    n_jobs : int, default=None
        Number of folds fitted at the same time.

    Returns
    -------
    PositiveChoice
        The class; the second one where both do equally well, as for models that treat both alike.

    Examples
    --------
    >>> import numpy as np
    >>> from bagwise import WitnessSVC
    >>> from bagwise.datasets import make_gaussian_bags
    >>> from bagwise.model_selection import choose_positive
    >>> bags, y = make_gaussian_bags(n_bags=60, shift=4.0)
    >>> choose_positive(WitnessSVC(kernel="linear"), bags, np.array(["wt", "mut"])[y]).label
    'mut'
    """
    bags, y = check_bags(bags, finite=False), np.asarray(y)
    classes = np.unique(y)
    if len(classes) != 2:
        raise ValueError(f"A positive class is one of two; there are {len(classes)} classes.")
    splits = folds(bags, y, cv, random_state, name=FOLDS)
    aucs = {}
    for label in classes.tolist():
        candidate = with_scaler(clone(model).set_params(pos_label=label), scaler)
        scores = out_of_fold_scores(candidate, bags, y, None, splits, n_jobs)
        aucs[label] = float(roc_auc_score(y == classes[1], scores))
    first, second = aucs
    return PositiveChoice(first if aucs[first] > aucs[second] + _TIE else second, aucs)
