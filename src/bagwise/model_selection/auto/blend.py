"""From out-of-fold scores of candidates to the weights of an ensemble.

1. Every candidate's scores become log-odds L_m by a sigmoid that rises (Platt): a candidate that
   ranks held-out bags against their labels is left out, never turned around. Scores that are far
   out count as those of a fence, when the sigmoid is fitted and whenever it is applied.
2. Weights of M candidates on n bags (or groups) are those of least

       mean log loss of (sum_m w_m L_m) + .3 M / n |w - 1/M|^2,      w >= 0,  sum_m w_m = 1.

The ensemble's score is the weighted mean of log-odds. With K > 2 classes every candidate has K
columns of one-vs-rest log-odds, which share its slope and its weight.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from bagwise._typing import Array
from bagwise.crossfit import fit_sigmoids, lowest_by_chance
from bagwise.crossfit.scores import find_fences, is_flat

Risk = Callable[[Array], tuple[float, Array]]  # of weights, with its gradient
_PULL = 0.3  # toward equal weights, per candidate and bag: the least log loss of 110 nested fits
_SMALL = 0.05  # of weight: members near chance with less only cost time
_NEGLIGIBLE = 0.01  # of weight: any member with less does


@dataclass(frozen=True)
class Sigmoid:
    """Scores to log-odds: ``slope * (scores - midpoints)`` between fences, all one per column."""

    slope: float
    midpoints: Array
    fences: Array  # (2, columns): scores beyond count as these

    def __call__(self, scores: Array) -> Array:
        """Return log-odds, of the shape of the scores."""
        return self.slope * (np.clip(scores, *self.fences) - self.midpoints)


def calibrate(scores: Array, truth: Array, weight: Array) -> Sigmoid | None:
    """Fit a rising sigmoid to scores of shape (n, columns); None where they do not rise."""
    slope, midpoints = fit_sigmoids(scores, truth, weight)
    if is_flat(slope, scores):
        return None
    return Sigmoid(slope, midpoints, find_fences(scores, weight))


def area(scores: Array, truth: Array, weight: Array) -> float:
    """Return the mean over columns of the area under the ROC curve; 1/2 where it is undefined."""
    areas = [
        roc_auc_score(t, s, sample_weight=weight)
        for s, t in zip(scores.T, truth.T, strict=True)
        if 0 < weight @ t < weight.sum()
    ]
    return float(np.mean(areas)) if areas else 0.5


def _count_units(units: Array, weight: Array) -> float:
    """Return the number of groups, or of bags where each is its own: weight 2 is a bag twice."""
    n_units = len(np.unique(units[weight > 0]))
    return n_units if n_units < np.count_nonzero(weight) else float(weight.sum())


def shrink_weights(risk: Risk, n_candidates: int, n_units: float) -> Array:
    """Return weights that sum to one, of least risk plus the pull toward equal ones."""
    equal, pull = np.full(n_candidates, 1 / n_candidates), _PULL * n_candidates / n_units

    def objective(w: Array) -> tuple[float, Array]:
        (value, slopes), away = risk(w), w - equal
        return value + pull * float(away @ away), slopes + 2 * pull * away

    one = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like}
    bounds, tight = [(0.0, 1.0)] * n_candidates, {"ftol": 1e-12, "maxiter": 1000}
    found = minimize(objective, equal, jac=True, bounds=bounds, constraints=one, options=tight)
    return np.maximum(found.x, 0.0) / np.maximum(found.x, 0.0).sum()


@dataclass(frozen=True)
class Ensemble:
    """Candidates with a sigmoid each, and their weights; other tasks say what these stand for."""

    chosen: list[int]  # numbers of the candidates whose scores rise with the label
    sigmoids: list[Sigmoid]
    weights: Array

    hopeless: ClassVar[str] = (  # what is said where nothing rises
        "No model predicts held-out bags better than chance (the best has an area under the ROC "
        "curve of {:.2f}). The probabilities are the classes' frequencies. Check the labels, and "
        "which label is the positive one."
    )
    _flat: ClassVar[float] = 1.0  # the slope of a candidate that says nothing

    _calibrate: ClassVar[Callable[..., Sigmoid | None]] = staticmethod(calibrate)
    _judge: ClassVar[Callable[..., float]] = staticmethod(area)  # of one candidate, high is good

    @staticmethod
    def _chance(truth: Array, weight: Array) -> float:
        """Return what `_judge` may say of a candidate that says nothing."""
        counts = zip(weight @ truth, weight @ ~truth, strict=True)
        return 1 - float(np.mean([lowest_by_chance(*each) for each in counts]))

    @staticmethod
    def _base(truth: Array, weight: Array) -> Array:
        """Return what bags are given where nothing is known, one per column."""
        return np.zeros(truth.shape[1])

    @staticmethod
    def _risk(logs: Array, truth: Array, weight: Array) -> Risk:
        columns = logs.shape[2]
        flat, sign = logs.reshape(len(logs), -1), np.where(truth, 1.0, -1.0).ravel()
        share = np.repeat(weight / weight.sum() / columns, columns)

        def risk(w: Array) -> tuple[float, Array]:
            margin = sign * (w @ flat)
            return float(share @ np.logaddexp(0.0, -margin)), flat @ (
                -sign * expit(-margin) * share
            )

        return risk

    @classmethod
    def stack(cls, logs: Array, truth: Array, weight: Array, n_units: float) -> Array:
        """Return the weights of candidates with logs of shape (n_candidates, n_bags, columns)."""
        return shrink_weights(cls._risk(logs, truth, weight), len(logs), n_units)

    @classmethod
    def drop(cls, weights: Array, scores: Array, truth: Array, weight: Array) -> Array:
        """Return weights without those that are negligible, or small and of scores near chance."""
        chance = cls._chance(truth, weight)
        near = np.array([cls._judge(of_one, truth, weight) <= chance for of_one in scores])
        kept = np.where(weights < np.where(near, _SMALL, _NEGLIGIBLE), 0.0, weights)
        return kept / kept.sum() if kept.any() else weights

    @classmethod
    def take_chance(cls, scores: Array, truth: Array, weight: Array) -> Ensemble:
        """Return the best candidate, which says next to nothing; warn that none does better."""
        judged = [cls._judge(of_one, truth, weight) for of_one in scores]
        warnings.warn(cls.hopeless.format(max(judged)), UserWarning, stacklevel=2)
        ends = np.full((2, truth.shape[1]), [[-np.inf], [np.inf]])
        flat = Sigmoid(cls._flat, -cls._base(truth, weight) / cls._flat, ends)
        return cls([int(np.argmax(judged))], [flat], np.ones(1))

    @classmethod
    def fit(cls, scores: Array, truth: Array, weight: Array, units: Array) -> Ensemble | None:
        """Fit to scores of shape (n_candidates, n_bags, columns); None where none rises.

        ``units`` are the numbers of the bags' groups.
        """
        found = [cls._calibrate(of_one, truth, weight) for of_one in scores]
        rising = [i for i, sigmoid in enumerate(found) if sigmoid is not None]
        if not rising:
            return None
        sigmoids = [sigmoid for sigmoid in found if sigmoid is not None]
        logs = np.stack([s(scores[i]) for s, i in zip(sigmoids, rising, strict=True)])
        weights = cls.stack(logs, truth, weight, _count_units(units, weight))
        return cls(rising, sigmoids, cls.drop(weights, scores[rising], truth, weight))

    @classmethod
    def find_useless(cls, scores: Array, truth: Array, weight: Array, units: Array) -> list[int]:
        """Return the candidates whose weight, if raised a little, would raise the log loss.

        The derivative of the mean loss must be positive by more than two standard errors.
        Arguments as in `fit`.
        """
        ensemble = cls.fit(scores, truth, weight, units)
        if ensemble is None:
            return []
        margins, share = ensemble(scores), weight / weight.sum()
        slopes = expit(margins) - truth  # of the losses, in the log-odds
        useless = []
        for sigmoid, i in zip(ensemble.sigmoids, ensemble.chosen, strict=True):
            change = (slopes * (sigmoid(scores[i]) - margins)).mean(axis=1)
            mean = share @ change
            error = np.sqrt(share @ (change - mean) ** 2 / _count_units(units, weight))
            if mean > 2 * error:
                useless.append(i)
        return useless

    def __call__(self, scores: Array) -> Array:
        """Return the weighted log-odds of scores of all candidates."""
        parts = zip(self.weights, self.sigmoids, self.chosen, strict=True)
        return sum((w * sigmoid(scores[i]) for w, sigmoid, i in parts), np.zeros(scores.shape[1:]))


def cross_fit(
    scores: Array,
    truth: Array,
    weight: Array,
    units: Array,
    fold: Array,
    kind: type[Ensemble] = Ensemble,
) -> Array:
    """Score the bags of each fold by the ensemble that was fitted to the scores of the others."""
    combined = np.zeros(truth.shape)
    for k in np.unique(fold):
        rest = fold != k
        ensemble = kind.fit(scores[:, rest], truth[rest], weight[rest], units[rest])
        if ensemble is not None:
            combined[~rest] = ensemble(scores[:, ~rest])
    return combined
