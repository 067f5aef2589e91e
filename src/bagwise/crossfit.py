"""Out-of-fold scores of any bag estimator, and what is made of them: thresholds, probabilities.

The model that is kept sees all bags; the scores come from copies that did not see the bag they
score. Folds are stratified by class and never split a group of ``bags.groups``.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv

from bagwise.bags import Bags

__all__ = ["SigmoidScale", "best_threshold", "folds", "out_of_fold_scores"]

Array = NDArray[Any]


def folds(bags: Bags, codes: Array, cv: Any, random_state: Any) -> list[tuple[Array, Array]]:
    """Return stratified folds of the bags that keep groups together.

    Parameters
    ----------
    bags : Bags
        The training bags.
    codes : ndarray of int of shape (n_bags,)
        Class numbers.
    cv : int, splitter of scikit-learn, or iterable of (train, test) bag numbers
        Number of folds, or the folds themselves.
    random_state : int, RandomState or None
        Seed of the shuffle.

    Returns
    -------
    list of (ndarray, ndarray)
        Train and test bag numbers.
    """
    if not isinstance(cv, Integral):
        return list(check_cv(cv, codes, classifier=True).split(codes, codes, bags.groups))
    n_splits = int(cv)
    unit = np.arange(len(bags)) if bags.groups is None else bags.groups
    for code in np.unique(codes):
        members = len(np.unique(unit[codes == code]))
        if members < n_splits:
            what = "bags" if bags.groups is None else "groups"
            raise ValueError(
                f"Class number {code} has {members} {what}, fewer than the {n_splits} inner folds "
                f"that threshold='calibrated' or probability='sigmoid' need. Lower cv to "
                f"{max(members, 2)} or bring more {what}."
            )
    if bags.groups is None:
        splitter = StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    else:
        splitter = StratifiedGroupKFold(n_splits, shuffle=True, random_state=random_state)
    return list(splitter.split(np.zeros(len(bags)), codes, groups=bags.groups))


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
    estimator : BagClassifier
        Cloned for every fold.
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
        Decision values.
    """

    def held_out(train: Array, test: Array) -> Array:
        model = clone(estimator).fit(bags[train], y[train], sample_weight=sample_weight[train])
        return model.decision_function(bags[test])

    parts = Parallel(n_jobs=n_jobs)(delayed(held_out)(*split) for split in splits)
    scores = np.empty((len(bags), *parts[0].shape[1:]))
    for (_, test), part in zip(splits, parts, strict=True):
        scores[test] = part
    return scores


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
