"""MILBoost (Viola, Platt & Zhang 2005): boosting instances against the noisy-or likelihood of bags.

An instance is positive with probability p_k = 1 / (1 + exp(-F(x_k))), a bag with
P_i = 1 - prod_k (1 - p_k). F = sum_t a_t h_t is grown to maximize the log likelihood
sum_i w_i [Y_i log P_i + (1 - Y_i) log(1 - P_i)]. Every round,

1. the weights of instances are the derivatives in F(x_k): w_i p_k (1 - P_i) / P_i in positive bags,
   -w_i p_k in negative ones;
2. a decision tree h with values -1 and 1 is fitted to their signs, weighted by their sizes;
3. a line search finds its factor a: the first one at which the likelihood stops growing, at most
   10.

The bag's score is log P / (1 - P), the instance's is F: a bag of one scores as its instance.

Reference: P. Viola, J. C. Platt, C. Zhang, "Multiple instance boosting for object detection",
NIPS 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_sum
from bagwise.designs.sparse import with_short_indices
from bagwise.errors import SCALE, Message
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.params import integer, param, shared
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import stack_models

_LONGEST = 10.0  # factor of one tree: p is within 5e-5 of 0 or 1 there


class MILBoost(BagClassifier):
    """Boosted trees over instances, under the noisy-or likelihood of bags.

    Attributes
    ----------
    trees_ : list of list of DecisionTreeClassifier
        The trees of each model.
    factors_ : list of ndarray
        Their factors.
    objective_ : ndarray of shape (1 or n_classes,)
        Negative log likelihood of the training bags.
    n_iter_ : int
        Number of rounds (the maximum over classes).
    history_ : list of dict
        One record per round (one such list per class for three classes or more).
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        Probability of each instance of a positive bag.

    See Also
    --------
    DiverseDensity : The same likelihood around one point.

    Examples
    --------
    >>> model = MILBoost(n_estimators=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    n_estimators: int = param(100, integer(), "Maximum number of rounds of boosting.")
    max_depth: int = param(1, integer(), "Depth of the trees; 1 is a stump.")
    min_weight_fraction_leaf: float = param(
        0.0,
        Interval(Real, 0.0, 0.5, closed="both"),
        "Minimum fraction of the total weight in a leaf.",
    )
    max_features: int | None = param(
        None,
        [integer(), None],
        "Maximum number of features that a split looks at, drawn at random; None is all of them.",
    )
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """The bag's score is the log odds of the noisy-or of its instances."""
        return BagTags(
            bag_score=_noisy_or_of_one, threshold_on_instances=False, gap=False, tolerance=1e-4
        )

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        truth, X = self._truth(codes), _for_trees(bags.X)
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        runs = jobs(delayed(self._boost)(X, bags, column, weight) for column in truth.T)
        self.trees_ = [run[0] for run in runs]
        self.factors_ = [run[1] for run in runs]
        histories = [run[2] for run in runs]
        self.history_ = histories if len(runs) > 1 else histories[0]
        self.objective_ = np.array([history[-1]["objective"] for history in histories])
        self.n_iter_ = max(len(history) for history in histories)
        p = expit(self._instance_scores(bags)).T * expand(truth, bags.offsets).T
        self.instance_weights_ = stack_models(p)

    def _boost(
        self, X: Any, bags: Bags, positive: Array, weight: Array
    ) -> tuple[list[DecisionTreeClassifier], Array, list[dict[str, Any]]]:
        F = np.zeros(bags.n_instances)
        trees, factors, history = list[Any](), list[float](), list[dict[str, Any]]()
        few = self.max_features is not None and self.max_features < bags.n_features
        n_features = self.max_features if few else None
        seeds = check_random_state(self.random_state)  # else the same of equally good splits
        for _ in range(self.n_estimators):
            slope = noisy_or_slope(F, bags.offsets, positive, weight)
            tree = DecisionTreeClassifier(
                max_depth=self.max_depth,
                min_weight_fraction_leaf=self.min_weight_fraction_leaf,
                max_features=n_features,
                random_state=seeds.randint(np.iinfo(np.int32).max) if n_features else 0,
            )
            trees.append(tree.fit(X, slope > 0, sample_weight=np.abs(slope)))
            h = _votes(tree, X)
            factor, value = _line_search(F, h, bags.offsets, positive, weight)
            history.append({"objective": value, "factor": factor})
            self._report(history[-1])
            factors.append(factor)
            F = F + factor * h
            if factor < 1e-6:
                break
        return trees, np.array(factors), history

    def _instance_scores(self, bags: Bags) -> Array:
        X = _for_trees(bags.X)
        columns = [
            sum(a * _votes(tree, X) for tree, a in zip(trees, factors, strict=True))
            for trees, factors in zip(self.trees_, self.factors_, strict=True)
        ]
        return np.stack(columns, axis=1)

    def _bag_scores(self, bags: Bags) -> Array:
        return noisy_or_log_odds(self._instance_scores(bags), bags.offsets)


def _for_trees(X: Any) -> Any:
    # Trees split in float32; equal rows must fall on the same side in training and prediction.
    values = X.data if sp.issparse(X) else np.asarray(X)
    if np.abs(values).max(initial=0.0) > np.finfo(np.float32).max:
        what = "The trees split features in float32, and some are too large: scale them with "
        raise ValueError(Message(what, SCALE, "."))
    if sp.issparse(X):
        return with_short_indices(sp.csr_array(X.astype(np.float32)))
    return np.asarray(X, dtype=np.float32)


def _votes(tree: DecisionTreeClassifier, X: Any) -> Array:
    """Return -1 or 1 for every row."""
    return np.where(tree.predict(X), 1.0, -1.0)


def noisy_or_log_odds(F: Array, offsets: Array) -> Array:
    """Return log P / (1 - P) of every bag: log(exp(S) - 1) with S = sum_k log(1 + exp(F_k))."""
    S = _log_misses(F, offsets)
    return S + np.log(-np.expm1(-S))


def _log_misses(F: Array, offsets: Array) -> Array:
    """Return S = -log(1 - P) of every bag, kept above zero where it underflows."""
    return np.maximum(segment_sum(np.logaddexp(0.0, F), offsets), 1e-300)


def _noisy_or_of_one(scores: Array) -> Array:
    return noisy_or_log_odds(np.asarray(scores), np.array([0, len(scores)]))[0]


def noisy_or_loss(F: Array, offsets: Array, positive: Array, weight: Array) -> float:
    """Return the negative log likelihood of bags."""
    S = _log_misses(F, offsets)
    return float(weight @ np.where(positive, -np.log(-np.expm1(-S)), S))


def noisy_or_slope(F: Array, offsets: Array, positive: Array, weight: Array) -> Array:
    """Return the derivative of the log likelihood in every F_k."""
    S = _log_misses(F, offsets)
    miss = np.exp(-S)
    odds = np.where(positive, miss / -np.expm1(-S), -1.0)  # (1 - P) / P, or -1
    return expit(F) * expand(weight * odds, offsets)


def _line_search(
    F: Array, h: Array, offsets: Array, positive: Array, weight: Array
) -> tuple[float, float]:
    """Return the first factor at which the likelihood stops growing, at most 10, and the loss."""

    def gain(a: float) -> float:
        return float(noisy_or_slope(F + a * h, offsets, positive, weight) @ h)

    low, high = 0.0, 1e-3
    while high < _LONGEST and gain(high) > 0:
        low, high = high, 2 * high
    if gain(low) <= 0:
        factor = 0.0
    elif gain(min(high, _LONGEST)) > 0:
        factor = _LONGEST
    else:
        factor = float(brentq(gain, low, min(high, _LONGEST), xtol=1e-13))
    return factor, noisy_or_loss(F + factor * h, offsets, positive, weight)
