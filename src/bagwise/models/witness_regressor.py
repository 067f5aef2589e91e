"""The number of a bag is the largest of its instances' numbers.

    min_{w,b} 1/2|w|^2 + C sum_i [ sum_{k in i} h(f_k - Y_i) + h(Y_i - max_{k in i} f_k) ],

with f_k = w.phi(x_k) + b and h(r) = max(0, r - epsilon)^2, or the same without the square.
Predicting too much is convex, and every instance counts: none may exceed the number of its bag.
Predicting too little is not convex: the witness k(i), the instance with the largest f_k, speaks for
the bag. With any other instance in its place the objective can only be larger, so that each step of
the concave-convex procedure (`bagwise.procedures.cccp`) solves an upper bound that touches it: one
convex problem over all instances, with its duality gap. A bag of one instance has the loss of ridge
regression.

There are two starts, of which the lower objective is kept: from the regression in which every
instance stands for its bag, and from annealing, where witnesses are shares proportional to
exp(f_k / T) that harden as T falls. ``aggregate="min"`` is the same for -f and -Y.

Departures from Ray & Page: they have the squared error of the witness alone, on both sides, for
which reassigning witnesses need not decrease anything; h charges other instances that exceed the
number of their bag, too.

Reference: S. Ray, D. Page, "Multiple instance regression", ICML 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bagwise._typing import Array
from bagwise.bags import Bags
from bagwise.bags.segments import expand, segment_argmax, segment_max, segment_softmax
from bagwise.designs import Design
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.regressor import RowsRegressor
from bagwise.estimators.tags import BagTags
from bagwise.procedures import Run
from bagwise.procedures.cccp import cccp
from bagwise.procedures.run import keep_lowest
from bagwise.solvers import Solution
from bagwise.tolerances import TIE

_COLD = 0.02  # of the spread of the scores: witnesses are then hard in all but near ties


class WitnessRegressor(RowsRegressor):
    """Regression in which one instance, the largest or the smallest, has the number of the bag.

    Attributes
    ----------
    instance_weights_ : ndarray of shape (n_instances,)
        1 for the witness of each training bag, 0 for the others.
    starts_ : list of dict
        Objective, gap and iterations of both starts.

    See Also
    --------
    MeanRegressor : All instances decide together.
    WitnessSVC : The same for classes.

    Examples
    --------
    >>> model = WitnessRegressor(kernel="linear", C=100).fit(bags, [3.0, 0.1, 2.9, 0.3])
    >>> model.predict(bags).round(1), model.key_instances(bags)
    (array([3. , 0.1, 2.9, 0.3]), array([1, 0, 0, 0]))
    """

    aggregate: str = param(
        "max", Words("max", "min"), "Which of the instances' numbers is that of the bag."
    )
    max_iter: int = shared("max_iter")
    verbose: int = shared("verbose")
    callback: Callable[[dict[str, Any]], None] | None = shared("callback")

    @property
    def _sign(self) -> float:
        return 1.0 if self.aggregate == "max" else -1.0

    def __bag_tags__(self) -> BagTags:
        """Instances have numbers of their own, and the bag that of one of them."""
        return BagTags(bag_score=np.max if self.aggregate == "max" else np.min)

    def _bag_scores(self, bags: Bags) -> Array:
        scores = self._sign * self._instance_scores(bags)
        return self._sign * segment_max(scores, bags.offsets)

    def _key_scores(self, bags: Bags) -> Array:
        return self._sign * self._raw_instance_scores(bags)

    def _fit_labels(self, bags: Bags, y: Array, weight: Array) -> None:
        super()._fit_labels(bags, self._sign * y, weight)
        for name in ("intercept_", "coef_", "dual_coef_"):
            if hasattr(self, name):
                setattr(self, name, self._sign * getattr(self, name))

    def _fit_rows(self, design: Design, offsets: Array, y: Array, weight: Array) -> Run:
        target, high = expand(y, offsets), expand(weight, offsets)

        def solve(witness: Array, last: Solution | None) -> Solution:
            low = high * np.where(witness > TIE, witness, 0.0)  # an interior point needs room
            return self._solve(design, low, high, target, last)

        def objective(solution: Solution) -> float:
            norm = design.squared_norm(solution.coef, solution.scores - solution.intercept)
            above = np.maximum(0.0, solution.scores - target - self.epsilon)
            below = np.maximum(0.0, y - segment_max(solution.scores, offsets) - self.epsilon)
            power = 1 if self.loss == "epsilon_insensitive" else 2
            return 0.5 * norm + float(high @ above**power + weight @ below**power)

        def choose(scores: Array) -> Array:
            return _one_hot(offsets, scores)

        limits: dict[str, Any] = {"max_iter": self.max_iter, "callback": self._report}
        starts = _start(solve, offsets, high)
        fit = keep_lowest(cccp(choose, solve, objective, start, **limits) for start in starts)
        self.instance_weights_ = fit.assignment
        return fit


def _start(solve: Callable[..., Solution], offsets: Array, weight: Array) -> Iterator[Array]:
    """Yield the scores in which all instances stand for their bag, then the annealed ones."""
    solution = solve(expand(1 / np.diff(offsets), offsets), None)
    yield solution.scores
    center = np.average(solution.scores, weights=weight)
    spread = float(np.sqrt(np.average((solution.scores - center) ** 2, weights=weight)))
    T = 2 * spread
    while _COLD * spread < T:
        solution = solve(segment_softmax(solution.scores / T, offsets), solution)
        T /= 2
    yield solution.scores


def _one_hot(offsets: Array, scores: Array) -> Array:
    """Return 1 for the instance with the largest score of each bag, 0 for the others."""
    witness = np.zeros(len(scores))
    witness[offsets[:-1] + segment_argmax(scores, offsets)] = 1.0
    return witness
