"""MILBoost (Viola, Platt & Zhang 2005): boosting instances against the noisy-or likelihood of bags.

An instance is positive with probability p_k = 1 / (1 + exp(-F(x_k))), a bag with
P_i = 1 - prod_k (1 - p_k). F = sum_t a_t h_t is grown to maximise the log likelihood
sum_i w_i [Y_i log P_i + (1 - Y_i) log(1 - P_i)]. Every round,

1. the weights of instances are the derivatives in F(x_k): w_i p_k (1 - P_i) / P_i in positive bags,
   -w_i p_k in negative ones;
2. a decision tree h with values -1 and 1 is fitted to their signs, weighted by their sizes;
3. a line search finds its factor a: the first one at which the likelihood stops to grow, at most
   10.

The bag's score is log P / (1 - P), the instance's is F: a bag of one scores as its instance.

Reference: P. Viola, J. C. Platt, C. Zhang, "Multiple instance boosting for object detection",
NIPS 2005.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import Interval

from bagwise._docs import described
from bagwise.bags import Bags
from bagwise.base import BagClassifier
from bagwise.segments import expand, segment_sum
from bagwise.tags import BagTags

__all__ = ["MILBoost"]

Array = NDArray[Any]

_LONGEST = 10.0


@described
class MILBoost(BagClassifier):
    """Boosted trees over instances, under the noisy-or likelihood of bags.

    Parameters
    ----------
    n_estimators : int, default=100
        Most rounds of boosting.
    max_depth : int, default=1
        Depth of the trees; 1 is a stump.
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weights that a leaf must hold.
    %(plain_bag_parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels.
    estimators_ : list of list of DecisionTreeClassifier
        The trees of each model.
    factors_ : list of ndarray
        Their factors.
    objective_ : ndarray of shape (1 or n_classes,)
        Negative log likelihood of the training bags.
    threshold_ : ndarray of shape (1 or n_classes,)
        What ``decision_function`` subtracts.
    n_iter_ : int
        Rounds made.
    history_ : list of dict
        One record a round (a list of these a class for three classes or more).
    instance_weights_ : ndarray of shape (n_instances,) or (n_classes, n_instances)
        Probability of each instance of a positive bag.

    See Also
    --------
    DiverseDensity : The same likelihood around one point.

    References
    ----------
    .. [1] P. Viola, J. C. Platt, C. Zhang, "Multiple instance boosting for object detection",
       NIPS 2005.

    Examples
    --------
    >>> from bagwise import MILBoost
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = MILBoost(n_estimators=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BagClassifier._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "min_weight_fraction_leaf": [Interval(Real, 0.0, 0.5, closed="both")],
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        max_depth=1,
        min_weight_fraction_leaf=0.0,
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.threshold = threshold
        self.probability = probability
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __bag_tags__(self) -> BagTags:
        """The bag's score is the log odds of the noisy-or of its instances."""
        return BagTags(bag_score=_noisy_or_of_one, gap=False, tolerance=1e-4)

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        truth = self._truth(codes)
        jobs = Parallel(n_jobs=self.n_jobs, prefer="threads")
        runs = jobs(delayed(self._boost)(bags, column, weight) for column in truth.T)
        self.estimators_ = [run[0] for run in runs]
        self.factors_ = [run[1] for run in runs]
        histories = [run[2] for run in runs]
        self.history_ = histories if len(runs) > 1 else histories[0]
        self.objective_ = np.array([history[-1]["objective"] for history in histories])
        self.n_iter_ = max(len(history) for history in histories)
        p = expit(self._instance_scores(bags)).T * expand(truth, bags.offsets).T
        self.instance_weights_ = p if len(runs) > 1 else p[0]

    def _boost(
        self, bags: Bags, positive: Array, weight: Array
    ) -> tuple[list[Any], Array, list[dict[str, Any]]]:
        X, F = _for_trees(bags.X), np.zeros(bags.n_instances)
        trees, factors, history = list[Any](), list[float](), list[dict[str, Any]]()
        for _ in range(self.n_estimators):
            slope = noisy_or_slope(F, bags.offsets, positive, weight)
            tree = self._tree(X, slope)
            h = _votes(tree, X)
            factor, value = _line_search(F, h, bags.offsets, positive, weight)
            history.append({"objective": value, "factor": factor})
            trees.append(tree)
            factors.append(factor)
            F = F + factor * h
            if factor < 1e-6:
                break
        return trees, np.array(factors), history

    def _tree(self, X: Any, slope: Array) -> DecisionTreeClassifier:
        seed = 0 if self.random_state is None else self.random_state
        tree = DecisionTreeClassifier(
            max_depth=self.max_depth,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            random_state=seed,
        )
        return tree.fit(X, slope > 0, sample_weight=np.abs(slope))

    def _instance_scores(self, bags: Bags) -> Array:
        X = _for_trees(bags.X)
        columns = [
            sum(a * _votes(tree, X) for tree, a in zip(trees, factors, strict=True))
            for trees, factors in zip(self.estimators_, self.factors_, strict=True)
        ]
        return np.stack(columns, axis=1)

    def _bag_scores(self, bags: Bags) -> Array:
        return noisy_or_log_odds(self._instance_scores(bags), bags.offsets)


def _for_trees(X: Any) -> Any:
    # Trees split in float32; equal rows must fall on the same side in training and prediction.
    return X.astype(np.float32) if sp.issparse(X) else np.asarray(X, dtype=np.float32)


def _votes(tree: DecisionTreeClassifier, X: Any) -> Array:
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
    """Return the first factor at which the likelihood stops to grow, at most 10, and the loss."""

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
