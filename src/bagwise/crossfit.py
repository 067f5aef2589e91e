"""Out-of-fold scores of any bag estimator, and what is made of them: thresholds, probabilities.

The model that is kept sees all bags; the scores come from copies that did not see the bag they
score. Folds are stratified by class and never split a group of ``bags.groups``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    RandomizedSearchCV,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from bagwise._checks import as_indices
from bagwise._factorize import factorize
from bagwise.bags import Bags

__all__ = [
    "SigmoidScale",
    "bag_scores",
    "best_threshold",
    "check_enough_bags",
    "fit_weighted",
    "folds",
    "out_of_fold_scores",
]

Array = NDArray[Any]


def folds(
    bags: Bags, y: Array, cv: Any, random_state: Any, used: Array | None = None
) -> list[tuple[Array, Array]]:
    """Return folds of the bags; a number of folds is stratified and keeps groups together.

    Parameters
    ----------
    bags : Bags
        The training bags.
    y : ndarray of shape (n_bags,)
        Their labels.
    cv : int, splitter of scikit-learn, iterable of (train, test) bag numbers, or None
        Number of folds (5 when None), or the folds themselves.
    random_state : int, RandomState or None
        Seed of the shuffle, where ``cv`` is a number.
    used : ndarray of bool of shape (n_bags,), default=None
        Which bags take part; all when not given.

    Returns
    -------
    list of (ndarray, ndarray)
        Train and test numbers, counted among the bags that take part.
    """
    used = np.ones(len(bags), dtype=bool) if used is None else used
    if cv is None or isinstance(cv, Integral):
        splits = _numbered_folds(bags[used], y[used], 5 if cv is None else int(cv), random_state)
    else:
        number = np.cumsum(used) - 1
        every = check_cv(cv).split(np.zeros(len(bags)), y, _group_numbers(bags))
        parts = [[as_indices(part, len(bags)) for part in split] for split in every]
        splits = [(number[a[used[a]]], number[b[used[b]]]) for a, b in parts]
    _check_folds(splits, y[used])
    return splits


def check_enough_bags(bags: Bags, y: Array, cv: Any, levels: int = 1) -> None:
    """Refuse bags that are too few for their folds, before anything long is fitted.

    Parameters
    ----------
    bags : Bags
        The training bags.
    y : ndarray of shape (n_bags,)
        Their labels.
    cv : object
        As in `folds`; only a number of folds is checked.
    levels : int, default=1
        How many times folds are made within the training part of folds, the first time included.
    """
    if not (cv is None or isinstance(cv, Integral)):
        return
    n_splits, groups = 5 if cv is None else int(cv), _group_numbers(bags)
    unit, what = (np.arange(len(bags)), "bags") if groups is None else (groups, "groups")
    for label in np.unique(y) if levels else []:
        members = len(np.unique(unit[y == label]))
        if not _suffices(members, n_splits, levels):
            within = f", which are made {levels} times within each other" if levels > 1 else ""
            few = "fewer than" if members < n_splits else "too few for"
            raise ValueError(
                f"Class {_plain(label)!r} has {members} {what}, {few} the {n_splits} inner folds "
                f"of cv{within}. {_remedy(members, what, n_splits, levels)}"
            )


def _suffices(members: int, n_splits: int, levels: int) -> bool:
    """Say whether every fold of every level can hold one out and train on the others."""
    for _ in range(levels):
        if members < n_splits:
            return False
        members -= -(-members // n_splits)  # the largest fold is held out
    return True


def _remedy(members: int, what: str, n_splits: int, levels: int) -> str:
    fewer = [k for k in range(2, n_splits) if _suffices(members, k, levels)]
    if fewer:
        return f"Lower cv to {fewer[-1]} or bring more {what} of that class."
    enough = next(m for m in count(2) if _suffices(m, 2, levels))
    return f"Bring more {what} of that class: even cv=2 needs {enough}."


def _numbered_folds(
    bags: Bags, y: Array, n_splits: int, random_state: Any
) -> list[tuple[Array, Array]]:
    check_enough_bags(bags, y, n_splits)
    groups = _group_numbers(bags)
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_splits, shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(len(bags)), y, groups))


def _group_numbers(bags: Bags) -> Array | None:
    # Groups may be of any hashable kind, which scikit-learn could not sort.
    return None if bags.groups is None else factorize(bags.groups)[0]


def _check_folds(splits: list[tuple[Array, Array]], y: Array) -> None:
    """Ask that every bag is held out once and every class is in every training part."""
    tests = np.concatenate([test for _, test in splits])
    if not np.array_equal(np.sort(tests), np.arange(len(y))):
        raise ValueError("The inner folds of cv must hold out every bag exactly once.")
    for i, (train, _) in enumerate(splits):
        missing = np.setdiff1d(y, y[train])
        if len(missing):
            raise ValueError(
                f"Inner fold {i} trains without class {_plain(missing[0])!r}: all its bags are "
                "held out together. Lower cv, or bring more groups of that class."
            )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def out_of_fold_scores(
    estimator: Any,
    bags: Bags,
    y: Array,
    sample_weight: Array,
    splits: list[tuple[Array, Array]],
    n_jobs: int | None = None,
) -> Array:
    """Score every bag by a copy of the estimator that was fitted without it.

    Parameters
    ----------
    estimator : bag estimator
        Cloned for every fold; also a pipeline, search or calibration of one.
    bags : Bags
        The training bags.
    y : ndarray of shape (n_bags,)
        Their labels.
    sample_weight : ndarray of shape (n_bags,)
        One weight a bag.
    splits : list of (ndarray, ndarray)
        As `folds` returns.
    n_jobs : int, default=None
        Folds fitted at the same time.

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_classes)
        As `bag_scores` returns.
    """

    def held_out(train: Array, test: Array) -> Array:
        model = fit_weighted(clone(estimator), bags[train], y[train], sample_weight[train])
        return bag_scores(model, bags[test])

    parts = Parallel(n_jobs=n_jobs)(delayed(held_out)(*split) for split in splits)
    scores = np.empty((len(bags), *parts[0].shape[1:]))
    for (_, test), part in zip(splits, parts, strict=True):
        scores[test] = part
    return scores


def fit_weighted(estimator: Any, bags: Bags, y: Array, sample_weight: Array) -> Any:
    """Fit any estimator of bags, which need not know weights where all are one.

    Parameters
    ----------
    estimator : bag estimator
        Fitted in place.
    bags : Bags
        The training bags.
    y : ndarray of shape (n_bags,)
        Their labels.
    sample_weight : ndarray of shape (n_bags,)
        One weight a bag.

    Returns
    -------
    estimator
        The same.
    """
    if np.all(sample_weight == 1):
        return estimator.fit(bags, y)
    name = _weight_parameter(estimator)
    if name is None:
        raise ValueError(
            f"{estimator!r} takes no sample_weight in fit, and the bags have weights (of their own "
            "or by class_weight): choose an estimator whose fit takes sample_weight, or leave the "
            "weights away."
        )
    return estimator.fit(bags, y, **{name: sample_weight})


def _weight_parameter(estimator: Any) -> str | None:
    """Return what fit calls the weights; pipelines and searches hand them on to a part."""
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = _weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    if isinstance(estimator, GridSearchCV | RandomizedSearchCV):
        return _weight_parameter(estimator.estimator)
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def bag_scores(model: Any, bags: Bags) -> Array:
    """Return decision values, or probabilities where a model has nothing else.

    Parameters
    ----------
    model : bag estimator
        Fitted.
    bags : Bags
        The bags.

    Returns
    -------
    ndarray of shape (n_bags,) or (n_bags, n_classes)
        One column for two classes.
    """
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(bags))
    chances = np.asarray(model.predict_proba(bags))
    return chances[:, 1] if chances.shape[1] == 2 else chances


def best_threshold(scores: Array, positive: Array, weight: Array) -> float:
    """Return the threshold of highest weighted accuracy.

    Candidates are the midpoints between neighbouring scores; of equally good ones the nearest to
    0 is taken.

    Parameters
    ----------
    scores : ndarray of shape (n_bags,)
        Decision values.
    positive : ndarray of bool of shape (n_bags,)
        Which bags are positive.
    weight : ndarray of shape (n_bags,)
        One weight a bag.

    Returns
    -------
    float
        Scores above it are called positive.
    """
    values = np.unique(scores)
    if len(values) < 2:
        return 0.0
    candidates = (values[1:] + values[:-1]) / 2
    order = np.argsort(scores, kind="stable")
    at = np.searchsorted(scores[order], candidates)
    lost = np.concatenate([[0.0], np.cumsum((weight * positive)[order])])[at]
    won = np.concatenate([[0.0], np.cumsum((weight * ~positive)[order])])[at]
    gain = won - lost
    best = candidates[gain >= gain.max() - 1e-12 * weight.sum()]
    return float(best[np.argmin(np.abs(best))])


@dataclass(frozen=True)
class SigmoidScale:
    """p(positive) = 1 / (1 + exp(-(slope score + offset))), fitted as Platt proposed.

    Targets are (n+ + 1) / (n+ + 2) and 1 / (n- + 2) instead of 1 and 0, so that separable scores
    give finite slopes.
    """

    slope: float
    offset: float

    @classmethod
    def fit(cls, scores: Array, positive: Array, weight: Array) -> SigmoidScale:
        """Fit to out-of-fold scores."""
        n_pos, n_neg = weight[positive].sum(), weight[~positive].sum()
        target = np.where(positive, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
        spread = float(scores.std()) or 1.0
        model = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000)
        model.fit(
            np.tile(scores / spread, 2)[:, None],
            np.repeat([1, 0], len(scores)),
            sample_weight=np.concatenate([weight * target, weight * (1 - target)]),
        )
        return cls(float(model.coef_[0, 0]) / spread, float(model.intercept_[0]))

    def __call__(self, scores: Array) -> Array:
        """Return the probability of the positive class."""
        return expit(self.slope * scores + self.offset)
