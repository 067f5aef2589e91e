"""mi-SVM and MI-SVM (Andrews, Tsochantaridis & Hofmann 2002), by alternation.

`LabelSVC` (mi-SVM; Eqs. 1-2 of Gehler & Chapelle 2007) gives every instance of a positive bag a
label y_k of its own, at least one of them positive:

    min_{w,b,y} 1/2|w|^2 + C sum_k l(y_k (w.x_k + b)),   sum_{k in bag} (y_k + 1)/2 >= 1.

`WitnessSVC` (MI-SVM) lets one witness k(i) speak for each positive bag i, the others drop out:

    min_{w,b} 1/2|w|^2 + C sum_{positive bags i} l(max_{k in i} f_k) + C sum_{negative k} l(-f_k),

with f_k = w.x_k + b.

Departures: l is the squared hinge by default (Gehler & Chapelle's choice; the original has the
hinge, ``loss="hinge"``), and the bias is not penalized. Both start as in the original: mi-SVM from
the bags' labels, MI-SVM from the bags' means.

Reference: S. Andrews, I. Tsochantaridis, T. Hofmann, "Support vector machines for
multiple-instance learning", NIPS 2002.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bagwise._threads import one_blas_thread
from bagwise._typing import Array
from bagwise.assumptions import Assumption, AtLeastOne, ExactlyOne
from bagwise.bags import Bags
from bagwise.designs import Design, Gram
from bagwise.estimators.params import MaxIterParameter, Words, param
from bagwise.estimators.restarts import Restarts
from bagwise.estimators.rows import MarginClassifier
from bagwise.estimators.sweeping import (
    alternate_swept,
    best_witnesses,
    is_swept,
    mean_witnesses,
    solve_bag_labels,
)
from bagwise.estimators.task import Task, prepare_squared
from bagwise.kernels.instance import check_memory
from bagwise.procedures import Run, alternate
from bagwise.procedures.branch import LabelTree, Tree, WitnessTree, branch_and_bound
from bagwise.solvers import Solution, solve

_IMPROVEMENTS = 20  # convex problems from the assignment of a node; more are hardly ever needed


class _AlternatingSVC(Restarts, MarginClassifier, MaxIterParameter):
    """Alternation between the two-sided problem and an assumption's cheapest assignment."""

    _follows_rows = True
    _tree: ClassVar[type[Tree]]

    def _start(self, task: Task) -> Array:
        raise NotImplementedError

    def _fit_binary(self, task: Task) -> Run:
        def fit_from(rng: np.random.RandomState | None) -> Run:
            return self._fit_from(
                task, self._start(task) if rng is None else _drawn(task, self, rng)
            )

        return self._lowest(fit_from, task.offsets, task.positive)

    def _fit_warm(self, task: Task, last: Run | None) -> Run:
        if last is None or is_swept(task):
            return self._fit_binary(task)
        return self._fit_from(task, last.assignment, last.solution)

    def _fit_from(self, task: Task, start: Array, near: Solution | None = None) -> Run:
        assumption = self._assumption()
        if is_swept(task):
            start = start[task.positive_rows]
            run = alternate_swept(task, assumption, start, self.max_iter, self._report)
            return replace(run, assignment=task.spread(run.assignment))
        if near is None:  # from nearby, few problems are left to solve
            self._prepare(task.design, task.weight)
        run = alternate(
            lambda p, last: solve_assigned(task, assumption, p, near if last is None else last),
            partial(assign, task, assumption),
            start,
            max_iter=self.max_iter,
            callback=self._report,
        )
        solution = _finish(task, assumption, run.assignment, run.solution)
        return Run(solution, run.assignment, run.history, run.converged)

    def global_bound(
        self,
        bags: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        time_limit: float = 60.0,
        tol: float = 1e-6,
        max_nodes: int | None = None,
    ) -> Any:
        """Prove how far the fitted model is from the global minimum of its objective.

        Alternation ends in a local minimum; ``gap_`` certifies its last convex problem only. This
        is a certificate for the whole: branch and bound over witnesses (or labels) with convex
        lower bounds, which also looks for better minima. Closing the gap takes exponential time in
        the worst case. Small C and few positive bags are within reach.

        Parameters
        ----------
        bags : Bags, or anything check_bags takes
            The bags that the model was fitted to.
        y : array-like of shape (n_bags,)
            Their labels.
        sample_weight : array-like of shape (n_bags,), default=None
            Their weights.
        time_limit : float, default=60.0
            Seconds after which the bounds reached are returned.
        tol : float, default=1e-6
            Relative gap that counts as closed.
        max_nodes : int, default=None
            Maximum number of nodes: a bound that does not depend on the speed of the machine.

        Returns
        -------
        GlobalBound or list of GlobalBound
            ``lower`` and ``upper`` enclose the global minimum, ``gap`` is the most by which
            ``objective_`` exceeds it, ``closed`` says whether ``upper`` is proven to be it. One
            per class for three classes or more.

        Examples
        --------
        >>> from bagwise import WitnessSVC
        >>> bags = [[[0.0], [3.0]], [[0.1]], [[2.9], [0.2]], [[0.3], [0.1]]]
        >>> model = WitnessSVC(kernel="linear").fit(bags, [1, 0, 1, 0])
        >>> bound = model.global_bound(bags, [1, 0, 1, 0])
        >>> bound.closed, round(bound.gap, 4)
        (True, 0.0)
        """
        check_is_fitted(self)
        fresh = self._unfitted()
        bags, codes, _, weight = fresh._validated(bags, y, sample_weight)
        assigned = np.atleast_2d(self.instance_weights_)
        if assigned.shape[1] != bags.n_instances:
            raise ValueError(
                f"The model was fitted to {assigned.shape[1]} instances, these bags have "
                f"{bags.n_instances}: global_bound needs the bags of fit."
            )
        found = []
        tasks = fresh._tasks(Gram(self._training_gram(bags)), bags, codes, weight)
        for task, objective, p in zip(tasks, self.objective_, assigned, strict=True):
            tree = self._tree(task, self._assumption())
            improve = partial(_improved, task, self._assumption())
            limits: Any = {"tol": tol, "time_limit": time_limit, "max_nodes": max_nodes}
            known = (float(objective), np.ascontiguousarray(p))
            with one_blas_thread():
                found.append(branch_and_bound(tree, improve, known, **limits))
        return found if len(found) > 1 else found[0]

    def _training_gram(self, bags: Bags) -> Array:
        """Return the kernel matrix of the training instances; linear ones are centered first."""
        if self.kernel_approx is not None:
            raise ValueError("global_bound needs the exact kernel: set kernel_approx=None.")
        check_memory(bags.n_instances, 8)
        if self.kernel == "precomputed":
            return bags.X[:, bags.instance_ids].astype(np.float64)
        if self.kernel != "linear":
            return np.asarray(self.kernel_(bags.X, bags.X), dtype=np.float64)
        X = bags.X.toarray() if sp.issparse(bags.X) else np.asarray(bags.X, dtype=np.float64)
        X = X - X.mean(axis=0)  # the intercept is free: distances gain digits
        return X @ X.T


def solve_assigned(task: Task, assumption: Assumption, p: Array, last: Solution | None) -> Solution:
    """Solve the convex problem of an assignment."""
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem, None if last is None else last.point)


def assign(task: Task, assumption: Assumption, scores: Array) -> Array:
    """Return the assumption's cheapest assignment at these scores of all instances."""
    rows = task.positive_rows
    return task.spread(assumption.map(scores[rows], task.positive_offsets))


def _drawn(task: Task, model: _AlternatingSVC, rng: np.random.RandomState) -> Array:
    """Draw witnesses, or labels of which half are positive."""
    return assign(task, model._assumption(), rng.random_sample(len(task.weight)) - 0.5)


def _improved(task: Task, assumption: Assumption, start: Array) -> tuple[float, Array]:
    """Alternate from an assignment; return the objective and the assignment at the end."""
    steps = partial(solve_assigned, task, assumption), partial(assign, task, assumption)
    run = alternate(*steps, start, max_iter=_IMPROVEMENTS)
    return float(run.solution.objective), run.assignment


def _finish(task: Task, assumption: Assumption, p: Array, last: Solution) -> Solution:
    """Solve the last problem once more without shortcuts, so that its certificate is sharp."""
    if not task.design.prepared:
        return last
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem.on(task.design.fresh()), last.point)


class LabelSVC(_AlternatingSVC):
    """Infer the label of every instance in the positive bags (mi-SVM).

    Every instance of a positive bag is positive or negative, at least one is positive, and all of
    them take part in the margin. Starts with the bag's label on every instance.

    See Also
    --------
    WitnessSVC : Only one witness of each positive bag takes part.
    InstanceSVC : No inference: instances keep their bag's label.

    Examples
    --------
    >>> model = LabelSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.predict_instances(bags)
    array([0, 1, 0, 1, 0, 0, 0])
    """

    _tree = LabelTree

    def _assumption(self) -> Assumption:
        return AtLeastOne()

    def _start(self, task: Task) -> Array:
        return 1.0 * task.in_positive

    def _prepare(self, design: Design, row_weight: Array) -> None:
        # Every problem of the run has the same rows; they differ in labels and pieces only.
        prepare_squared(design, self.loss, row_weight)


class WitnessSVC(_AlternatingSVC):
    """Find one witness in each positive bag (MI-SVM).

    The witness is the instance with the highest score; the other instances of a positive bag drop
    out. All instances of negative bags are negative.

    See Also
    --------
    LabelSVC : Every instance of a positive bag takes part.

    Examples
    --------
    >>> model = WitnessSVC(kernel="linear", C=10).fit(bags, [1, 0, 1, 0])
    >>> model.key_instances(bags)
    array([1, 0, 0, 0])
    """

    init: str = param(
        "mean",
        Words("mean", "instances", "random"),
        "The first witnesses: the best instances of a classifier in which the bag's mean stands "
        "for a positive bag, of one in which all its instances do, or drawn at random.",
    )

    _tree = WitnessTree

    def _assumption(self) -> Assumption:
        return ExactlyOne()

    def _start(self, task: Task) -> Array:
        if self.init == "mean":
            return task.spread(mean_witnesses(task))
        if self.init == "instances":
            return task.spread(best_witnesses(task, solve_bag_labels(task)))
        return _drawn(task, self, check_random_state(self.random_state))
