"""From out-of-fold scores of candidates to the weights of an ensemble.

1. Every candidate's scores become log-odds by a sigmoid whose slope is not negative (Platt): a
   candidate that ranks held-out bags against their labels is left out, never turned around.
2. Two sets of weights, all of them >= 0 with sum 1, are averaged:

   - stacking (Wolpert 1992): min_w mean log loss of (sum_m w_m L_m + c) + r |w - 1/M|^2, w >= 0;
   - greedy selection with replacement (Caruana et al. 2004): add the candidate that lowers the
     mean log loss of the average most; the best of all rounds is kept.

The ensemble's score is the weighted mean of log-odds. With K > 2 classes every candidate has K
columns of one-vs-rest log-odds, which share its slope and its weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from bagwise._typing import Array
from bagwise.crossfit import fit_sigmoids
from bagwise.crossfit.scores import NO_SLOPE

_RIDGE = 0.03  # pull of stacking weights to equal ones
_ROUNDS = 25  # of greedy selection: weights come in steps of 4 %
_NEGLIGIBLE = 0.02  # members with less weight change nothing but the time of prediction


@dataclass(frozen=True)
class Sigmoid:
    """Scores to log-odds: ``slope * (scores - midpoints)``, one midpoint per column."""

    slope: float
    midpoints: Array

    def __call__(self, scores: Array) -> Array:
        """Return log-odds, of the shape of the scores."""
        return self.slope * (scores - self.midpoints)


def calibrate(scores: Array, truth: Array, weight: Array) -> Sigmoid | None:
    """Fit a rising sigmoid to scores of shape (n, columns); None where they do not rise."""
    if scores.std() == 0:
        return None
    slope, midpoints = fit_sigmoids(scores, truth, weight, rising=False)
    return None if is_flat(slope, scores) else Sigmoid(slope, midpoints)


def is_flat(slope: float, scores: Array) -> bool:
    """Return whether a sigmoid of this slope says nothing of the scores, or the contrary."""
    return slope * float(scores.std()) <= NO_SLOPE


def log_loss(logs: Array, truth: Array, weight: Array) -> float:
    """Return the mean log loss of log-odds over bags and columns."""
    losses = np.logaddexp(0.0, np.where(truth, -logs, logs))
    return float(weight @ losses.mean(axis=1) / weight.sum())


def area(scores: Array, truth: Array, weight: Array) -> float:
    """Return the mean over columns of the area under the ROC curve; 1/2 where it is undefined."""
    areas = [
        roc_auc_score(t, s, sample_weight=weight)
        for s, t in zip(scores.T, truth.T, strict=True)
        if 0 < weight @ t < weight.sum()
    ]
    return float(np.mean(areas)) if areas else 0.5


def ensemble_weights(logs: Array, truth: Array, weight: Array) -> Array:
    """Return one weight per candidate, of log-odds with shape (n_candidates, n_bags, columns)."""
    weights = (_stack_weights(logs, truth, weight) + _select_greedily(logs, truth, weight)) / 2
    weights[weights < _NEGLIGIBLE] = 0.0
    return weights / weights.sum()


def _stack_weights(logs: Array, truth: Array, weight: Array) -> Array:
    n_candidates, _, columns = logs.shape
    flat, sign = logs.reshape(n_candidates, -1), np.where(truth, 1.0, -1.0).ravel()
    share = np.repeat(weight / weight.sum() / columns, columns)
    equal = np.full(n_candidates, 1 / n_candidates)

    def objective(point: Array) -> tuple[float, Array]:
        w, c = point[:-1], point[-1]
        margin = sign * (w @ flat + c)
        slope = -sign * expit(-margin) * share
        value = share @ np.logaddexp(0.0, -margin) + _RIDGE * np.sum((w - equal) ** 2)
        return float(value), np.append(flat @ slope + 2 * _RIDGE * (w - equal), slope.sum())

    bounds = [(0.0, None)] * n_candidates + [(None, None)]
    found = minimize(objective, np.append(equal, 0.0), jac=True, bounds=bounds, method="L-BFGS-B")
    total = found.x[:-1].sum()
    return found.x[:-1] / total if total > 0 else equal


def _select_greedily(logs: Array, truth: Array, weight: Array) -> Array:
    counts, total = np.zeros(len(logs)), np.zeros(logs.shape[1:])
    best, least = counts, np.inf
    for size in range(1, _ROUNDS + 1):
        losses = [log_loss((total + log) / size, truth, weight) for log in logs]
        j = int(np.argmin(losses))
        counts, total = counts + (np.arange(len(logs)) == j), total + logs[j]
        if losses[j] < least:
            best, least = counts / size, losses[j]
    return best


@dataclass(frozen=True)
class Ensemble:
    """Candidates with a sigmoid each, and their weights."""

    chosen: list[int]  # numbers of the candidates whose scores rise with the label
    sigmoids: list[Sigmoid]
    weights: Array

    @classmethod
    def fit(cls, scores: Array, truth: Array, weight: Array) -> Ensemble | None:
        """Fit to scores of shape (n_candidates, n_bags, columns); None where none rises."""
        found = [calibrate(of_one, truth, weight) for of_one in scores]
        rising = [i for i, sigmoid in enumerate(found) if sigmoid is not None]
        if not rising:
            return None
        sigmoids = [sigmoid for sigmoid in found if sigmoid is not None]
        logs = np.stack([s(scores[i]) for s, i in zip(sigmoids, rising, strict=True)])
        return cls(rising, sigmoids, ensemble_weights(logs, truth, weight))

    def __call__(self, scores: Array) -> Array:
        """Return the weighted log-odds of scores of all candidates."""
        parts = zip(self.weights, self.sigmoids, self.chosen, strict=True)
        return sum((w * sigmoid(scores[i]) for w, sigmoid, i in parts), np.zeros(scores.shape[1:]))


def cross_fit(scores: Array, truth: Array, weight: Array, fold: Array) -> Array:
    """Score the bags of each fold by the ensemble that was fitted to the scores of the others."""
    combined = np.zeros(truth.shape)
    for k in np.unique(fold):
        rest = fold != k
        ensemble = Ensemble.fit(scores[:, rest], truth[rest], weight[rest])
        if ensemble is not None:
            combined[~rest] = ensemble(scores[:, ~rest])
    return combined


def nearly_flat(logs: Array, truth: Array, weight: Array) -> tuple[float, Array]:
    """Return a slope and thresholds that say the classes' frequencies of every bag.

    For scores that do not rise with the label: nothing better is known than these frequencies.
    """
    share = np.clip(weight @ truth / weight.sum(), 1e-3, 1 - 1e-3)  # finite log-odds
    slope = 1e-3 / max(1.0, float(np.abs(logs).max()))  # scores move probabilities by 0.1 % at most
    return slope, logs.mean(axis=0) - logit(share) / slope
