"""Sparse MIL (Bunescu & Mooney 2007): sMIL, stMIL and sbMIL, for few positives in positive bags.

sMIL asks of a positive bag's mean no more than one positive among m - 1 negatives would give it:

    min 1/2|w|^2 + C sum_{positive bags i} l_i + C/m- sum_{negative instances k} l(-f_k),
    l_i = l(mean f + 1 - (2 - m_i)/m_i):   mean over the bag of f >= (2 - m_i) / m_i,      (Eq. 6)

with m- the mean size of negative bags. Small bags say more. stMIL adds C/m+ sum over the instances
of positive bags of l(|f_k|), which keeps the margin free of them (the least loss over both labels,
so labels and classifier alternate). sbMIL trains sMIL, calls the ``positive_fraction`` highest
scores in positive bags positive and the others negative, and trains an SVM on these labels.

Departures: l is the squared hinge by default (``loss="hinge"`` is the paper's). The paper divides
each sum by its number of terms; here a side weighs as much as it has bags, and
``class_weight="balanced"`` evens the sides out as the paper does.

Reference: R. C. Bunescu, R. J. Mooney, "Multiple instance learning for sparse positive bags",
ICML 2007.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval

from bagwise._typing import Array
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.rows import MarginClassifier, Start
from bagwise.estimators.tags import BagTags
from bagwise.estimators.task import Task, combinations_of, lift, mean_shares
from bagwise.problems import Problem
from bagwise.procedures import Run, alternate
from bagwise.solvers import Solution, solve


class SparseMIL(MarginClassifier):
    """Large margins for sparse positive bags (sMIL, stMIL, sbMIL).

    See Also
    --------
    LabelSVC : Infers the label of every instance.
    MissSVM : Witnesses and unlabeled instances.

    Examples
    --------
    >>> model = SparseMIL(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    variant: str = param(
        "sparse",
        Words("sparse", "transductive", "balanced"),
        "sMIL: means of positive bags with a margin that falls with the bag's size. stMIL: also "
        "keep the instances of positive bags away from the boundary. sbMIL: label them by sMIL's "
        "scores and train on the labels.",
    )
    positive_fraction: float = param(
        0.5,
        Interval(Real, 0, 1, closed="right"),
        'Expected fraction of positive instances in positive bags, for "balanced".',
    )
    max_iter: int = shared("max_iter")

    _by_passes = False

    def __bag_tags__(self) -> BagTags:
        """Labels found by stMIL and sbMIL may leave a positive bag without a positive."""
        return BagTags(instance_weights=self.variant == "sparse")

    def _fit_from(self, task: Task, start: Start) -> Run:
        if self.variant == "transductive":
            return self._fit_transductive(task)
        sparse = _sparse(task)
        if self.variant == "balanced":
            return self._fit_balanced(task, sparse)
        return Run(sparse, task.spread(mean_shares(task)), [self._note(sparse)], True)

    def _fit_transductive(self, task: Task) -> Run:
        rows = _Transductive(task)
        start = 1.0 * (_sparse(task).scores[task.positive_rows] > 0)
        run = alternate(
            rows.solve, rows.assign, start, max_iter=self.max_iter, callback=self._report
        )
        solution = lift(task, rows.combinations, run.solution)
        return Run(solution, task.spread(run.assignment), run.history, run.converged)

    def _fit_balanced(self, task: Task, sparse: Solution) -> Run:
        p = _top_fraction(task, sparse.scores, self.positive_fraction)
        solution = solve(task.problem(p, rest_is_negative=True))
        return Run(solution, p, [self._note(sparse), self._note(solution)], True)

    def _note(self, solution: Solution) -> dict[str, Any]:
        record = {"objective": solution.objective, "gap": solution.gap}
        self._report(record)
        return record


class _Sparse:
    """sMIL's rows: means of positive bags, then negative instances."""

    def __init__(self, task: Task) -> None:
        self.task, of_bags = task, task.bag_weight
        self.combinations, self.is_mean = combinations_of(task, mean_shares(task))
        # The negative instances weigh as much, together, as their bags.
        negatives, sizes = task.weight[~task.in_positive], np.diff(task.positive_offsets)
        share = of_bags[~task.positive].sum() / negatives.sum()
        self.weight = np.concatenate([of_bags[task.positive], share * negatives])
        self.margin = np.ones(len(self.weight))
        self.margin[self.is_mean] = (2 - sizes) / sizes  # Eq. 6


def _sparse(task: Task) -> Solution:
    """Solve sMIL."""
    rows = _Sparse(task)
    design = task.design.aggregate(rows.combinations)
    sides = rows.weight * rows.is_mean, rows.weight * ~rows.is_mean
    return lift(task, rows.combinations, solve(Problem(design, *sides, task.loss, rows.margin)))


def _top_fraction(task: Task, scores: Array, fraction: float) -> Array:
    """Return weight 1 for the highest scores in positive bags, up to a fraction of their weight."""
    scores, weight = scores[task.positive_rows], task.weight[task.positive_rows]
    order = np.argsort(-scores, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    chosen = np.zeros(len(order))
    chosen[order] = before < fraction * weight.sum() * (1 - 1e-9)
    return task.spread(chosen)


class _Transductive(_Sparse):
    """stMIL's problem: sMIL's rows, then the instances of positive bags with a label each."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        single = sp.eye_array(len(task.weight), format="csr")[task.positive_rows]
        self.combinations = sp.csr_array(sp.vstack([self.combinations, single]))
        self.design = task.design.aggregate(self.combinations)
        unlabeled = task.weight[task.positive_rows]
        of_bags = task.bag_weight[task.positive]
        self.unlabeled = unlabeled * (of_bags.sum() / unlabeled.sum())
        self.margin = np.concatenate([self.margin, np.ones(len(unlabeled))])

    def solve(self, labels: Array, last: Solution | None) -> Solution:
        """Solve the problem for given labels (1 or 0) of the instances of positive bags."""
        positive = np.concatenate([self.weight * self.is_mean, self.unlabeled * labels])
        negative = np.concatenate([self.weight * ~self.is_mean, self.unlabeled * (1 - labels)])
        problem = Problem(self.design, positive, negative, self.task.loss, self.margin)
        return solve(problem, None if last is None else last.point)

    def assign(self, scores: Array) -> Array:
        """Give every instance of a positive bag the label of least loss: its sign."""
        return 1.0 * (scores[len(self.weight) :] > 0)
