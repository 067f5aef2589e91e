"""Sparse MIL (Bunescu & Mooney 2007): sMIL, stMIL and sbMIL, for few positives in positive bags.

sMIL asks of a positive bag's mean no more than one positive among m - 1 negatives would give it:

    min 1/2|w|^2 + C sum_{positive bags i} l_i + C/m- sum_{negative instances k} l(-f_k),
    l_i = l(mean f + 1 - (2 - m_i)/m_i):   mean over the bag of f >= (2 - m_i) / m_i,      (Eq. 6)

with m- the mean size of negative bags. Small bags say more. stMIL adds C/m+ sum over the instances
of positive bags of l(|f_k|), which keeps the margin free of them (the least loss over both labels,
so labels and machine alternate). sbMIL trains sMIL, calls the ``balance`` fraction of highest
scores in positive bags positive and the others negative, and trains a machine on these labels.

Departures: l is the squared hinge by default (``loss="hinge"`` is the paper's). The paper divides
each sum by its number of terms; here a side weighs as much as it has bags, and
``class_weight="balanced"`` evens the sides out as the paper does.

Reference: R. C. Bunescu, R. J. Mooney, "Multiple instance learning for sparse positive bags",
ICML 2007.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from bagwise._docs import described
from bagwise.models.rows import BinaryFit, RowsClassifier, Task
from bagwise.models.witness import means_and_negatives
from bagwise.problems import Problem
from bagwise.procedures import alternate
from bagwise.solvers import Solution, solve
from bagwise.tags import BagTags

__all__ = ["SparseMIL"]

Array = NDArray[Any]


@described
class SparseMIL(RowsClassifier):
    """Large margins for sparse positive bags (sMIL, stMIL, sbMIL).

    Parameters
    ----------
    variant : {"sparse", "transductive", "balanced"}, default="sparse"
        sMIL: means of positive bags with a margin that falls with the bag's size. stMIL: also keep
        the instances of positive bags away from the boundary. sbMIL: label them by sMIL's scores
        and train on the labels.
    balance : float, default=0.5
        Expected fraction of positives in positive bags, for "balanced".
    %(rows_parameters)s
    %(bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    LabelSVC : Infers the label of every instance.
    MISSVM : Witnesses and unlabelled instances.

    References
    ----------
    .. [1] R. C. Bunescu, R. J. Mooney, "Multiple instance learning for sparse positive bags",
       ICML 2007.

    Examples
    --------
    >>> from bagwise import SparseMIL
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = SparseMIL(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict(bags), model.key_instances(bags)
    (array([1, 0, 1, 0]), array([1, 0, 0, 0]))
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "variant": [StrOptions({"sparse", "transductive", "balanced"})],
        "balance": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(
        self,
        variant="sparse",
        *,
        balance=0.5,
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
        self.variant = variant
        self.balance = balance

    def __bag_tags__(self) -> BagTags:
        """Labels found by stMIL and sbMIL may leave a positive bag without a positive."""
        return BagTags(instance_weights=self.variant == "sparse")

    def _fit_binary(self, task: Task) -> BinaryFit:
        if self.variant == "transductive":
            return self._fit_transductive(task)
        sparse = _sparse(task)
        if self.variant == "balanced":
            return self._fit_balanced(task, sparse)
        return BinaryFit(sparse, _shares(task), [self._noted(sparse)], True)

    def _fit_transductive(self, task: Task) -> BinaryFit:
        rows = _Transductive(task)
        start = 1.0 * (_sparse(task).scores[task.positive_rows] > 0)
        run = alternate(
            rows.solve, rows.assign, start, max_iter=self.max_iter, callback=self._report
        )
        solution = _lifted(task, rows.combinations, run.solution)
        return BinaryFit(solution, task.spread(run.assignment), run.history, run.converged)

    def _fit_balanced(self, task: Task, sparse: Solution) -> BinaryFit:
        p = _top_fraction(task, sparse.scores, self.balance)
        solution = solve(task.problem(p, rest_is_negative=True))
        return BinaryFit(solution, p, [self._noted(sparse), self._noted(solution)], True)

    def _noted(self, solution: Solution) -> dict[str, Any]:
        record = {"objective": solution.objective, "gap": solution.gap}
        self._report(record)
        return record


def _shares(task: Task) -> Array:
    sizes = np.diff(task.positive_offsets)
    return task.spread(np.repeat(1 / sizes, sizes))


def _bag_weights(task: Task) -> Array:
    return task.weight[task.offsets[:-1]]


def _weights(task: Task) -> Array:
    """Return the weights of positive means, then of negative instances, together those of bags."""
    negatives, of_bags = task.weight[~task.in_positive], _bag_weights(task)
    share = of_bags[~task.positive].sum() / negatives.sum()
    return np.concatenate([of_bags[task.positive], share * negatives])


def _margins(task: Task) -> Array:
    sizes = np.diff(task.positive_offsets)
    return (2 - sizes) / sizes  # Eq. 6


def _sparse(task: Task) -> Solution:
    """Solve sMIL."""
    combinations, is_mean = means_and_negatives(task)
    weight = _weights(task)
    margin = np.ones(len(weight))
    margin[is_mean] = _margins(task)
    design = task.design.aggregate(combinations)
    problem = Problem(design, weight * is_mean, weight * ~is_mean, task.loss, margin)
    return _lifted(task, combinations, solve(problem))


def _lifted(task: Task, combinations: Any, solution: Solution) -> Solution:
    """Express a machine found on combinations of instances on the instances."""
    coef = task.design.lift(combinations, solution.coef)
    scores = task.design @ coef + solution.intercept
    return replace(solution, coef=coef, scores=scores, dual=combinations.T @ solution.dual)


def _top_fraction(task: Task, scores: Array, fraction: float) -> Array:
    """Return weight 1 for the highest scores in positive bags, up to a fraction of their weight."""
    scores, weight = scores[task.positive_rows], task.weight[task.positive_rows]
    order = np.argsort(-scores, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    chosen = np.zeros(len(order))
    chosen[order] = before < fraction * weight.sum() * (1 - 1e-9)
    return task.spread(chosen)


class _Transductive:
    """stMIL's problem: sMIL's rows, then the instances of positive bags with a label each."""

    def __init__(self, task: Task) -> None:
        combinations, self.is_mean = means_and_negatives(task)
        single = sp.eye_array(len(task.weight), format="csr")[task.positive_rows]
        self.combinations = sp.csr_array(sp.vstack([combinations, single]))
        self.design = task.design.aggregate(self.combinations)
        self.loss = task.loss
        self.weight = _weights(task)
        unlabelled = task.weight[task.positive_rows]
        of_bags = _bag_weights(task)[task.positive]
        self.unlabelled = unlabelled * (of_bags.sum() / unlabelled.sum())
        ones = np.ones(len(self.weight) - self.is_mean.sum() + len(unlabelled))
        self.margin = np.concatenate([_margins(task), ones])

    def solve(self, labels: Array, last: Solution | None) -> Solution:
        """Solve the machine for given labels (1 or 0) of the instances of positive bags."""
        positive = np.concatenate([self.weight * self.is_mean, self.unlabelled * labels])
        negative = np.concatenate([self.weight * ~self.is_mean, self.unlabelled * (1 - labels)])
        problem = Problem(self.design, positive, negative, self.loss, self.margin)
        return solve(problem, None if last is None else last.point)

    def assign(self, scores: Array) -> Array:
        """Give every instance of a positive bag the label of least loss: its sign."""
        return 1.0 * (scores[len(self.weight) :] > 0)
