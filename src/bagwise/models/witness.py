"""mi-SVM and MI-SVM (Andrews, Tsochantaridis & Hofmann 2002), by alternation.

`LabelSVC` (mi-SVM; Eqs. 1-2 of Gehler & Chapelle 2007) gives every instance of a positive bag a
label y_k of its own, at least one of them positive:

    min_{w,b,y} 1/2|w|^2 + C sum_k l(y_k (w.x_k + b)),   sum_{k in bag} (y_k + 1)/2 >= 1.

`WitnessSVC` (MI-SVM) lets one witness k(i) speak for each positive bag i, the others drop out:

    min_{w,b} 1/2|w|^2 + C sum_{positive bags i} l(max_{k in i} f_k) + C sum_{negative k} l(-f_k),

with f_k = w.x_k + b.

Departures: l is the squared hinge by default (Gehler & Chapelle's choice; the original has the
hinge, ``loss="hinge"``), and the bias is not penalised. Both start as in the original: mi-SVM from
the bags' labels, MI-SVM from the bags' means.

Reference: S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for
multiple-instance learning", NIPS 2002.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from bagwise._docs import described
from bagwise.assumptions import Assumption, AtLeastOne, ExactlyOne
from bagwise.models.rows import BinaryFit, RowsClassifier, Task
from bagwise.problems import Problem
from bagwise.procedures import alternate
from bagwise.segments import expand
from bagwise.solvers import Solution, solve

__all__ = ["LabelSVC", "WitnessSVC"]

Array = NDArray[Any]


class _AlternatingSVC(RowsClassifier):
    """Alternation between the two-sided problem and an assumption's cheapest assignment."""

    def __init__(
        self,
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

    def _start(self, task: Task) -> Array:
        raise NotImplementedError

    def _prepare(self, task: Task) -> None:
        """Tell the design what is coming, where that helps."""

    def _fit_binary(self, task: Task) -> BinaryFit:
        assumption = self._assumption()
        self._prepare(task)
        run = alternate(
            partial(_solve, task, assumption),
            partial(_assign, task, assumption),
            self._start(task),
            max_iter=self.max_iter,
            callback=self._report,
        )
        solution = _finish(task, assumption, run.assignment, run.solution)
        return BinaryFit(solution, run.assignment, run.history, run.converged)


def _solve(task: Task, assumption: Assumption, p: Array, last: Solution | None) -> Solution:
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem, None if last is None else last.point)


def _assign(task: Task, assumption: Assumption, scores: Array) -> Array:
    rows = task.positive_rows
    return task.spread(assumption.map(scores[rows], task.positive_offsets))


def _finish(task: Task, assumption: Assumption, p: Array, last: Solution) -> Solution:
    """Solve the last problem once more without shortcuts, so that its certificate is sharp."""
    if not task.design.prepared:
        return last
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem.on(task.design.fresh()), last.point)


@described
class LabelSVC(_AlternatingSVC):
    """Infer the label of every instance in the positive bags (mi-SVM).

    Every instance of a positive bag is positive or negative, at least one is positive, and all of
    them take part in the margin. Starts with the bag's label on every instance.

    Parameters
    ----------
    %(rows_parameters)s
    %(bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    WitnessSVC : Only one witness of each positive bag takes part.
    InstanceSVC : No inference: instances keep their bag's label.

    References
    ----------
    .. [1] S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for
       multiple-instance learning", NIPS 2002.

    Examples
    --------
    >>> from bagwise import LabelSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = LabelSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict_instances(bags)
    array([0, 1, 0, 1, 0, 0, 0])
    """

    def _assumption(self) -> Assumption:
        return AtLeastOne()

    def _start(self, task: Task) -> Array:
        return 1.0 * task.in_positive

    def _prepare(self, task: Task) -> None:
        # Every problem of the run has the same rows; they differ in labels and pieces only.
        if self.loss == "squared_hinge":
            task.design.prepare(2 * task.weight)


@described
class WitnessSVC(_AlternatingSVC):
    """Find one witness in each positive bag (MI-SVM).

    The witness is the instance with the highest score; the other instances of a positive bag drop
    out. All instances of negative bags are negative.

    Parameters
    ----------
    start : {"mean", "instances", "random"}, default="mean"
        The first witnesses: the best instances of a machine in which the bag's mean stands for a
        positive bag, of a machine in which all its instances do, or drawn at random.
    %(rows_parameters)s
    %(bag_parameters)s

    Attributes
    ----------
    %(rows_attributes)s

    See Also
    --------
    LabelSVC : Every instance of a positive bag takes part.

    References
    ----------
    .. [1] S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for
       multiple-instance learning", NIPS 2002.

    Examples
    --------
    >>> from bagwise import WitnessSVC
    >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
    >>> model = WitnessSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RowsClassifier._parameter_constraints,
        "start": [StrOptions({"mean", "instances", "random"})],
    }

    def __init__(
        self,
        start="mean",
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
            max_iter=max_iter,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.start = start

    def _assumption(self) -> Assumption:
        return ExactlyOne()

    def _start(self, task: Task) -> Array:
        if self.start == "mean":
            return _assign(task, ExactlyOne(), mean_scores(task))
        if self.start == "instances":
            every = task.problem(1.0 * task.in_positive, rest_is_negative=False)
            return _assign(task, ExactlyOne(), solve(every).scores)
        seed = 0 if self.random_state is None else self.random_state
        drawn = check_random_state(seed).random_sample(len(task.weight))
        return _assign(task, ExactlyOne(), drawn)


def mean_scores(task: Task) -> Array:
    """Score all instances by the machine in which a positive bag is its mean."""
    means, problem = combined_problem(task, mean_shares(task))
    solution = solve(problem)
    return task.design @ task.design.lift(means, solution.coef)


def combined_problem(task: Task, shares: Array) -> tuple[Any, Problem]:
    """Return combinations of instances and the problem in which they stand for positive bags.

    ``shares`` has one value an instance of the positive bags; rows as in `combinations_of`.
    """
    combinations, is_bag = combinations_of(task, shares)
    of_bags = task.weight[task.offsets[:-1][task.positive]]
    weight = np.concatenate([of_bags, task.weight[~task.in_positive]])
    design = task.design.aggregate(combinations)
    return combinations, Problem(design, weight * is_bag, weight * ~is_bag, task.loss)


def means_and_negatives(task: Task) -> tuple[Any, Array]:
    """Return the combinations (CSR) mean of each positive bag, each negative instance."""
    return combinations_of(task, mean_shares(task))


def combinations_of(task: Task, shares: Array) -> tuple[Any, Array]:
    """Return a combination (CSR) for each positive bag, then each negative instance."""
    n_bags, negatives = len(task.positive_offsets) - 1, np.flatnonzero(~task.in_positive)
    used = np.flatnonzero(shares)
    bag = expand(np.arange(n_bags), task.positive_offsets)[used]
    rows = np.concatenate([bag, n_bags + np.arange(len(negatives))])
    columns = np.concatenate([task.positive_rows[used], negatives])
    values = np.concatenate([shares[used], np.ones(len(negatives))])
    shape = (n_bags + len(negatives), len(task.weight))
    is_bag = np.arange(shape[0]) < n_bags
    return sp.csr_array((values, (rows, columns)), shape=shape), is_bag


def mean_shares(task: Task) -> Array:
    """Return the shares with which the instances of positive bags make up the bags' means."""
    return expand(1 / np.diff(task.positive_offsets), task.positive_offsets)
