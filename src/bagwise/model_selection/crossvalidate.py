"""How well one model does on bags it has not seen: repeated cross-validation, every metric."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import check_bags
from bagwise.crossfit import fit_folds, folds
from bagwise.errors import Argument, message_of
from bagwise.metrics import bag_report


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
    >>> result.values("auc"), result.summary()
    (array([0.75, 1.  ]), {'auc': {'mean': 0.875, 'error': 0.125}})
    """

    folds: list[dict[str, float]]
    warned: list[str]

    def values(self, metric: str) -> Array:
        """Return a metric's values, without those of folds that do not define it.

        Parameters
        ----------
        metric : str
            Its name.

        Returns
        -------
        ndarray of shape (n_folds,)
            At most one value per fold.
        """
        given = np.array([fold.get(metric, np.nan) for fold in self.folds], dtype=float)
        return given[np.isfinite(given)]

    def summary(self) -> dict[str, dict[str, float | None]]:
        """Return the mean over folds of each metric, and its standard error.

        Returns
        -------
        dict of str to dict
            "mean" and "error" by metric; None where too few folds define it.
        """
        summary: dict[str, dict[str, float | None]] = {}
        for name in dict.fromkeys(name for fold in self.folds for name in fold):
            values = self.values(name)
            several = len(values) > 1
            summary[name] = {
                "mean": float(values.mean()) if len(values) else None,
                "error": float(values.std(ddof=1) / np.sqrt(len(values))) if several else None,
            }
        return summary


def cross_validate_bags(
    estimator: Any,
    bags: Any,
    y: Any,
    *,
    cv: int = 10,
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
    estimator : BagClassifier, or a Pipeline or search that ends in one
        Cloned for every fit.
    bags : Bags, or anything check_bags takes
        The data.
    y : array-like of shape (n_bags,)
        Labels of the bags.
    cv : int, default=10
        Number of folds.
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
    bags, y = check_bags(bags, finite=False), np.asarray(y)
    splits = [
        split
        for r in range(n_repeats)
        for split in folds(bags, y, cv, random_state + r, name=Argument("cv", ""))
    ]
    results = fit_folds(
        estimator,
        bags,
        y,
        np.ones(len(y)),
        splits,
        bag_report,
        around=_with_warnings,
        n_jobs=n_jobs,
        return_as="generator",
    )
    reports, warned = [], []
    for report, messages in results:
        reports.append(report)
        warned += messages
        callback()
    return CrossValidation(reports, warned)


def _with_warnings(fold: Callable[..., Any]) -> Callable[..., tuple[Any, list[str]]]:
    """Let a function also return its warnings, which would be lost in a worker process."""

    def recorded(*split: Array) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = fold(*split)
        return result, [message_of(warning.message) for warning in caught]

    return recorded
