"""MissSVM (Zhou & Xu 2007): multiple-instance learning as semi-supervised learning.

Negative instances are labeled, the instances of positive bags are not, and of each positive bag
one instance at least is positive:

    min 1/2|w|^2 + C [ sum_{positive bags i} l(max_{k in i} f_k) + sum_{negative k} l(-f_k)
                       + u sum_{k in positive bags} l(|f_k|) ]                        (Eqs. 5-7)

The losses of |f| and of the maximum are least losses over labels and over witnesses, so the
classifier and its (witness, labels) alternate; every step lowers the objective (the paper's CCCP
with one active maximum).

Departures: l is the squared hinge by default (``loss="hinge"`` is the paper's).

Reference: Z.-H. Zhou, J.-M. Xu, "On the relation between multi-instance learning and
semi-supervised learning", ICML 2007.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bagwise._typing import Array
from bagwise.assumptions import ExactlyOne
from bagwise.estimators.params import param, positive, shared
from bagwise.estimators.rows import MarginClassifier, Start
from bagwise.estimators.task import Task, mean_scores
from bagwise.problems import Problem
from bagwise.procedures import Run, alternate
from bagwise.solvers import Solution, solve


class MissSVM(MarginClassifier):
    """Witnesses for positive bags, and a margin free of their other instances (MissSVM).

    See Also
    --------
    WitnessSVC : Without the unlabeled instances.
    SparseMIL : The mean speaks for a positive bag.

    Examples
    --------
    >>> model = MissSVM(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    unlabeled_weight: float = param(
        0.1,
        positive(zero=True),
        "Weight u of the losses that keep instances of positive bags away from the boundary, "
        "relative to the loss of a bag; 0 is MI-SVM.",
    )
    _by_passes = False

    n_init: int = shared("n_init")
    max_iter: int = shared("max_iter")

    def _fit_from(self, task: Task, start: Start) -> Run:
        scores = mean_scores(task) if start is None else start.normal(size=len(task.weight))
        run = alternate(
            partial(_solve, task, self.unlabeled_weight),
            partial(_assign, task),
            _assign(task, scores),
            max_iter=self.max_iter,
            callback=self._report,
        )
        return Run(run.solution, run.assignment.max(axis=0), run.history, run.converged)


def _assign(task: Task, scores: Array) -> Array:
    """Return two rows: the witnesses, and the instances of positive bags that score above zero."""
    of_positive = scores[task.positive_rows]
    witness = task.spread(ExactlyOne().map(of_positive, task.positive_offsets))
    return np.stack([witness, task.spread(1.0 * (of_positive > 0))])


def _solve(task: Task, unlabeled: float, assignment: Array, last: Solution | None) -> Solution:
    witness, above = assignment
    below = task.in_positive * (1 - above)
    positive = task.weight * (witness + unlabeled * above)
    negative = task.weight * (~task.in_positive + unlabeled * below)
    problem = Problem(task.design, positive, negative, task.loss)
    return solve(problem, None if last is None else last.point)
