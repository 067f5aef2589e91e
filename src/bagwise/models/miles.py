"""MILES: bags as similarities to all training instances, and a 1-norm SVM.

    m_k(B) = max_{x in B} exp(-gamma |x - x^k|^2),                                     (Eq. 8)
    min |w|_1 + C sum_i weight_i max(0, 1 - Y_i (w.m(B_i) + b)),                       (Eqs. 10-12)

with x^k running over all instances of all training bags (sigma^2 = 1 / gamma). The 1-norm chooses
the few that matter. An instance's score is its share in the bag's score: the sum over the chosen k
for which it is nearest (ties share) of w_k m_k(B), plus b spread evenly over the instances that are
nearest to some k (Eqs. 15-16).

Departures: one C for both classes; ``class_weight`` gives the paper's C1 and C2. With
``n_components`` x^k runs over landmarks among the instances (`bagwise.designs.nystroem`) only.

Reference: Y. Chen, J. Bi, J. Z. Wang, "MILES: Multiple-instance learning via embedded instance
selection", IEEE TPAMI 28 (2006).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils import check_random_state

from bagwise._documented import answers
from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_max, segment_sum
from bagwise.bags.without import max_without_each
from bagwise.designs import Pairs
from bagwise.designs.nystroem import choose_landmarks
from bagwise.errors import Parameter
from bagwise.estimators.base import BagClassifier
from bagwise.estimators.input import BagInput
from bagwise.estimators.params import Parameters, integer, param, shared
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import keep_solutions, rows_of, warn_of_doubt
from bagwise.kernels import Kernel, check_matrix, settle_gamma
from bagwise.kernels.bag import nearest_squared
from bagwise.procedures import Run
from bagwise.solvers import Solution
from bagwise.solvers.l1_hinge import solve_l1_hinge
from bagwise.tolerances import NOTHING, in_threads

_DECIMALS = 12  # of bag scores, whose margin is 1: linear programs are solved to about 1e-9


def _similarities(bags: Bags, points: Any, gamma: float) -> Array:
    """Return m_k(B), one row per bag, one column per point (Eq. 8)."""
    return np.exp(-gamma * nearest_squared(points, bags).T)


class _Points(Parameters):
    """Which training instances bags are compared with."""

    n_components: int | None = param(
        None,
        [integer(), None],
        "Number of training instances that bags are compared with; None takes all of them, as in "
        "the paper, which needs memory for n_bags x n_instances numbers.",
    )

    def _points(self, bags: Bags, gamma: float) -> Array:
        """Return the rows of the points; refuse an embedding that does not fit into memory."""
        rows = np.arange(bags.n_instances)
        if self.n_components is not None:
            pairs, rng = Pairs(Kernel("rbf", gamma), bags.X), check_random_state(self.random_state)
            rows = choose_landmarks(pairs, rows, self.n_components, rng)
        fewer = "Lower " if self.n_components else "Set ", Parameter("n_components", "500"), "."
        check_matrix("The matrix of similarities", len(bags), len(rows), 8, *fewer)
        return rows


class MILESEmbedding(TransformerMixin, BagInput, _Points):
    """Turn bags into their similarities to training instances.

    Column k is max_{x in B} exp(-gamma |x - x^k|^2), with x^k the k-th training instance or
    landmark. Any scikit-learn estimator may follow in a pipeline.

    Attributes
    ----------
    points_ : ndarray or sparse array of shape (n_points, n_features)
        The training instances that bags are compared with.
    gamma_ : float
        The width in use.

    See Also
    --------
    MILES : The embedding with a 1-norm SVM.

    Examples
    --------
    >>> from bagwise import MILESEmbedding
    >>> bags = [[[0.0], [3.0]], [[0.1]]]
    >>> MILESEmbedding(gamma=1.0).fit_transform(bags).round(2)
    array([[1.  , 1.  , 0.99],
           [0.99, 0.  , 1.  ]])
    """

    gamma: float | str = shared(
        "gamma",
        doc='Width of the similarity, exp(-gamma d^2): "median" is 1 / (2 median distance^2), '
        '"scale" as in scikit-learn.',
    )
    random_state: Any = shared(
        "random_state",
        doc='Seed of the sample behind "median" above 2,000 instances, and of the landmarks.',
    )

    @answers("self", "The fitted transformer.", y=("None", "Not used; here for pipelines."))
    def fit(self, bags: Any, y: Any = None) -> MILESEmbedding:
        """Remember the instances and settle the width."""
        self._validate_params()
        bags = self._validate_bags(bags, reset=True)
        self.gamma_ = _settle(self, bags, np.ones(bags.n_instances))
        self.points_ = bags.X[self._points(bags, self.gamma_)]
        return self

    @answers("ndarray of shape (n_bags, n_points)", "Values in (0, 1].")
    def transform(self, bags: Any) -> Array:
        """Return the similarities."""
        return _similarities(self._check_bags(bags), self.points_, self.gamma_)


def _settle(estimator: Any, bags: Bags, weights: Array) -> float:
    rng = check_random_state(estimator.random_state)
    return settle_gamma(estimator.gamma, bags.X, weights, rng)


class MILES(BagClassifier, _Points):
    """Embed bags by their similarity to training instances and choose the instances that matter.

    Attributes
    ----------
    support_ : ndarray
        Row numbers of the chosen training instances.
    support_vectors_ : ndarray of shape (n_support, n_features)
        The chosen instances.
    coef_ : ndarray of shape (1 or n_classes, n_support)
        Their weights.
    intercept_, threshold_ : ndarray of shape (1 or n_classes,)
        Intercepts, and what ``decision_function`` subtracts.
    gamma_ : float
        The width in use.
    objective_, gap_ : ndarray of shape (1 or n_classes,)
        Objective of the linear program, and the proven bound on its distance from the optimum.
    n_iter_ : int
        Number of linear programs solved, each with more columns.
    history_ : list of dict
        One record per linear program (one such list per class for three classes or more).

    See Also
    --------
    MILESEmbedding : The embedding alone.
    BagKernelSVC : Kernels between bags.

    Examples
    --------
    >>> model = MILES(C=10, gamma=1.0).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    C: float = shared("C", doc="Weight of the hinge losses against |w|_1.")
    gamma: float | str = shared("gamma", doc="Width of the similarity exp(-gamma d^2).")
    max_iter: int = shared("max_iter", default=500, doc="Maximum number of linear programs.")
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")
    class_weight: Any = shared("class_weight")

    def __bag_tags__(self) -> BagTags:
        """Instance scores are shares in the bag's score, and no instance is weighed in training."""
        return BagTags(bag_score=None, instance_weights=False, whole_bag="other")

    def _fit_classes(self, bags: Bags, codes: Array, weight: Array) -> None:
        used = np.flatnonzero(weight)
        train, weight = bags[used], weight[used]
        self.gamma_ = _settle(self, train, expand(weight, train.offsets))
        points = self._points(train, self.gamma_)
        embedded = _similarities(train, train.X[points], self.gamma_)
        labels = np.where(self._truth(codes[used]).T, 1.0, -1.0)
        costs, limit = self.C * weight, self.max_iter

        def solve(y: Array) -> Solution:
            return solve_l1_hinge(embedded, y, costs, max_iter=limit)

        self._keep(bags, rows_of(bags, used)[points], in_threads(solve, labels, self.n_jobs))

    def _keep(self, bags: Bags, rows: Array, solutions: list[Solution]) -> None:
        for record in (record for solution in solutions for record in solution.history):
            self._report(record)
        ended = [each.converged or each.n_iter < self.max_iter for each in solutions]
        pairs = zip(solutions, ended, strict=True)
        coef = keep_solutions(self, [Run(each, None, each.history, done) for each, done in pairs])
        chosen = np.flatnonzero(np.any(coef != 0, axis=0))
        self.support_, self.coef_ = rows[chosen], coef[:, chosen]
        self.support_vectors_ = bags.X[self.support_]

    _warn, _excused, _loss_weights = warn_of_doubt, NOTHING, "C"  # of `keep_solutions`

    def _bag_scores(self, bags: Bags) -> Array:
        embedded = _similarities(bags, self.support_vectors_, self.gamma_)
        # Bags on the margin have equal scores for several classes: rounding must not part them.
        return np.round(embedded @ self.coef_.T + self.intercept_, _DECIMALS)

    def _scores_without_each(self, bags: Bags) -> Array:
        nearest = max_without_each(self._similar(bags), bags.offsets)
        return nearest @ self.coef_.T + self.intercept_

    def _similar(self, bags: Bags) -> Array:
        return Kernel("rbf", self.gamma_)(bags.X, self.support_vectors_)

    def _instance_scores(self, bags: Bags) -> Array:
        similar = self._similar(bags)
        top = similar == expand(segment_max(similar, bags.offsets), bags.offsets)
        shares = similar * top / expand(segment_sum(1.0 * top, bags.offsets), bags.offsets)
        # Eq. 16: the intercept is spread over the instances that are nearest to a chosen point.
        speaks = (top @ (self.coef_ != 0).T) > 0  # (n_instances, models)
        speakers = np.maximum(1, segment_sum(1.0 * speaks, bags.offsets))
        return shares @ self.coef_.T + self.intercept_ / expand(speakers, bags.offsets)
