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

import numpy as np
from sklearn.utils import check_random_state

from bagwise._typing import Array
from bagwise.assumptions import Assumption, AtLeastOne, ExactlyOne
from bagwise.estimators.params import Words, param, shared
from bagwise.estimators.rows import MarginClassifier, Start
from bagwise.estimators.sweeping import (
    alternate_swept,
    best_witnesses,
    is_swept,
    mean_witnesses,
    solve_bag_labels,
)
from bagwise.estimators.task import Task
from bagwise.models.annealed import AnnealedLabelSVC, AnnealedWitnessSVC
from bagwise.procedures import Run, alternate
from bagwise.solvers import Solution, solve


class _AlternatingSVC(MarginClassifier):
    """Alternation between the two-sided problem and an assumption's cheapest assignment."""

    _follows_rows = True

    n_init: int = shared("n_init")
    max_iter: int = shared("max_iter")

    def _start(self, task: Task) -> Array:
        raise NotImplementedError

    def _fit_from(self, task: Task, start: Start) -> Run:
        assumption = self._assumption()
        first = self._start(task) if start is None else _draw(task, self, start)
        if is_swept(task):
            first = first[task.positive_rows]
            run = alternate_swept(task, assumption, first, self.max_iter, self._report)
            return replace(run, assignment=task.spread(run.assignment))
        self._prepare(task.design, task.weight)
        run = alternate(
            partial(solve_assigned, task, assumption),
            partial(assign, task, assumption),
            first,
            max_iter=self.max_iter,
            callback=self._report,
        )
        solution = _finish(task, assumption, run.assignment, run.solution)
        return Run(solution, run.assignment, run.history, run.converged)


def solve_assigned(task: Task, assumption: Assumption, p: Array, last: Solution | None) -> Solution:
    """Solve the convex problem of an assignment."""
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem, None if last is None else last.point)


def assign(task: Task, assumption: Assumption, scores: Array) -> Array:
    """Return the assumption's cheapest assignment at these scores of all instances."""
    rows = task.positive_rows
    return task.spread(assumption.map(scores[rows], task.positive_offsets))


def _anneal(task: Task, model: _AlternatingSVC, kind: type[MarginClassifier]) -> Array:
    """Return the assignment that an annealed SVM with the same C and loss ends with."""
    annealed = kind(C=model.C, loss=model.loss)._fit_from(task, None)
    return assign(task, model._assumption(), annealed.assignment - 0.5)


def _draw(task: Task, model: _AlternatingSVC, rng: np.random.RandomState) -> Array:
    """Draw witnesses, or labels of which half are positive."""
    return assign(task, model._assumption(), rng.random_sample(len(task.weight)) - 0.5)


def _finish(task: Task, assumption: Assumption, p: Array, last: Solution) -> Solution:
    """Solve the last problem once more without shortcuts, so that its certificate is sharp."""
    if not task.design.prepared:
        return last
    problem = task.problem(p, assumption.rest_is_negative)
    return solve(problem.on(task.design.fresh()), last.point)


class LabelSVC(_AlternatingSVC):
    """Infer the label of every instance in the positive bags (mi-SVM).

    Every instance of a positive bag is positive or negative, at least one is positive, and all of
    them take part in the margin.

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

    init: str = param(
        "bags",
        Words("bags", "anneal"),
        "The first labels: those of the bags, as in the paper, or those of `AnnealedLabelSVC`.",
    )

    _prepares_kernel = True

    def _assumption(self) -> Assumption:
        return AtLeastOne()

    def _start(self, task: Task) -> Array:
        if self.init == "anneal":
            return _anneal(task, self, AnnealedLabelSVC)
        return 1.0 * task.in_positive


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
        Words("mean", "instances", "anneal", "random"),
        "The first witnesses: the best instances of a classifier in which the bag's mean stands "
        "for a positive bag, of one in which all its instances do, those of `AnnealedWitnessSVC`, "
        "or drawn at random.",
    )

    def _assumption(self) -> Assumption:
        return ExactlyOne()

    def _start(self, task: Task) -> Array:
        if self.init == "mean":
            return task.spread(mean_witnesses(task))
        if self.init == "anneal":
            return _anneal(task, self, AnnealedWitnessSVC)
        if self.init == "instances":
            return task.spread(best_witnesses(task, solve_bag_labels(task)))
        return _draw(task, self, check_random_state(self.random_state))
