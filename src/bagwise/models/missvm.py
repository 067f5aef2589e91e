"""MissSVM (Zhou & Xu 2007): multiple-instance learning as semi-supervised learning.

Negative instances are labelled, the instances of positive bags are not, and of each positive bag
one instance at least is positive:

    min 1/2|w|^2 + C [ sum_{positive bags i} l(max_{k in i} f_k) + sum_{negative k} l(-f_k)
                       + u sum_{k in positive bags} l(|f_k|) ]                        (Eqs. 5-7)

The losses of |f| and of the maximum are least losses over labels and over witnesses, so the machine
and its (witness, labels) alternate; every step lowers the objective (the paper's CCCP with one
active maximum).

Departures: l is the squared hinge by default (``loss="hinge"`` is the paper's).

Reference: Z.-H. Zhou, J.-M. Xu, "On the relation between multi-instance learning and
semi-supervised learning", ICML 2007.
"""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from bagwise._docs import described
from bagwise.assumptions import ExactlyOne
from bagwise.models.rows import BinaryFit, RowsClassifier, Task
from bagwise.models.witness import mean_scores
from bagwise.problems import Problem
from bagwise.procedures import alternate
from bagwise.solvers import Solution, solve

__all__ = ["MISSVM"]

Array = NDArray[Any]


@described
class MISSVM(RowsClassifier):
    """Witnesses for positive bags, and a margin free of their other instances (MissSVM).

    Parameters
    ----------
    unlabelled : float, default=0.1
        Weight u of the losses that keep instances of positive bags away from the boundary, next to
        the loss of a bag; at 0 this is MI-SVM.
    %(rows_parameters)s
    %(bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    WitnessSVC : Without the unlabelled instances.
    SparseMIL : The mean speaks for a positive bag.

    References
    ----------
    .. [1] Z.-H. Zhou, J.-M. Xu, "On the relation between multi-instance learning and
       semi-supervised learning", ICML 2007.

    Examples
    --------
    >>> from bagwise import MISSVM
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = MISSVM(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "unlabelled": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        unlabelled=0.1,
        *,
        C=1.0,
        kernel="rbf",
        gamma="median",
        degree=3,
        coef0=0.0,
        loss="squared_hinge",
        class_weight=None,
        pos_label=None,
        threshold=0.0,
        probability=False,
        cv=5,
        max_iter=50,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            loss=loss,
            class_weight=class_weight,
            pos_label=pos_label,
            threshold=threshold,
            probability=probability,
            cv=cv,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.max_iter = max_iter
        self.unlabelled = unlabelled

    def _fit_binary(self, task: Task) -> BinaryFit:
        run = alternate(
            partial(_solve, task, self.unlabelled),
            partial(_assign, task),
            _assign(task, mean_scores(task)),
            max_iter=self.max_iter,
            callback=self._report,
        )
        return BinaryFit(run.solution, run.assignment.max(axis=0), run.history, run.converged)


def _assign(task: Task, scores: Array) -> Array:
    """Return two rows: the witnesses, and the instances of positive bags that score above zero."""
    of_positive = scores[task.positive_rows]
    witness = task.spread(ExactlyOne().map(of_positive, task.positive_offsets))
    return np.stack([witness, task.spread(1.0 * (of_positive > 0))])


def _solve(task: Task, unlabelled: float, assignment: Array, last: Solution | None) -> Solution:
    witness, above = assignment
    below = task.in_positive * (1 - above)
    positive = task.weight * (witness + unlabelled * above)
    negative = task.weight * (~task.in_positive + unlabelled * below)
    problem = Problem(task.design, positive, negative, task.loss)
    return solve(problem, None if last is None else last.point)
